"""Finds the rows nearest to a question by an exact pass, or in large matrices by a sketch first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from config.models import Embedder, Vectors
from index.vectors.quantized import NONE, Best, Mask, Quantized, Rows, best
from index.vectors.sketch import Sketch

EXACT_ROWS = 50_000
"""Up to this number of rows, one pass over the leading bytes (3.6 ms) is as fast as a sketch
(docs/decisions/103). Larger matrices have a sketch, which is skipped when a restriction leaves no
more rows than this."""
LIKELY = 4_000
LIKELY_PER_DEPTH = 20
"""Candidate rows scored for each row returned; LIKELY is the minimum in all."""
SPARE, SPARE_SHARE = 16, 0.25
"""Extra rows that are rescored with both bytes, because the leading bytes err by up to 0.002."""


class VectorSearch(Protocol):
    """A way to search one matrix; thread-safe."""

    def __call__(self, queries: Vectors, depth: int, allowed: Mask | None = None) -> list[Best]:
        """The nearest allowed rows for each query, best first, at most `depth`."""
        ...


class LocalSearch:
    """Searches a mapped matrix in this process."""

    def __init__(self, matrix: Quantized, sketch: Sketch | None) -> None:
        self._matrix = matrix
        self._sketch = sketch

    def __call__(self, queries: Vectors, depth: int, allowed: Mask | None = None) -> list[Best]:
        reach = len(self._matrix) if allowed is None else int(allowed.sum())
        if reach == 0:
            return [NONE for _ in queries]
        if self._sketch is None or reach <= EXACT_ROWS:
            return self._exactly(queries, depth, allowed, reach)
        count = max(LIKELY, LIKELY_PER_DEPTH * depth)
        result = []
        for query in queries:
            rows = self._sketch.likely(query, count, allowed, reach)
            scores = self._matrix.by_leading(query[None], rows)[:, 0]
            result.append(self._ordered(scores, rows, query, depth))
        return result

    def _exactly(
        self, queries: Vectors, depth: int, allowed: Mask | None, reach: int
    ) -> list[Best]:
        # Gathering single rows costs three times as much as reading contiguous ones.
        rows = None if allowed is None or 3 * reach > len(allowed) else np.flatnonzero(allowed)
        scores = self._matrix.by_leading(queries, rows)
        if rows is None and allowed is not None:
            scores[~allowed] = -np.inf
        columns = np.ascontiguousarray(scores.T)
        return [
            self._ordered(column, rows, query, min(depth, reach))
            for column, query in zip(columns, queries, strict=True)
        ]

    def _ordered(
        self, scores: NDArray[np.float32], rows: Rows | None, query: Vectors, depth: int
    ) -> Best:
        """The `depth` best rows by both bytes.

        `rows`: row of each score, ascending; None when the scores cover all rows."""
        near = np.sort(best(scores, depth + SPARE + int(SPARE_SHARE * depth), above=-np.inf).rows)
        near = near if rows is None else rows[near]
        exact = best(self._matrix[near].exactly() @ query, depth)
        return Best(near[exact.rows], exact.scores)


Key = TypeVar("Key")
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Keeps the `size` most recently used values."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)


MAX_CACHED = 2_048
"""Number of cached questions and variants; 1.5 kB each."""


class QuestionVectors:
    """Cached vectors of one embedding model: a question is embedded once for all domains searched.
    Thread-safe."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._cache: LruCache[str, Vectors] = LruCache(MAX_CACHED)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimensions). Raises ModelUnavailable."""
        cached = {text: self._cache.get(text) for text in texts}
        missing = [text for text, vector in cached.items() if vector is None]
        if missing:
            for text, vector in zip(missing, self.embedder(missing), strict=True):
                cached[text] = vector
                self._cache.put(text, vector)
        return np.array([cached[text] for text in texts], dtype=np.float32)
