"""The rows nearest to a question: exact over the matrix, or by Chroma's graph where faster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np

from config.errors import IndexUnavailable
from config.models import Vectors
from index.folders.generation_folder import Keys
from index.vectors.matrix import (
    NONE,
    Best,
    Mask,
    best,
    ordered,
    runs_of,
    similarities,
    similarities_within,
)

EXACT_ROWS = 20_000
"""Up to here one pass over the matrix beats a query to Chroma, 3 to 4 ms (docs/decisions/031)."""
OVERFETCH = 2.0
MOST_NEIGHBOURS = 1_000

logger = logging.getLogger(__name__)


class Neighbours(Protocol):
    """An approximate nearest-neighbour index; `chroma.Collection` is one."""

    def nearest(self, queries: Vectors, depth: int) -> list[list[str]]: ...


class VectorSearch:
    """Searches one matrix. `neighbours` is opened when a search first needs it."""

    def __init__(
        self, matrix: Vectors, keys: Callable[[], Keys], neighbours: Callable[[], Neighbours]
    ) -> None:
        self._approximate = len(matrix) > EXACT_ROWS
        # What is read whole at every search is faster in large pages of memory than in a file's.
        self._matrix = matrix if self._approximate else matrix.copy()
        self._keys = keys
        self._open_neighbours = neighbours

    def __call__(self, queries: Vectors, depth: int, allowed: Mask | None = None) -> list[Best]:
        """Rows for each query, best first, at most `depth`; only allowed ones."""
        reach = len(self._matrix) if allowed is None else int(allowed.sum())
        if reach == 0:
            return [NONE for _ in queries]
        if self._approximate and reach > EXACT_ROWS:
            found = self._by_graph(queries, depth, allowed, reach)
            if found is not None:
                return found
        return self._exactly(queries, depth, allowed)

    def _exactly(self, queries: Vectors, depth: int, allowed: Mask | None) -> list[Best]:
        if allowed is None:
            scores = similarities(self._matrix, queries)
        else:
            scores = similarities_within(self._matrix, queries, runs_of(allowed))
        return [best(np.ascontiguousarray(column), depth) for column in scores.T]

    def _by_graph(
        self, queries: Vectors, depth: int, allowed: Mask | None, reach: int
    ) -> list[Best] | None:
        """None when the graph can't give enough allowed rows, or can't be read."""
        wanted = depth if allowed is None else int(depth * len(self._matrix) / reach * OVERFETCH)
        if wanted > MOST_NEIGHBOURS:
            return None
        try:
            found = self._neighbours.nearest(queries, wanted)
        except IndexUnavailable as error:
            # Slower, never wrong: the matrix holds the same vectors.
            logger.warning("searching without Chroma: %s", error)
            self._approximate = False
            return None
        pairs = zip(found, queries, strict=True)
        ranked = [self._ranked(keys, query, allowed).head(depth) for keys, query in pairs]
        enough = min(depth, reach)
        return ranked if all(len(one) >= enough for one in ranked) else None

    @cached_property
    def _neighbours(self) -> Neighbours:
        return self._open_neighbours()

    def _ranked(self, keys: list[str], query: Vectors, allowed: Mask | None) -> Best:
        """Rows of the keys in exact order: the graph's own distances are not needed."""
        held = [rows for rows in self._keys().rows(keys) if len(rows)]
        rows = np.sort(np.concatenate(held)) if held else np.zeros(0, dtype=np.int64)
        if allowed is not None:
            rows = rows[allowed[rows]]
        return ordered(rows, self._matrix[rows] @ query)
