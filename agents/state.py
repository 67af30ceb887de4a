"""What flows through the graph, and who writes what.

Open files and callables are untracked: no checkpoint could hold them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

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
from agents.extractive.relevance import Scored
from agents.plan import Plan, SourceChoice
from agents.requests import LookupRequest
from agents.steps import Progress
from agents.tools.toolbox import ToolResult
from config.models import Usage
from enrichment.chunk import Chunk
from index.search import Hit, Snapshot


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An answer before it is verified."""

    text: str
    path: AnswerPath
    citations: tuple[Citation, ...] = ()
    passages: tuple[Passage, ...] = ()
    """See `Answer.passages`."""
    lead: str = ""
    options: tuple[str, ...] = ()
    nearest: tuple[Citation, ...] = ()
    confidence_parts: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.0
    by_model: bool = False
    documents: frozenset[str] = frozenset()
    """See `Answer.documents`."""
    refusal: RefusalReason = ""
    """See `Answer.refusal`."""
    cut: bool = False
    """The model came to the limit of its length."""
    contradictions: tuple[Contradiction, ...] = ()
    """See `Answer.contradictions`."""
    sources: tuple[Source, ...] = ()
    """What a model's `[n]` point to: `sources[n - 1]`."""


def joined(first: Mapping[str, float], second: Mapping[str, float]) -> Mapping[str, float]:
    """Timings of nodes that ran more than once add up."""
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in {**first, **second}}


class State(TypedDict, total=False):
    """One question on its way through the agents."""

    question: Question  # set by ask
    snapshot: Annotated[
        Snapshot, UntrackedValue
    ]  # set by ask: one generation, as its reader sees it
    progress: Annotated[Progress, UntrackedValue]  # set by ask
    plan: Plan  # set by query_optimizer
    cached: Answer  # set by ask or query_optimizer, when the same was answered before
    cache_similarity: float | None  # set by ask or query_optimizer, when it was not
    sources: SourceChoice  # set by source_identifier
    hits: list[Hit]  # set by retrieval, best first
    reranked: tuple[str, ...]  # set by retrieval: chunks that a reranker judged, best first
    scored: list[Scored]  # set by post_processor, best first
    context: tuple[Chunk, ...]  # set by post_processor, in reading order
    read: tuple[Source, ...]  # set by post_processor: the context as the answerer gets it
    dropped: Mapping[str, str]  # set by post_processor: chunk id → why
    requests: tuple[LookupRequest, ...]  # set by answer, carried out and emptied by look
    rounds: Annotated[int, operator.add]  # counted by look
    wanted: Annotated[tuple[str, ...], operator.add]  # added to by look: chunks that it brought
    looked: Annotated[tuple[str, ...], operator.add]  # added to by look: what each request brought
    told: Annotated[tuple[ToolResult, ...], operator.add]  # added to by look: what tools said
    told_now: bool  # set by look: whether it asked tools in this round
    untold: Annotated[tuple[str, ...], operator.add]  # added to by look: tools that gave nothing
    draft: Draft  # set by reply, refuse or answer; checked by verify
    doubted: Draft  # set by verify, which has it written again
    objections: tuple[str, ...]  # set by verify, empty again once they are answered
    timings_ms: Annotated[Mapping[str, float], joined]  # added to by every node
    usage: Annotated[Usage, operator.add]  # added to by every node
    fallbacks: Annotated[tuple[Fallback, ...], operator.add]  # added to by nodes that fell back
    notes: Annotated[tuple[str, ...], operator.add]  # added to by every node
