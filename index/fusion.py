"""Merging rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

K = 60


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Rows found by one way of searching, best first."""

    name: str
    """`chunks`, `units` or `keywords`."""
    rows: Sequence[int]
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Fused:
    """A row with its fused score and its best rank, from 1, in each ranking that has it."""

    row: int
    score: float
    ranks: dict[str, int]


def fuse(rankings: Sequence[Ranking], *, k: int = K, limit: int | None = None) -> list[Fused]:
    """Merge best-first rankings by weighted reciprocal rank.

    Score: sum of weight / (k + rank), rank from 1; ties keep first-seen order.
    Source: Cormack, Clarke & Büttcher, SIGIR 2009."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking.rows, start=1):
            scores[row] = scores.get(row, 0.0) + ranking.weight / (k + rank)
    ordered = sorted(scores, key=lambda row: -scores[row])[:limit]
    ranks: dict[int, dict[str, int]] = {row: {} for row in ordered}
    for ranking in rankings:
        for rank, row in enumerate(ranking.rows, start=1):
            if row in ranks:
                best = ranks[row].get(ranking.name, rank)
                ranks[row][ranking.name] = min(rank, best)
    return [Fused(row=row, score=scores[row], ranks=ranks[row]) for row in ordered]
