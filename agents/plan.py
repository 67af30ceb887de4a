"""What the query optimizer decides: the whole retrieval, in one value."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["in_domain", "general", "ambiguous", "small_talk"]


class Plan(BaseModel):
    """The reply asked of the model, and what the deterministic planner returns."""

    model_config = ConfigDict(frozen=True)

    question: str = Field(description="The question, self-contained, in the asker's language")
    kind: Kind = Field(
        description="in_domain: the documents may know. general: common knowledge, not about this "
        "company. ambiguous: the documents hold different answers and the question doesn't say "
        "which. small_talk: greeting, thanks, chatter"
    )
    sub_questions: list[str] = Field(
        default_factory=list, description="Simpler questions to look up separately; empty for one"
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
    clarifying_question: str = Field(
        default_factory=str, description="Only when ambiguous: one question back"
    )
    options: list[str] = Field(
        default_factory=list, description="Only when ambiguous: 2-4 self-contained questions"
    )
    small_talk_reply: str = Field(
        default_factory=str, description="Only for small talk: one short human sentence"
    )
    previous: str = Field(
        default_factory=str, description="The earlier user message this one leans on; else empty"
    )
