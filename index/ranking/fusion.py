"""Merging rankings, of chunk rows in one index or of whatever else can be told apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row", bound=Hashable)

K = 60
SAMPLE = 100
"""Scores that say what is usual; always as many, or results would change with the limit."""
TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Ranking(Generic[Row]):
    """Rows found by one way of searching, best first."""

    name: str
    """Of the way: `chunks`, `units` or `keywords`."""
    rows: Sequence[Row]
    scores: Sequence[float] = ()
    """Of each row, on a scale of this way's own; not needed to fuse by rank."""
    weight: float = 1.0
    blanks: int = 0
    """Rows that were looked at and not listed because their score is zero."""


@dataclass(frozen=True, kw_only=True)
class Fused(Generic[Row]):
    """A row with its fused score and its best rank, from 1, in each ranking that has it."""

    row: Row
    score: float
    ranks: dict[str, int]


def fuse(
    rankings: Sequence[Ranking[Row]], *, k: int = K, limit: int | None = None
) -> list[Fused[Row]]:
    """Merge best-first rankings by weighted reciprocal rank.

    Score: sum of weight / (k + rank), rank from 1; ties keep first-seen order.
    Source: Cormack, Clarke & Büttcher, SIGIR 2009."""
    shares = [[1 / (k + rank) for rank, _ in enumerate(one.rows, start=1)] for one in rankings]
    return _summed(rankings, shares, limit)


def blend(rankings: Sequence[Ranking[Row]], *, limit: int | None = None) -> list[Fused[Row]]:
    """Merge best-first rankings by weighted, standardised scores.

    Score: sum of weight · (1 + deviations from the mean of the ranking's first 100), at least 0;
    ties keep first-seen order. A row far ahead in one ranking stays ahead, which ranks alone
    can't tell. Source: Bruch, Gai & Ingber, TOIS 2023."""
    return _summed(rankings, [_standardised(one) for one in rankings], limit)


def _standardised(ranking: Ranking[Row]) -> list[float]:
    head = ranking.scores[:SAMPLE]
    blanks = min(ranking.blanks, SAMPLE - len(head))
    count = max(1, len(head) + blanks)
    mean = sum(head) / count
    variance = (sum((score - mean) ** 2 for score in head) + blanks * mean**2) / count
    if variance < TINY:
        return [1.0] * len(ranking.scores)
    deviation = math.sqrt(variance)
    return [max(0.0, 1 + (score - mean) / deviation) for score in ranking.scores]


def _summed(
    rankings: Sequence[Ranking[Row]], shares: Sequence[Sequence[float]], limit: int | None
) -> list[Fused[Row]]:
    scores: dict[Row, float] = {}
    for ranking, parts in zip(rankings, shares, strict=True):
        for row, part in zip(ranking.rows, parts, strict=True):
            scores[row] = scores.get(row, 0.0) + ranking.weight * part
    ordered = sorted(scores, key=lambda row: -scores[row])[:limit]
    ranks: dict[Row, dict[str, int]] = {row: {} for row in ordered}
    for ranking in rankings:
        for rank, row in enumerate(ranking.rows, start=1):
            if row in ranks:
                best = ranks[row].get(ranking.name, rank)
                ranks[row][ranking.name] = min(rank, best)
    return [Fused(row=row, score=scores[row], ranks=ranks[row]) for row in ordered]
