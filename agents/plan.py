"""The plan of a retrieval, the choice of sources, and the trace of one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from config.domain import RetrievalPolicy
from config.parsing.fields import QueryKind, Strategy
from enrichment.language.words import codes, prose_words, sentences
from index.search import Hit

Kind = Literal["in_domain", "general", "small_talk"]
_SITUATION_WORDS = 25


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
    strategy: SkipJsonSchema[Strategy] = "hybrid"
    reason: SkipJsonSchema[str] = ""
    hypothetical_answer: SkipJsonSchema[str] = ""
    small_talk_reply: str = Field(
        default_factory=str, description="Only for small talk: one short human sentence"
    )
    previous: SkipJsonSchema[str] = ""
    """The earlier user message that this one leans on, when planned without a model."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Searched separately: sub-questions, and the readings of an open question."""
        return (*self.sub_questions, *self.readings)

    @property
    def query_kind(self) -> QueryKind:
        """By rule, with and without a model. A code counts before parts, parts before length."""
        if codes(self.question):
            return "code"
        if self.parts:
            return "several"
        is_long = len(prose_words(self.question)) > _SITUATION_WORDS
        return "situation" if is_long or len(sentences(self.question)) > 1 else "plain"

    def searched_by(self, policy: RetrievalPolicy) -> Plan:
        """With the strategy that the domain file names for its kind, or for all."""
        strategy = policy.strategies.get(self.query_kind, policy.strategy)
        return self if strategy == "planned" else self.model_copy(update={"strategy": strategy})


class FullPlan(Plan):
    """The reply asked of the model where its strategy or its hypothetical answer is used."""

    strategy: Strategy = Field(default_factory=lambda: "hybrid", description="How to search")
    reason: str = Field(default_factory=str, description="Why this kind and strategy, one sentence")
    hypothetical_answer: str = Field(
        default_factory=str, description="A plausible answer as the documents would word it"
    )


def reply_type(policy: RetrievalPolicy) -> type[Plan]:
    """What the model is asked for: each field costs the asker some words' time."""
    is_planned = "planned" in (policy.strategy, *policy.strategies.values())
    return FullPlan if policy.hyde or is_planned else Plan


@dataclass(frozen=True, kw_only=True)
class SourceChoice:
    """The documents that can hold the answer."""

    documents: tuple[str, ...] = ()
    """Best first; empty: search all."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Document id → why it was selected or skipped."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The steps that led to one answer, for administrators."""

    plan: Plan | None = None
    sources: SourceChoice = SourceChoice()
    hits: tuple[Hit, ...] = ()
    """Best first."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Chunk id → why it is not in the context."""
    notes: tuple[str, ...] = ()
    """Notes of the agents in order: fallbacks, verification, the decision."""
