"""The answer gate: is it relevant, complete and accurate?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agents.answer import CITED
from agents.checks.groundedness import groundedness
from agents.extractive.glossary import explained
from agents.fallback import Outcome, with_fallback
from agents.plan import Plan
from agents.prompts import render
from agents.state import Draft
from agents.thorough.few_lines import few
from agents.thorough.routes import GOOD
from agents.thorough.values import Critique
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.language.words import naming_words, sentences

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
) -> Callable[[ToCriticise], Outcome[Critique | None]]:
    """None when the critic is away: nobody knows better than the draft."""

    def by_model(asked: ToCriticise) -> tuple[Critique | None, Usage]:
        prompt = render(
            "critique",
            title=domain.title,
            instructions=domain.answer.instructions or "none",
            glossary=explained(domain.glossary),
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
