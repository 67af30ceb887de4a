"""The gates of `thorough`: are the passages enough, and is the answer relevant, complete, accurate?

`covers_every_part` decides without a model where it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agents.answer import CITATION
from agents.checks.groundedness import groundedness
from agents.extractive.language import glossary_prompt
from agents.extractive.relevance import ScoredUnit
from agents.plan import Plan
from agents.prompts import render
from agents.requests import requests_in
from agents.state import AgentResult, Draft, with_fallback
from agents.thorough.routing import GOOD, Critique, Issue, Judgment, explain_issues, first_lines
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import Chunk
from enrichment.language.words import naming_words, sentences

COVERED = 2.0
"""Log-odds of its best statement from which a part counts as covered. Of the golden questions of
six corpora, planned without a model, 32 of 315 reach it. All 30 of those with an answer had its
whole evidence in the context (0.87 of all questions); the answerer decides on the other two. Since
then, statements that only repeat the question don't count, so fewer questions reach it."""


def covers_every_part(plan: Plan, scored: Sequence[ScoredUnit], context: Sequence[Chunk]) -> bool:
    """Each part, or the whole question without parts, has a statement of its own.

    Statements that repeat the question, as headings and FAQs do, answer nothing."""
    context_ids = {chunk.id for chunk in context}
    question_words = naming_words(plan.question).keys()
    strengths = [
        unit.aspects
        for unit in scored
        if unit.chunk.id in context_ids
        and not naming_words(unit.unit.text).keys() <= question_words
    ]
    best = [max(of_one_part) for of_one_part in zip(*strengths, strict=True)]
    parts = best[1:] or best
    return bool(parts) and all(strength >= COVERED for strength in parts)


_COPY_SHARE = 0.8
"""Share of a sentence's naming words in a copy by the model, which may contain slips."""
_MAX_SCORE_UNSUPPORTED = 0.3
"""Maximum score of an answer with an unsupported sentence: `would send the colleague the wrong
way`."""


@dataclass(frozen=True, kw_only=True)
class CritiqueRequest:
    plan: Plan
    draft: Draft
    sources: Sequence[Foreign]
    """The draft's sources with its numbers, then the others."""


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
) -> Callable[[CritiqueRequest], AgentResult[Critique | None]]:
    """None when the model fails: the draft becomes the answer."""

    def by_model(request: CritiqueRequest) -> tuple[Critique | None, Usage]:
        # In untrusted text, numbers in square brackets count as forged citations.
        text = CITATION.sub(r" (source \1)", request.draft.text)
        prompt = render(
            "critique",
            title=domain.title,
            instructions=domain.answer.instructions or "none",
            glossary=glossary_prompt(domain.glossary),
            sources=request.sources,
            question=Foreign("question", request.plan.question),
            sub_questions=Foreign("parts of the question", listed(request.plan.sub_questions)),
            answer=Foreign("answer", text),
        )
        reply, usage = model.structured(prompt, CriticisedAnswer)
        return _to_critique(reply, request.draft), usage

    return with_fallback("critique", by_model, lambda _: None)


def _to_critique(reply: CriticisedAnswer, draft: Draft) -> Critique:
    """Resolves contradictions of the critic by the check without a model: ignores sentences that
    are not in the answer, and sentences that occur verbatim in their sources when the critic finds
    the answer accurate."""
    unsupported = tuple(_unsupported_sentences(reply, draft))
    marks = {"relevant": reply.relevant, "complete": reply.complete, "accurate": reply.accurate}
    score = min(mark.score for mark in marks.values())
    weak = [f"{name}: {mark.reason}" for name, mark in marks.items() if mark.score < GOOD]
    return Critique(
        score=min(score, _MAX_SCORE_UNSUPPORTED) if unsupported else score,
        objections=(
            *(f"not held up by its source: {sentence}" for sentence in unsupported),
            *first_lines(weak),
            *(f"nobody asked for: {what}" for what in first_lines(reply.superfluous)),
        ),
        unsupported=unsupported,
        mendable=bool(unsupported) or reply.in_sources or reply.accurate.score == score < GOOD,
    )


def _unsupported_sentences(reply: CriticisedAnswer, draft: Draft) -> Iterator[str]:
    copies = [naming_words(copy).keys() for copy in first_lines(reply.unsupported)]
    for sentence in sentences(draft.text):
        words = naming_words(CITATION.sub("", sentence)).keys()
        is_copied = words and any(len(words & copy) >= _COPY_SHARE * len(words) for copy in copies)
        contradicted = (
            reply.accurate.score >= GOOD and groundedness(sentence, draft.sources).score == 1
        )
        if is_copied and not contradicted:
            yield " ".join(CITATION.sub("", sentence).split())


UNJUDGED = Judgment(score=GOOD)
"""Without a judgment the answerer decides."""


@dataclass(frozen=True, kw_only=True)
class SourceJudgeRequest:
    plan: Plan
    sources: Sequence[Foreign]
    outline: Sequence[str] = ()
    lookup_notes: Sequence[str] = ()


class JudgedSources(BaseModel):
    """The reply asked of the model."""

    score: float = Field(ge=0, le=1, description="How far these sources answer the question")
    issues: list[Issue] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="Up to 4 things, few words each")
    requests: list[str] = Field(
        default_factory=list, description="Up to 4 lines: find, open, around"
    )
    searched_enough: bool = Field(
        default_factory=bool, description="No further search has prospects"
    )


def retrieval_judge(
    domain: Domain, model: ChatModel
) -> Callable[[SourceJudgeRequest], AgentResult[Judgment]]:
    def by_model(request: SourceJudgeRequest) -> tuple[Judgment, Usage]:
        prompt = render(
            "judge",
            title=domain.title,
            issues=explain_issues(),
            glossary=glossary_prompt(domain.glossary),
            sources=request.sources,
            outline=Foreign("further sections of these documents", listed(request.outline)),
            looked=Foreign("looked for already, and what it brought", listed(request.lookup_notes)),
            question=Foreign("question", request.plan.question),
            sub_questions=Foreign("parts of the question", listed(request.plan.sub_questions)),
        )
        reply, usage = model.structured(prompt, JudgedSources)
        judgment = Judgment(
            score=reply.score,
            issues=tuple(dict.fromkeys(reply.issues)),
            missing=first_lines(reply.missing),
            requests=requests_in("\n".join(reply.requests)),
            searched_enough=reply.searched_enough,
        )
        return judgment, usage

    return with_fallback("judge", by_model, lambda _: UNJUDGED)
