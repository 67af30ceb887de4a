"""The rankings of one folder's chunks: by chunk vector, by unit vector, by keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from config.models import Vectors
from index.folders.generation_folder import Folder
from index.folders.nearest_rows import VectorSearch
from index.ranking.fusion import Ranking
from index.search import Strategy
from index.vectors.matrix import Best, Mask, Rows, best, best_of_each

UNITS_PER_CHUNK = 3
"""Units fetched for each chunk wanted: neighbours are often of the same chunk."""
RANKING_WEIGHTS: Mapping[str, float] = {"chunks": 0.35, "units": 0.35, "keywords": 0.3}
"""Share of each way of searching, found on golden questions (docs/decisions/033)."""
LATER_VARIANTS = 0.5
"""Weight of a paraphrase or sub-question beside the question itself."""


class Rankings:
    """Ranks rows for questions; thread-safe."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._chunks = VectorSearch(folder.chunk_vectors, folder.chunk_sketch)
        self._units = VectorSearch(folder.unit_vectors, folder.unit_sketch)

    def __call__(
        self,
        vectors: Vectors,
        bags: Sequence[Sequence[str]],
        *,
        strategy: Strategy,
        depth: int,
        allowed: Mask | None,
    ) -> list[Ranking[int]]:
        """One ranking for each variant and way of searching.

        `vectors`: (variants, dimensions), the question first; `bags`: terms of each variant."""
        found: list[Ranking[int]] = []
        if strategy != "keyword" and len(vectors):
            found += _weighted("chunks", self._chunks(vectors, depth, allowed))
            found += _weighted("units", self._by_unit(vectors, depth, allowed))
        if strategy != "semantic":
            by_keyword = [self._by_keyword(bag, depth, allowed) for bag in bags]
            reach = len(self._unit_counts) if allowed is None else int(allowed.sum())
            found += _weighted("keywords", by_keyword, reach)
        return found

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


def _weighted(name: str, found: Sequence[Best], reach: int = 0) -> list[Ranking[int]]:
    return [
        Ranking(
            name=name,
            rows=one.rows.tolist(),
            scores=one.scores.tolist(),
            weight=RANKING_WEIGHTS[name] * (LATER_VARIANTS if place else 1.0),
            blanks=max(0, reach - len(one)),
        )
        for place, one in enumerate(found)
    ]
