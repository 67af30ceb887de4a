"""Normalized vectors in two bytes a component: the leading bytes are searched, both are exact.

A component is `scale * (256 * leading + trailing)`, the scale that of its row. The leading bytes
alone give a cosine within 0.002 (standard deviation 0.0004 on 15,800 real texts), both within
0.00001, and a pass over bytes is faster than one over floats: it reads a quarter of the memory
(docs/decisions/103).

Rows of a matrix, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def one_thread_each() -> None:
    """Search on the thread that asks, in this process from now on.

    BLAS would divide each product among all cores and spin while it waits for them: 10,000 rows
    took 1.6 ms of processor time alone, 8 ms so on a busy machine (docs/decisions/031)."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


@dataclass(frozen=True)
class Best:
    """Rows, best first, and their scores."""

    rows: Rows
    scores: NDArray[np.float32]

    def head(self, depth: int) -> Best:
        return Best(self.rows[:depth], self.scores[:depth])

    def __len__(self) -> int:
        return len(self.rows)


NONE = Best(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def best(scores: NDArray[np.float32], depth: int, *, above: float = -np.inf) -> Best:
    """The highest scores, ties by row; only scores above the bound."""
    rows = np.flatnonzero(scores > above)
    if 0 < depth < len(rows):
        # The lowest score that makes it, then every row at or over it: ties stay deterministic.
        # Not among all scores: most are the same nought, which takes a partition ten times as long.
        row_scores = scores[rows]
        bound = np.partition(row_scores, len(row_scores) - depth)[len(row_scores) - depth]
        rows = rows[row_scores >= bound]
    return ordered(rows, scores[rows]).head(depth)


def ordered(rows: Rows, scores: NDArray[np.float32]) -> Best:
    """Best first; rows of equal score stay in their order."""
    order = np.argsort(-scores, kind="stable")
    return Best(rows[order], scores[order])


def best_of_each(rows: Rows, scores: NDArray[np.float32]) -> Best:
    """Each row once, with the score it has where it first stands."""
    _, places = np.unique(rows, return_index=True)
    places = np.sort(places)
    return Best(rows[places], scores[places])


MAX_CODE = 127 * 256
"""The code of a row's largest component."""
WIDENED_AT_ONCE = 400_000
"""Components that are widened to floats together: they stay in a core's cache."""
ENCODED_AT_ONCE = 8_192

Bytes = NDArray[np.int8]
Scales = NDArray[np.float32]


@dataclass(frozen=True)
class Quantized:
    """(rows, dimensions) vectors; arrays may be mapped from files."""

    leading: Bytes
    trailing: Bytes
    scales: Scales
    """(rows,)"""

    def __len__(self) -> int:
        return len(self.leading)

    @property
    def width(self) -> int:
        return int(self.leading.shape[1])

    def __getitem__(self, rows: slice | Rows) -> Quantized:
        return Quantized(self.leading[rows], self.trailing[rows], self.scales[rows])

    def exactly(self) -> Vectors:
        """(rows, dimensions) float32: encoded again they give the same bytes."""
        codes = self.leading.astype(np.float32) * 256
        codes += self.trailing
        codes *= self.scales[:, None]
        return codes

    def row(self, row: int) -> Vectors:
        """(dimensions,)"""
        row_vector: Vectors = self[row : row + 1].exactly()[0]
        return row_vector

    def by_leading(self, queries: Vectors, rows: Rows | None = None) -> Vectors:
        """(rows, queries) cosines by the leading bytes, of all rows or of these."""
        scales: Scales = self.scales * np.float32(256)
        return products(self.leading, scales, queries, rows)


def quantize(vectors: Vectors) -> Quantized:
    """`vectors`: (rows, dimensions) of any length."""
    result = empty(len(vectors), vectors.shape[1])
    for start in range(0, len(vectors), ENCODED_AT_ONCE):
        part = slice(start, start + ENCODED_AT_ONCE)
        scales = _scales(vectors[part])
        codes = np.rint(vectors[part] / np.where(scales, scales, 1)[:, None]).astype(np.int32)
        leading = (codes + 128) >> 8
        result.leading[part] = leading
        result.trailing[part] = codes - 256 * leading
        result.scales[part] = scales
    return result


def empty(rows: int, width: int) -> Quantized:
    return Quantized(
        np.zeros((rows, width), dtype=np.int8),
        np.zeros((rows, width), dtype=np.int8),
        np.zeros(rows, dtype=np.float32),
    )


def joined(parts: Sequence[Quantized]) -> Quantized:
    return Quantized(
        np.concatenate([one.leading for one in parts]),
        np.concatenate([one.trailing for one in parts]),
        np.concatenate([one.scales for one in parts]),
    )


def products(codes: Bytes, scales: Scales, queries: Vectors, rows: Rows | None = None) -> Vectors:
    """(rows, queries) of `scale * codes @ query`, of all rows or of these, a cacheful at a time."""
    count = len(codes) if rows is None else len(rows)
    scores = np.empty((count, len(queries)), dtype=np.float32)
    at_once = WIDENED_AT_ONCE // codes.shape[1]
    wide = np.empty((min(count, at_once), codes.shape[1]), dtype=np.float32)
    turned = np.ascontiguousarray(queries.T, dtype=np.float32)
    for start in range(0, count, at_once):
        end = min(start + at_once, count)
        part = slice(start, end) if rows is None else rows[start:end]
        np.copyto(wide[: end - start], codes[part])
        np.dot(wide[: end - start], turned, out=scores[start:end])
    scores *= scales[:, None] if rows is None else scales[rows][:, None]
    return scores


def products_of_spans(
    codes: Bytes, scales: Scales, query: Vectors, spans: Sequence[tuple[int, int]]
) -> NDArray[np.float32]:
    """`scale * codes @ query` of the rows in [start, end) of each span, one after the other.

    Short spans are widened together: a product of its own for each takes half as long again."""
    count = sum(end - start for start, end in spans)
    scores = np.empty(count, dtype=np.float32)
    wide = np.empty((min(count, WIDENED_AT_ONCE // codes.shape[1]), codes.shape[1]), np.float32)
    written_rows = filled = 0
    for span_start, end in spans:
        start = span_start
        while start < end:
            step = min(end - start, len(wide) - filled)
            np.copyto(wide[filled : filled + step], codes[start : start + step])
            start, filled = start + step, filled + step
            if filled == len(wide) or written_rows + filled == count:
                np.dot(wide[:filled], query, out=scores[written_rows : written_rows + filled])
                written_rows, filled = written_rows + filled, 0
    scores *= np.concatenate([scales[start:end] for start, end in spans])
    return scores


def _scales(vectors: Vectors) -> Scales:
    # Rounded up to 17 significant bits: times 127 * 256 that is exact in a float, so what is
    # decoded and encoded again, after a server kept it for instance, is byte for byte the same.
    scales = np.ascontiguousarray(
        np.abs(vectors).max(axis=1, initial=0) / MAX_CODE, dtype=np.float32
    )
    bits = scales.view(np.uint32)
    return ((bits + np.uint32(0x7F)) & np.uint32(0xFFFFFF80)).view(np.float32)
