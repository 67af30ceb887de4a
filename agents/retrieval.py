"""Agent 3: hybrid search for every variant of the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from agents.plan import Plan
from agents.trace import SourceChoice
from index.ranking.fusion import Ranking, fuse
from index.search import Hit, SearchQuery, Snapshot

CANDIDATES = 60
"""Chunks considered for one question, before the context is cut."""


@dataclass(frozen=True, kw_only=True)
class RetrievalRequest:
    """What retrieval sees."""

    plan: Plan
    sources: SourceChoice
    snapshot: Snapshot


def retrieve(narrowed: RetrievalRequest, *, limit: int = CANDIDATES) -> list[Hit]:
    """Best first: the rankings of the whole question and of its parts, fused."""
    plan = narrowed.plan
    wholes = (plan.question, *plan.paraphrases, plan.hypothetical_answer)
    found = [_search(narrowed, tuple(text for text in wholes if text), limit)]
    found += [_search(narrowed, (part,), limit // 2) for part in plan.parts]
    return merged(found)[:limit]


def merged(found: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Several searches by reciprocal rank; a chunk's hit is of the search that ranked it best."""
    by_chunk = [
        Ranking(name=str(number), rows=[hit.chunk.id for hit in hits])
        for number, hits in enumerate(found)
    ]
    best: dict[str, Hit] = {}
    for of_one_rank in zip_longest(*found):
        for hit in filter(None, of_one_rank):
            best.setdefault(hit.chunk.id, hit)
    return [best[one.row] for one in fuse(by_chunk)]


def _search(narrowed: RetrievalRequest, variants: tuple[str, ...], limit: int) -> list[Hit]:
    return narrowed.snapshot.search(
        SearchQuery(
            variants=variants,
            keywords=tuple(narrowed.plan.keywords),
            strategy=narrowed.plan.strategy,
            limit=limit,
            documents=frozenset(narrowed.sources.documents) or None,
        )
    )
