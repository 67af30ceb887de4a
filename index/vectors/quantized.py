"""Normalized vectors in two bytes per component: searches read the leading bytes, both are exact.

A component is `scale * (256 * leading + trailing)`; each row has its scale. The leading bytes
alone give a cosine within 0.002 (standard deviation 0.0004 on 15,800 real texts), both within
0.00001, and a pass over bytes is faster than one over floats: it reads a quarter of the memory
(docs/decisions/103).

This module also picks the best rows of a matrix by score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def one_thread_each() -> None:
    """Limits BLAS to one thread in this process, so that each search runs on its calling thread.

    BLAS would split each product among all cores and spin while it waits. On a busy machine,
    10,000 rows took 8 ms of processor time that way and 1.6 ms on one thread
    (docs/decisions/031)."""
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
    """The `depth` highest scores above the bound; ties in row order."""
    rows = np.flatnonzero(scores > above)
    if 0 < depth < len(rows):
        # Find the lowest score that qualifies, then take every row at or above it: ties stay
        # deterministic. Partition only scores above the bound: most scores are 0, and equal values
        # make a partition ten times as slow.
        row_scores = scores[rows]
        bound = np.partition(row_scores, len(row_scores) - depth)[len(row_scores) - depth]
        rows = rows[row_scores >= bound]
    return ordered(rows, scores[rows]).head(depth)


def ordered(rows: Rows, scores: NDArray[np.float32]) -> Best:
    """Best first; rows of equal score stay in their order."""
    order = np.argsort(-scores, kind="stable")
    return Best(rows[order], scores[order])


def best_of_each(rows: Rows, scores: NDArray[np.float32]) -> Best:
    """Each row once, with the score of its first occurrence."""
    _, places = np.unique(rows, return_index=True)
    places = np.sort(places)
    return Best(rows[places], scores[places])


MAX_CODE = 127 * 256
"""The code of a row's largest component."""
WIDENED_AT_ONCE = 400_000
"""Number of components converted to floats together; they fit into a core's cache."""
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
        """(rows, dimensions) float32. Quantizing the result gives the same bytes."""
        codes = self.leading.astype(np.float32) * 256
        codes += self.trailing
        codes *= self.scales[:, None]
        return codes

    def row(self, row: int) -> Vectors:
        """(dimensions,)"""
        row_vector: Vectors = self[row : row + 1].exactly()[0]
        return row_vector

    def by_leading(self, queries: Vectors, rows: Rows | None = None) -> Vectors:
        """(rows, queries) cosines by the leading bytes, for all rows or the given ones."""
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
    """(rows, queries) of `scale * codes @ query`, for all rows or the given ones.

    Computed in blocks that fit into the cache."""
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
    """`scale * codes @ query` of the rows in [start, end) of each span, in the order of the spans.

    Short spans share a product: one product for each span takes half as long again."""
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
    # Rounded up to 17 significant bits: the product with 127 * 256 is exact in a float, so decoding
    # and encoding again gives the same bytes, for example after storage on a server.
    scales = np.ascontiguousarray(
        np.abs(vectors).max(axis=1, initial=0) / MAX_CODE, dtype=np.float32
    )
    bits = scales.view(np.uint32)
    return ((bits + np.uint32(0x7F)) & np.uint32(0xFFFFFF80)).view(np.float32)
