"""The answer gate: is it relevant, complete and accurate?

Whether the passages cover every part of a question, told without a model.

The retrieval gate: is this enough to answer from?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agents.answer import CITED
from agents.checks.groundedness import groundedness
from agents.extractive.language import glossary_prompt
from agents.extractive.relevance import ScoredUnit
from agents.plan import Plan
from agents.prompts import render
from agents.requests import requests_in
from agents.state import AgentResult, Draft, with_fallback
from agents.thorough.routing import GOOD
from agents.thorough.state import Critique, Issue, Judgement, few, issues_explained
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import Chunk
from enrichment.language.words import naming_words, sentences

COVERED = 2.0
"""Log-odds of its best statement from which a part counts as covered. Of the golden questions of
six corpora, planned without a model, 32 of 315 are; all 30 of those that have an answer had its
whole evidence in the context (of all, 0.87), and the other two are left to the answerer. That was
before statements that only repeat the question were left out, which makes it rarer still."""


def covers_every_part(plan: Plan, scored: Sequence[ScoredUnit], context: Sequence[Chunk]) -> bool:
    """Each part, or the whole question when it has none, finds a statement of its own.

    What only says the question over again, as headings and FAQs do, answers nothing."""
    read = {chunk.id for chunk in context}
    asked = naming_words(plan.question).keys()
    strengths = [
        found.aspects
        for found in scored
        if found.chunk.id in read and not naming_words(found.unit.text).keys() <= asked
    ]
    best = [max(of_one_part) for of_one_part in zip(*strengths, strict=True)]
    parts = best[1:] or best
    return bool(parts) and all(strength >= COVERED for strength in parts)


_SAME = 0.8
"""Share of a sentence's naming words that a copy of it holds, slips of the copyist aside."""
_WRONG = 0.3
"""Most that an answer comes to of which a sentence is not held up: `would send the colleague the
wrong way`."""


@dataclass(frozen=True, kw_only=True)
class ToCriticise:
    """What the critic sees."""

    plan: Plan
    draft: Draft
    sources: Sequence[Foreign]
    """Those that the draft cites first, by their numbers, then the others."""


class Mark(BaseModel):
    score: float = Field(ge=0, le=1)
    reason: str = Field(default_factory=str, description="One short sentence")


class CriticisedAnswer(BaseModel):
    """The reply asked of the model."""

    relevant: Mark
    complete: Mark
    accurate: Mark
    unsupported: list[str] = Field(
        default_factory=list, description="Sentences of the answer, word for word"
    )
    in_sources: bool = Field(
        default_factory=bool, description="What is missing stands in the sources shown"
    )
    superfluous: list[str] = Field(default_factory=list)


def answer_critic(
    domain: Domain, model: ChatModel
) -> Callable[[ToCriticise], AgentResult[Critique | None]]:
    """None when the critic is away: nobody knows better than the draft."""

    def by_model(asked: ToCriticise) -> tuple[Critique | None, Usage]:
        prompt = render(
            "critique",
            title=domain.title,
            instructions=domain.answer.instructions or "none",
            glossary=glossary_prompt(domain.glossary),
            sources=asked.sources,
            question=Foreign("question", asked.plan.question),
            sub_questions=Foreign("parts of the question", listed(asked.plan.sub_questions)),
            answer=Foreign("answer", _with_plain_numbers(asked.draft.text)),
        )
        reply, usage = model.structured(prompt, CriticisedAnswer)
        return _weighed(reply, asked.draft), usage

    return with_fallback("critique", by_model, lambda _: None)


def _with_plain_numbers(text: str) -> str:
    """Numbers in square brackets are taken for forged citations wherever others wrote."""
    return CITED.sub(r" (source \1)", text)


def _weighed(reply: CriticisedAnswer, draft: Draft) -> Critique:
    """A critic who contradicts itself is believed as far as the check without a model goes along:
    sentences that aren't in the answer don't count, nor do those that the critic itself finds
    accurate and that stand in their sources word for word."""
    accused = tuple(_accused(reply, draft))
    marks = {"relevant": reply.relevant, "complete": reply.complete, "accurate": reply.accurate}
    score = min(mark.score for mark in marks.values())
    weak = [f"{name}: {mark.reason}" for name, mark in marks.items() if mark.score < GOOD]
    return Critique(
        score=min(score, _WRONG) if accused else score,
        objections=(
            *(f"not held up by its source: {sentence}" for sentence in accused),
            *few(weak),
            *(f"nobody asked for: {what}" for what in few(reply.superfluous)),
        ),
        unsupported=accused,
        mendable=bool(accused) or reply.in_sources or reply.accurate.score == score < GOOD,
    )


def _accused(reply: CriticisedAnswer, draft: Draft) -> Iterator[str]:
    copies = [naming_words(copy).keys() for copy in few(reply.unsupported)]
    for sentence in sentences(draft.text):
        named = naming_words(CITED.sub("", sentence)).keys()
        meant = named and any(len(named & copy) >= _SAME * len(named) for copy in copies)
        contradicted = (
            reply.accurate.score >= GOOD and groundedness(sentence, draft.sources).score == 1
        )
        if meant and not contradicted:
            yield " ".join(CITED.sub("", sentence).split())


UNJUDGED = Judgement(score=GOOD)
"""What nobody could judge goes on to the answerer, who judges for itself."""


@dataclass(frozen=True, kw_only=True)
class ToJudge:
    """What the judge sees."""

    plan: Plan
    sources: Sequence[Foreign]
    outline: Sequence[str] = ()
    looked: Sequence[str] = ()


class JudgedSources(BaseModel):
    """The reply asked of the model."""

    score: float = Field(ge=0, le=1, description="How far these sources answer the question")
    issues: list[Issue] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="Up to 4 things, few words each")
    requests: list[str] = Field(
        default_factory=list, description="Up to 4 lines: find, open, around"
    )


def retrieval_judge(
    domain: Domain, model: ChatModel
) -> Callable[[ToJudge], AgentResult[Judgement]]:
    def by_model(asked: ToJudge) -> tuple[Judgement, Usage]:
        prompt = render(
            "judge",
            title=domain.title,
            issues=issues_explained(),
            glossary=glossary_prompt(domain.glossary),
            sources=asked.sources,
            outline=Foreign("further sections of these documents", listed(asked.outline)),
            looked=Foreign("looked for already, and what it brought", listed(asked.looked)),
            question=Foreign("question", asked.plan.question),
            sub_questions=Foreign("parts of the question", listed(asked.plan.sub_questions)),
        )
        reply, usage = model.structured(prompt, JudgedSources)
        judgement = Judgement(
            score=reply.score,
            issues=tuple(dict.fromkeys(reply.issues)),
            missing=few(reply.missing),
            requests=requests_in("\n".join(reply.requests)),
        )
        return judgement, usage

    return with_fallback("judge", by_model, lambda _: UNJUDGED)
