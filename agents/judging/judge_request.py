"""What a judge is shown of one answer, and what it says of it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from agents.answer import Turn

HIGHEST = 5
"""Scores go from 0 to this."""
ACCEPTABLE = 4
"""From this score on an answer may stand in the help channel."""
HIGHEST_INCORRECT = 2
"""An answer that misinforms has no more, however much of it helps."""


@dataclass(frozen=True, kw_only=True)
class ShownPassage:
    """A place in the documents, as its reader saw it."""

    title: str
    heading: str
    text: str
    """Markdown."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One answer with all that its judge may know; not which system gave it."""

    id: str
    """Of the question; orders the passages."""
    kind: str
    """Of the golden question: `lookup`, `table`, …"""
    question: str
    history: tuple[Turn, ...] = ()
    reference: str = ""
    """One good answer, by an expert."""
    instructions: str = ""
    """What the expert wants this question's judge to know."""
    rubric: tuple[str, ...] = ()
    """Points that an answer should make, in other words."""
    facts: tuple[str, ...] = ()
    """Points that stand literally in the documents."""
    evidence: tuple[ShownPassage, ...] = ()
    """Where the expert found the answer."""
    passages: tuple[ShownPassage, ...] = ()
    """What the answerer was shown, in its order."""
    answer: str
    """Markdown, the options to choose from included."""
    citations: tuple[ShownPassage, ...] = ()
    """`[n]` of the answer is the n-th; the text is the quote."""


class JudgeVerdict(BaseModel):
    """What a judge says of an answer. The order of its fields is the order in which a model
    writes them: it thinks before it scores."""

    model_config = ConfigDict(frozen=True)

    reasoning: str = Field(description="What the documents say, and how the answer compares")
    missing: list[str] = Field(description="Asked for and left out, few words each")
    unsupported: list[str] = Field(
        description="Sentences of the answer, copied, that nothing holds up"
    )
    incorrect: bool = Field(description="Who acts on it is misinformed")
    feedback: str = Field(description="What would make it a 5; empty for a 5")
    score: int = Field(ge=0, le=HIGHEST)

    @property
    def acceptable(self) -> bool:
        return self.score >= ACCEPTABLE


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A judge's score that a person thought wrong: a worked example for the next answers."""

    question_id: str
    question: str
    answer: str
    judge_score: int
    human_score: int
    human_incorrect: bool | None = None
    """None where the person said nothing of it."""
    note: str = ""
    """Why, in the person's words."""
