"""The rankings of one folder's chunks: by chunk vector, by unit vector, by keyword."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from config.models import Vectors
from index.folder import Folder
from index.fusion import Ranking
from index.matrix import Mask, Rows, best
from index.search import Strategy
from index.vectors import Neighbours, VectorSearch

UNITS_PER_CHUNK = 3
"""Units fetched for each chunk wanted: neighbours are often of the same chunk."""
WEIGHTS: Mapping[str, float] = {"chunks": 1.0, "units": 1.0, "keywords": 1.0}
LATER_VARIANTS = 0.5
"""Weight of a paraphrase or sub-question beside the question itself."""


class Rankings:
    """Ranks rows for questions; thread-safe."""

    def __init__(self, folder: Folder, neighbours: Callable[[str], Neighbours]) -> None:
        self._folder = folder
        self._chunks = VectorSearch(
            folder.chunk_vectors, lambda: folder.chunk_keys, lambda: neighbours("chunks")
        )
        self._units = VectorSearch(
            folder.unit_vectors, lambda: folder.unit_keys, lambda: neighbours("units")
        )

    def __call__(
        self,
        vectors: Vectors,
        bags: Sequence[Sequence[str]],
        *,
        strategy: Strategy,
        depth: int,
        allowed: Mask | None,
    ) -> list[Ranking]:
        """One ranking for each variant and way of searching.

        `vectors`: (variants, dimensions), the question first; `bags`: terms of each variant."""
        found: list[Ranking] = []
        if strategy != "keyword" and len(vectors):
            found += _weighted("chunks", self._chunks(vectors, depth, allowed))
            found += _weighted("units", self._by_unit(vectors, depth, allowed))
        if strategy != "semantic":
            found += _weighted("keywords", [self._by_keyword(bag, depth, allowed) for bag in bags])
        return found

    def _by_unit(self, vectors: Vectors, depth: int, allowed: Mask | None) -> list[Rows]:
        """Chunk rows in the order of their best unit."""
        if allowed is not None:
            allowed = np.repeat(allowed, self._unit_counts)
        starts = self._folder.unit_starts
        found = self._units(vectors, depth * UNITS_PER_CHUNK, allowed)
        return [_first(np.searchsorted(starts, rows, side="right") - 1)[:depth] for rows in found]

    def _by_keyword(self, bag: Sequence[str], depth: int, allowed: Mask | None) -> Rows:
        scores = self._folder.keywords.scores(bag)
        if allowed is not None:
            scores *= allowed
        return best(scores, depth, above=0.0)

    @cached_property
    def _unit_counts(self) -> Rows:
        return np.diff(self._folder.unit_starts)


def _weighted(name: str, found: Sequence[Rows]) -> list[Ranking]:
    return [
        Ranking(
            name=name,
            rows=rows.tolist(),
            weight=WEIGHTS[name] * (LATER_VARIANTS if place else 1.0),
        )
        for place, rows in enumerate(found)
    ]


def _first(rows: Rows) -> Rows:
    """Each row once, where it first stands."""
    _, places = np.unique(rows, return_index=True)
    return rows[np.sort(places)]
