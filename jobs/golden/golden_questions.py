"""Golden questions: what people ask, and what an acceptable answer holds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.answer import Question, Turn

Kind = Literal["lookup", "table", "multi_hop", "follow_up", "ambiguous", "unanswerable", "proposed"]
Unanswerable = Literal[
    "underspecified",
    "false_presupposition",
    "nonsensical",
    "modality_limited",
    "safety_concerned",
    "out_of_documents",
]
"""Why there is no answer. Source: Peng et al., UAEval4RAG, ACL 2025."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GoldenTurn(_Entry):
    role: Literal["user", "assistant"]
    content: str


def as_turns(history: Sequence[GoldenTurn]) -> tuple[Turn, ...]:
    """As the agents read a thread."""
    return tuple(Turn(role=turn.role, content=turn.content) for turn in history)


class Evidence(_Entry):
    document: str = Field(description="Document id")
    heading: str = Field("", description="The nearest heading above the quote")
    quote: str = Field(description="Verbatim, white space and markup aside")


class ProposedBy(_Entry):
    """Where a proposed question comes from."""

    by: str = Field("", description="Slack user id, or the model that wrote it")
    origin: str = Field("", description="`correction`, `handoff`, `accepted` or `generated`")
    source: str = Field("", description="Where the answer stands, in its author's words")
    kind: Kind | None = Field(None, description="What it would be, once somebody confirms it")


class GoldenQuestion(_Entry):
    """One entry of a golden file."""

    id: str
    kind: Kind
    question: str
    history: list[GoldenTurn] = []
    reference: str = ""
    must_include: list[str] = Field([], description="Facts that stand literally in the documents")
    rubric: list[str] = Field([], description="Facts in other words, for a judge")
    evidence: list[Evidence] = []
    instructions: str = Field("", description="What the judge should know of this question")
    tags: list[str] = Field([], description="Groups of your own, reported beside the kinds")
    category: Unanswerable | None = Field(None, description="Why an unanswerable one is")
    proposed: ProposedBy | None = Field(
        None, description="Of a question that nobody has confirmed yet"
    )

    @property
    def asked(self) -> Question:
        """As it is put to the agents, its thread before it."""
        return Question(text=self.question, history=as_turns(self.history))

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked and what retrieval is held against: an expert who only rewords
        a reference leaves it as it is."""
        said = self.model_dump_json(include={"id", "question", "history", "evidence"})
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def documents(self) -> frozenset[str]:
        return frozenset(one.document for one in self.evidence)

    @property
    def answerable(self) -> bool:
        """Has one answer in the documents."""
        return self.kind not in ("ambiguous", "unanswerable", "proposed")
