"""Exact search over a memory-mapped matrix of normalised vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def similarities(matrix: Vectors, queries: Vectors) -> Vectors:
    """(rows, queries) cosines."""
    if len(queries) == 1:  # one vector at a time is twice as fast as a matrix of one column
        return np.asarray(matrix @ queries[0], dtype=np.float32)[:, None]
    return np.asarray(matrix @ queries.T, dtype=np.float32)


def similarities_within(matrix: Vectors, queries: Vectors, runs: list[tuple[int, int]]) -> Vectors:
    """(rows, queries) cosines, -inf outside the runs.

    Runs are read in place: gathering rows one by one would copy them first."""
    found = np.full((len(matrix), len(queries)), -np.inf, dtype=np.float32)
    for start, end in runs:
        found[start:end] = matrix[start:end] @ queries.T
    return found


def runs_of(mask: Mask) -> list[tuple[int, int]]:
    """[start, end) of each stretch of allowed rows; a document's rows are one stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def best(scores: NDArray[np.float32], depth: int, *, above: float = -np.inf) -> Rows:
    """Rows of the highest scores, best first, ties by row; only scores above the bound."""
    if depth < len(scores):
        # The lowest score that makes it, then every row at or over it: ties stay deterministic.
        bound = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        rows = np.flatnonzero((scores >= bound) & (scores > above))
    else:
        rows = np.flatnonzero(scores > above)
    return rows[np.argsort(-scores[rows], kind="stable")][:depth]


def best_per_group(scores: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Highest score of each group `offsets[i]:offsets[i + 1]`, -inf for an empty one."""
    found = np.full(len(offsets) - 1, -np.inf, dtype=np.float32)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    if len(filled):
        found[filled] = np.maximum.reduceat(scores, offsets[filled])
    return found
