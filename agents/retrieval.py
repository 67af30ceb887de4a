"""Agent 3: hybrid search for every variant of the question, then what belongs to the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.plan import Plan
from agents.trace import SourceChoice
from index.search import Hit, SearchQuery, Snapshot

CANDIDATES = 60
"""Chunks considered for one question, before the context is cut."""


@dataclass(frozen=True, kw_only=True)
class RetrievalRequest:
    """What retrieval sees."""

    plan: Plan
    sources: SourceChoice
    snapshot: Snapshot
    readers: frozenset[str] | None = None


def retrieve(narrowed: RetrievalRequest, *, limit: int = CANDIDATES) -> list[Hit]:
    """Best first: the rankings of the whole question and of its parts, fused."""
    plan = narrowed.plan
    wholes = (plan.question, *plan.paraphrases, plan.hypothetical_answer)
    rankings = [_search(narrowed, tuple(text for text in wholes if text), limit)]
    rankings += [_search(narrowed, (part,), limit // 2) for part in plan.sub_questions]
    return fuse(rankings)[:limit]


def fuse(rankings: Sequence[Sequence[Hit]], k: int = 60) -> list[Hit]:
    """One ranking of many; each chunk's hit is the one of the ranking that liked it best.

    Source: Cormack, Clarke & Büttcher, SIGIR 2009."""
    scores: dict[str, float] = {}
    best: dict[str, tuple[int, Hit]] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            chunk = hit.chunk.id
            scores[chunk] = scores.get(chunk, 0.0) + 1 / (k + rank)
            if chunk not in best or rank < best[chunk][0]:
                best[chunk] = (rank, hit)
    order = sorted(best, key=lambda chunk: -scores[chunk])
    return [best[chunk][1] for chunk in order]


def _search(narrowed: RetrievalRequest, variants: tuple[str, ...], limit: int) -> list[Hit]:
    return narrowed.snapshot.search(
        SearchQuery(
            variants=variants,
            keywords=tuple(narrowed.plan.keywords),
            strategy=narrowed.plan.strategy,
            limit=limit,
            documents=frozenset(narrowed.sources.documents) or None,
            readers=narrowed.readers,
        )
    )
