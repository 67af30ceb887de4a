"""Rows of a matrix, best first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        held = scores[rows]
        bound = np.partition(held, len(held) - depth)[len(held) - depth]
        rows = rows[held >= bound]
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
