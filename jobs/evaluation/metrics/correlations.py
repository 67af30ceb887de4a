"""How far two rows of figures go together, without a library of statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def pearson(first: Scores, second: Scores) -> float:
    """Of two rows, neither of which is all alike: -1 to 1."""
    return float(np.corrcoef(first, second)[0, 1])


def spearman(first: Scores, second: Scores) -> float:
    """The same of their ranks."""
    return pearson(_ranks(first), _ranks(second))


def _ranks(values: Scores) -> Scores:
    """Average ranks: ties share theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=np.float64)
