"""Another search for the same question: other words by the judge's advice, or another strategy.

The best answer of all tries: what leaves, and how it is marked when it fell short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from agents.answerer.nodes import marked
from agents.extractive.language import glossary_prompt
from agents.plan import Plan
from agents.prompts import render
from agents.state import AgentResult, Draft, with_fallback
from agents.thorough.state import Judgement, Rated, advice_for, few
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.language.words import codes
from index.search import Strategy

_ORDER: tuple[Strategy, ...] = ("semantic", "keyword", "hybrid")
_MOST_PARAPHRASES = 3
_MOST_KEYWORDS = 12
_MOST_PLACES = 20
_GOES_BY: dict[Strategy, str] = {
    "semantic": "by meaning, in all documents: word the paraphrases as whole sentences that "
    "describe the situation",
    "keyword": "by exact words, in all documents: word the paraphrases with the terms that the "
    "passage itself must contain",
    "hybrid": "by meaning and by exact words, in all documents",
}


@dataclass(frozen=True, kw_only=True)
class ToRewrite:
    """What the rewriter sees."""

    searched: Sequence[Plan]
    """What didn't do, the latest last; never empty."""
    judgement: Judgement
    found: Sequence[str]
    """Where the passages stand that were found."""
    switch: bool
    """To another strategy, in all documents."""


class Rewording(BaseModel):
    """The reply asked of the model."""

    paraphrases: list[str] = Field(description="Up to 3, none tried before")
    keywords: list[str] = Field(default_factory=list, description="Exact terms to match literally")
    hypothetical_answer: str = Field(
        default_factory=str, description="A plausible answer as the documents would word it"
    )
    strategy: Strategy = Field(default_factory=lambda: "hybrid", description="How to search")


def query_rewriter(domain: Domain, model: ChatModel) -> Callable[[ToRewrite], AgentResult[Plan]]:
    """The plan of the next search; what is asked, and its parts, stay as they are."""

    def by_model(asked: ToRewrite) -> tuple[Plan, Usage]:
        other = other_strategy(asked.searched)
        last = asked.searched[-1]
        prompt = render(
            "rewrite",
            title=domain.title,
            advice=advice_for(asked.judgement.issues),
            strategy=f"The next search goes {_GOES_BY[other]}."
            if asked.switch
            else "The next search adds to what was found: it is for what is still missing.",
            glossary=glossary_prompt(domain.glossary),
            question=Foreign("question", last.question),
            sub_questions=Foreign("parts of the question", listed(last.sub_questions)),
            tried=Foreign("searched for before", listed(_tried(asked.searched))),
            found=Foreign("where passages were found", listed(asked.found[:_MOST_PLACES])),
            missing=Foreign("what they lack", listed(asked.judgement.missing)),
        )
        reply, usage = model.structured(prompt, Rewording)
        return _bounded(reply, asked, domain), usage

    return with_fallback("rewrite", by_model, _in_another_way)


def other_strategy(searched: Sequence[Plan]) -> Strategy:
    """The first that was not tried; all of them together when each was."""
    tried = {plan.strategy for plan in searched}
    return next((strategy for strategy in _ORDER if strategy not in tried), "hybrid")


def _in_another_way(asked: ToRewrite) -> Plan:
    """The same words by another strategy."""
    return asked.searched[-1].model_copy(update={"strategy": other_strategy(asked.searched)})


def _bounded(reply: Rewording, asked: ToRewrite, domain: Domain) -> Plan:
    """A search that was made before is not made again: then only its strategy changes."""
    known = set(_tried(asked.searched))
    wordings = [text for text in few(reply.paraphrases) if text not in known][:_MOST_PARAPHRASES]
    names = dict.fromkeys(
        [*few(reply.keywords, most=_MOST_KEYWORDS), *codes(asked.searched[-1].question)]
    )
    if not wordings and known.issuperset(names):
        return _in_another_way(asked)
    hypothetical = "".join(few([reply.hypothetical_answer])) if domain.retrieval.hyde else ""
    return asked.searched[-1].model_copy(
        update={
            "paraphrases": wordings,
            "keywords": list(names),
            "hypothetical_answer": hypothetical,
            "strategy": other_strategy(asked.searched) if asked.switch else reply.strategy,
        }
    )


def _tried(searched: Sequence[Plan]) -> list[str]:
    texts = (
        text
        for plan in searched
        for text in (plan.question, *plan.sub_questions, *plan.paraphrases, *plan.keywords)
    )
    return list(dict.fromkeys(texts))


_WANTING = (
    "_A second check was not convinced by this answer: look into its sources before you act._"
)


def better(best: Rated | None, rated: Rated) -> Rated:
    """The later one of two that are as good."""
    return best if best and best.score > rated.score else rated


def as_shown(rated: Rated) -> Draft:
    """One that did not pass says so, and is as little trusted as it was rated."""
    draft = rated.draft
    if not draft.by_model or draft.path != "company_specific_rag_success":
        return draft
    parts = {**draft.confidence_parts, "critique": rated.score}
    if rated.passed:
        return replace(draft, confidence_parts=parts)
    mark = marked(rated.unsupported) if rated.unsupported else _WANTING
    text = draft.text if mark in draft.text else f"{draft.text}\n\n{mark}"
    sure = min(draft.confidence, rated.score)
    return replace(draft, text=text, confidence=sure, confidence_parts=parts)
