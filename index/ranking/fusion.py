"""Rankings by chunk vector, unit vector and keyword, and their fusion into one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from config.models import Vectors
from config.parsing.fields import Strategy
from index.generations.engines import Searches
from index.generations.folder import Folder
from index.vectors.quantized import Best, Mask, Rows, best, best_of_each

Row = TypeVar("Row", bound=Hashable)

K = 60
SAMPLE = 100
"""Number of scores used for mean and deviation; fixed, so that results don't depend on `limit`."""
TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Ranking(Generic[Row]):
    """The result of one search method, best first."""

    name: str
    """The method: `chunks`, `units` or `keywords`."""
    rows: Sequence[Row]
    scores: Sequence[float] = ()
    """Score of each row, on the method's scale; `fuse` doesn't use it."""
    weight: float = 1.0
    blanks: int = 0
    """Number of rows searched but not listed, because their score is zero."""


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
    """Merge best-first rankings by weighted, standardized scores.

    Score: sum of weight · (1 + deviations from the mean of the ranking's first 100), at least 0;
    ties keep first-seen order. A row far ahead in one ranking stays ahead, unlike in a fusion
    by rank. Source: Bruch, Gai & Ingber, TOIS 2023."""
    return _summed(rankings, [_standardized(one) for one in rankings], limit)


def _standardized(ranking: Ranking[Row]) -> list[float]:
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


UNITS_PER_CHUNK = 3
"""Units fetched for each chunk returned: the nearest units often belong to the same chunk."""
RANKING_WEIGHTS: Mapping[str, float] = {"chunks": 0.35, "units": 0.35, "keywords": 0.3}
"""Weight of each search method, tuned on golden questions (docs/decisions/033)."""
LATER_VARIANTS = 0.25
"""Weight of a paraphrase or sub-question relative to the question: half a sentence by itself
resembles anything."""


class Rankings:
    """Ranks rows for questions; thread-safe."""

    def __init__(self, folder: Folder, searches: Searches) -> None:
        self._folder = folder
        self._chunks, self._units = searches.chunks, searches.units

    def __call__(
        self,
        vectors: Vectors,
        bags: Sequence[Sequence[str]],
        *,
        strategy: Strategy,
        depth: int,
        allowed: Mask | None,
    ) -> list[Ranking[int]]:
        """One ranking for each variant and search method.

        `vectors`: (variants, dimensions), the question first; `bags`: terms of each variant."""
        rankings: list[Ranking[int]] = []
        if strategy != "keyword" and len(vectors):
            rankings += _weighted("chunks", self._chunks(vectors, depth, allowed))
            rankings += _weighted("units", self._by_unit(vectors, depth, allowed))
        if strategy != "semantic":
            by_keyword = [self._by_keyword(bag, depth, allowed) for bag in bags]
            reach = len(self._unit_counts) if allowed is None else int(allowed.sum())
            rankings += _weighted("keywords", by_keyword, reach)
        return rankings

    def _by_unit(self, vectors: Vectors, depth: int, allowed: Mask | None) -> list[Best]:
        """Chunk rows, each with the score of its best unit."""
        if allowed is not None:
            allowed = np.repeat(allowed, self._unit_counts)
        starts = self._folder.unit_starts
        return [
            best_of_each(np.searchsorted(starts, one.rows, side="right") - 1, one.scores).head(
                depth
            )
            for one in self._units(vectors, depth * UNITS_PER_CHUNK, allowed)
        ]

    def _by_keyword(self, bag: Sequence[str], depth: int, allowed: Mask | None) -> Best:
        scores = self._folder.keywords.scores(bag)
        if allowed is not None:
            scores *= allowed
        return best(scores, depth, above=0.0)

    @cached_property
    def _unit_counts(self) -> Rows:
        return np.diff(self._folder.unit_starts)


def _weighted(name: str, best: Sequence[Best], reach: int = 0) -> list[Ranking[int]]:
    return [
        Ranking(
            name=name,
            rows=one.rows.tolist(),
            scores=one.scores.tolist(),
            weight=RANKING_WEIGHTS[name] * (LATER_VARIANTS if place else 1.0),
            blanks=max(0, reach - len(one)),
        )
        for place, one in enumerate(best)
    ]
