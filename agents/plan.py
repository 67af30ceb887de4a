"""What the query optimizer decides: the whole retrieval, in one value."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

Kind = Literal["in_domain", "general", "small_talk"]


class Plan(BaseModel):
    """The reply asked of the model, and what the deterministic planner returns."""

    model_config = ConfigDict(frozen=True)

    question: str = Field(description="The question, self-contained, in the asker's language")
    kind: Kind = Field(
        description="in_domain: the documents may know. general: common knowledge, not about this "
        "company. small_talk: greeting, thanks, chatter"
    )
    sub_questions: list[str] = Field(
        default_factory=list, description="Simpler questions to look up separately; empty for one"
    )
    readings: list[str] = Field(
        default_factory=list,
        description="Up to 4 questions, each naming one thing that an open question may mean; "
        "empty when it says which",
    )
    paraphrases: list[str] = Field(
        default_factory=list, description="Up to 3: technical wording, plain wording, other aspect"
    )
    keywords: list[str] = Field(
        default_factory=list, description="Exact names, codes and terms to match literally"
    )
    strategy: Literal["semantic", "keyword", "hybrid"] = Field(
        default_factory=lambda: "hybrid", description="How to search"
    )
    reason: str = Field(default_factory=str, description="Why this kind and strategy, one sentence")
    hypothetical_answer: str = Field(
        default_factory=str, description="A plausible answer as the documents would word it"
    )
    small_talk_reply: str = Field(
        default_factory=str, description="Only for small talk: one short human sentence"
    )
    previous: SkipJsonSchema[str] = ""
    """The earlier user message that this one leans on, when planned without a model."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is looked up apart: sub-questions, and what an open question may mean."""
        return (*self.sub_questions, *self.readings)
