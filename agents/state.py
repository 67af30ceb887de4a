"""The graph's state, which node writes each field, and the result that agents return.

Open files and callables are untracked: no checkpoint could hold them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, ParamSpec, TypedDict, TypeVar

from langgraph.channels.untracked_value import UntrackedValue

from agents.answer import (
    Answer,
    AnswerPath,
    Citation,
    Contradiction,
    Fallback,
    Passage,
    Question,
    RefusalReason,
)
from agents.context.sources import Source
from agents.extractive.relevance import ScoredUnit
from agents.plan import Plan, SourceChoice
from agents.requests import LookupRequest, ToolResult
from agents.steps import Progress
from config.errors import ModelError
from config.models import Usage
from enrichment.chunk import Chunk
from index.search import Hit, Snapshot

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An answer before it is verified. Most fields are those of `Answer`."""

    text: str
    path: AnswerPath
    citations: tuple[Citation, ...] = ()
    passages: tuple[Passage, ...] = ()
    lead: str = ""
    options: tuple[str, ...] = ()
    nearest: tuple[Citation, ...] = ()
    confidence_parts: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.0
    by_model: bool = False
    documents: frozenset[str] = frozenset()
    refusal: RefusalReason = ""
    cut: bool = False
    contradictions: tuple[Contradiction, ...] = ()
    held_back: tuple[str, ...] = ()
    """Sentences of the model that stand in no source, and aren't in `text`."""
    sources: tuple[Source, ...] = ()
    """What a model's `[n]` point to: `sources[n - 1]`."""


def joined(first: Mapping[str, Number], second: Mapping[str, Number]) -> Mapping[str, Number]:
    """Timings and counts of nodes that ran more than once add up."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


class State(TypedDict, total=False):
    """One question on its way through the agents."""

    question: Question  # set by ask
    snapshot: Annotated[Snapshot, UntrackedValue]  # set by ask: a generation, for its reader
    progress: Annotated[Progress, UntrackedValue]  # set by ask
    plan: Plan  # set by query_optimizer
    cached: Answer  # set by ask or query_optimizer, when the same was answered before
    cache_similarity: float | None  # set by ask or query_optimizer, when it was not
    sources: SourceChoice  # set by source_identifier
    searched: tuple[Plan, list[Hit]]  # set by source_identifier: its search in all documents
    hits: list[Hit]  # set by retrieval, best first
    reranked: tuple[str, ...]  # set by retrieval: chunks that a reranker judged, best first
    scored: list[ScoredUnit]  # set by post_processor, best first
    context: tuple[Chunk, ...]  # set by post_processor, in reading order
    read: tuple[Source, ...]  # set by post_processor: the context as the answerer gets it
    dropped: Mapping[str, str]  # set by post_processor: chunk id → why
    requests: tuple[LookupRequest, ...]  # set by answer and verify, carried out and emptied by look
    rounds: Annotated[int, operator.add]  # counted by look
    requested_chunks: Annotated[tuple[str, ...], operator.add]  # added to by look: ids
    lookup_notes: Annotated[tuple[str, ...], operator.add]  # added to by look: one a request
    tool_results: Annotated[tuple[ToolResult, ...], operator.add]  # added to by look
    tools_called: bool  # set by look: whether this round called tools
    failed_tools: Annotated[tuple[str, ...], operator.add]  # added to by look: one line a tool
    draft: Draft  # set by reply, refuse or answer; checked by verify
    first_draft: Draft  # set by verify, which sends it back to answer once
    objections: tuple[str, ...]  # set by verify, empty again once they are answered
    timings_ms: Annotated[Mapping[str, float], joined]  # added to by every node
    runs: Annotated[Mapping[str, int], joined]  # added to by every node: how often it ran
    usage: Annotated[Usage, operator.add]  # added to by every node
    fallbacks: Annotated[tuple[Fallback, ...], operator.add]  # added to by nodes that fell back
    notes: Annotated[tuple[str, ...], operator.add]  # added to by every node


Node = Callable[[State], State]
"""The state in, an update out."""


@dataclass(frozen=True, kw_only=True)
class AgentResult(Generic[Result]):
    """A result, its cost, and whether the model failed on the way."""

    value: Result
    usage: Usage = field(default_factory=Usage)
    fallbacks: tuple[Fallback, ...] = ()
    note: str = ""


def with_fallback(
    agent: str,
    by_model: Callable[Arguments, tuple[Result, Usage]] | None,
    without_model: Callable[Arguments, Result],
) -> Callable[Arguments, AgentResult[Result]]:
    """One agent from two implementations: without the model where `by_model` is None or fails."""

    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> AgentResult[Result]:
        if by_model is None:
            return AgentResult(value=without_model(*args, **kwargs))
        try:
            value, usage = by_model(*args, **kwargs)
        except ModelError as error:
            note = f"{agent} went on without the model: {error.problem}"
            fallback = Fallback(node=agent, reason=error.kind)
            without = without_model(*args, **kwargs)
            return AgentResult(value=without, fallbacks=(fallback,), note=note)
        return AgentResult(value=value, usage=usage)

    return run


def cost_of(result: AgentResult[Any], note: str = "") -> State:
    """The part of a node's update that every agent's result has."""
    notes = tuple(filter(None, (result.note, note)))
    return {"usage": result.usage, "fallbacks": result.fallbacks, "notes": notes}
