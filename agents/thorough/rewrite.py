"""Another search for the same question (other words or another strategy), and the best draft of all
tries, marked when it fell short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from agents.answerer.verification import unsupported_line
from agents.extractive.language import glossary_prompt
from agents.plan import Plan
from agents.prompts import render
from agents.state import AgentResult, Draft, with_fallback
from agents.thorough.routing import Judgment, RatedDraft, advice_for, first_lines, other_strategy
from config.domain import Domain
from config.models import ChatModel, Usage
from config.parsing.fields import Strategy
from config.prompts import Foreign, listed
from enrichment.language.words import codes

_MAX_PARAPHRASES = 3
_MAX_KEYWORDS = 12
_MAX_PLACES = 20
_GOES_BY: dict[Strategy, str] = {
    "semantic": "by meaning, in all documents: word the paraphrases as whole sentences that "
    "describe the situation",
    "keyword": "by exact words, in all documents: word the paraphrases with the terms that the "
    "passage itself must contain",
    "hybrid": "by meaning and by exact words, in all documents",
}


@dataclass(frozen=True, kw_only=True)
class RewriteRequest:
    plans: Sequence[Plan]
    """Plans of insufficient searches, newest last; never empty."""
    judgment: Judgment
    places: Sequence[str]
    """Sections of the passages so far."""
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


def query_rewriter(
    domain: Domain, model: ChatModel
) -> Callable[[RewriteRequest], AgentResult[Plan]]:
    """The plan of the next search, with the same question and parts."""

    def by_model(request: RewriteRequest) -> tuple[Plan, Usage]:
        other = other_strategy(request.judgment.issues, request.plans)
        last = request.plans[-1]
        prompt = render(
            "rewrite",
            title=domain.title,
            advice=advice_for(request.judgment.issues),
            strategy=f"The next search goes {_GOES_BY[other]}."
            if request.switch
            else "The next search adds to what was found: it is for what is still missing.",
            glossary=glossary_prompt(domain.glossary),
            question=Foreign("question", last.question),
            sub_questions=Foreign("parts of the question", listed(last.sub_questions)),
            tried=Foreign("searched for before", listed(_earlier_wordings(request.plans))),
            found=Foreign("where passages were found", listed(request.places[:_MAX_PLACES])),
            missing=Foreign("what they lack", listed(request.judgment.missing)),
        )
        reply, usage = model.structured(prompt, Rewording)
        return _within_limits(reply, request, domain), usage

    return with_fallback("rewrite", by_model, _in_another_way)


def _in_another_way(request: RewriteRequest) -> Plan:
    """The same words by another strategy."""
    strategy = other_strategy(request.judgment.issues, request.plans)
    return request.plans[-1].model_copy(update={"strategy": strategy})


def _within_limits(reply: Rewording, request: RewriteRequest, domain: Domain) -> Plan:
    """Never repeats a search: without new words, only the strategy changes."""
    earlier = set(_earlier_wordings(request.plans))
    other = other_strategy(request.judgment.issues, request.plans)
    last = request.plans[-1]
    wordings = [text for text in first_lines(reply.paraphrases) if text not in earlier]
    wordings = wordings[:_MAX_PARAPHRASES]
    keywords = first_lines(reply.keywords, most=_MAX_KEYWORDS)
    names = dict.fromkeys([*keywords, *codes(last.question)])
    if not wordings and earlier.issuperset(names):
        return _in_another_way(request)
    hypothetical = [reply.hypothetical_answer] if domain.retrieval.hyde else []
    return last.model_copy(
        update={
            "paraphrases": wordings,
            "keywords": list(names),
            "hypothetical_answer": "".join(first_lines(hypothetical)),
            "strategy": other if request.switch else reply.strategy,
        }
    )


def _earlier_wordings(plans: Sequence[Plan]) -> list[str]:
    texts = (
        text
        for plan in plans
        for text in (plan.question, *plan.sub_questions, *plan.paraphrases, *plan.keywords)
    )
    return list(dict.fromkeys(texts))


_NOT_CONVINCED = (
    "_A second check was not convinced by this answer: look into its sources before you act._"
)


def better_draft(best: RatedDraft | None, candidate: RatedDraft) -> RatedDraft:
    """The later one of equals."""
    return best if best and best.score > candidate.score else candidate


def final_draft(rated: RatedDraft) -> Draft:
    """A draft that did not pass is marked, and its rating limits its confidence."""
    draft = rated.draft
    if not draft.by_model or draft.path != "company_specific_rag_success":
        return draft
    parts = {**draft.confidence_parts, "critique": rated.score}
    if rated.passed:
        return replace(draft, confidence_parts=parts)
    mark = unsupported_line(rated.unsupported) if rated.unsupported else _NOT_CONVINCED
    text = draft.text if mark in draft.text else f"{draft.text}\n\n{mark}"
    sure = min(draft.confidence, rated.score)
    return replace(draft, text=text, confidence=sure, confidence_parts=parts)
