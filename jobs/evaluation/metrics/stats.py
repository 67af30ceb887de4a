"""95% intervals, correlations and a permutation test. Only the test needs SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def pearson(first: Scores, second: Scores) -> float:
    """Correlation of two rows, -1 to 1. Neither row may be constant."""
    return float(np.corrcoef(first, second)[0, 1])


def spearman(first: Scores, second: Scores) -> float:
    """Correlation of the ranks, -1 to 1. Neither row may be constant."""
    return pearson(_ranks(first), _ranks(second))


def _ranks(values: Scores) -> Scores:
    """Ranks from 1; ties share their average rank."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=np.float64)


RESAMPLES = 2_000


def wilson(hits: int, count: int) -> tuple[float, float]:
    """95% interval of a share; 0 to 1 when `count` is 0. Source: Wilson, JASA 1927."""
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    low, high = ((middle + side * reach) / (1 + z * z / count) for side in (-1, 1))
    return max(0.0, low), min(1.0, high)


def bootstrap(
    count: int, figure: Callable[[np.ndarray], float], *, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95% interval of a figure: percentile bootstrap with a fixed seed.

    `figure` receives resampled indexes 0 to `count` - 1. Draws for which it returns NaN are
    ignored."""
    chance = np.random.default_rng(0)
    drawn = [figure(chance.integers(0, count, count)) for _ in range(resamples)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def of_mean(values: Sequence[float], *, share: bool = True) -> tuple[float, float]:
    """95% interval of a mean: Wilson's for a share whose values are all 0 or 1, else bootstrap."""
    if share and all(value in (0.0, 1.0) for value in values):
        return wilson(int(sum(values)), len(values))
    return bootstrap_mean(np.asarray(values))


def bootstrap_mean(values: NDArray[np.float64]) -> tuple[float, float]:
    """95% interval of the mean: `bootstrap`, vectorized."""
    chance = np.random.default_rng(0)
    means = values[chance.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def sign_test(better: int, worse: int) -> float:
    """Two-sided exact p of so many pairs that moved up and down; 1 when none moved.

    Source: Dixon & Mood, The statistical sign test, JASA 1946."""
    moved = better + worse
    tail = sum(math.comb(moved, count) for count in range(min(better, worse) + 1))
    return min(1.0, float(2 * tail / 2**moved))


def by_chance(differences: Sequence[float]) -> float | None:
    """Two-sided p of a paired permutation test of the mean difference; None without SciPy.

    Source: Fisher, The Design of Experiments, 1935, § 21."""
    moved = [one for one in differences if one]
    if len(moved) < 2:  # a single difference proves nothing
        return 1.0
    try:
        from scipy.stats import permutation_test
    except ImportError:  # the extra `evaluation` isn't installed
        return None

    held = np.asarray(moved)
    tested = permutation_test(
        (held,), lambda values, axis: values.mean(axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=9_999, rng=np.random.default_rng(0),
    )  # fmt: skip
    return float(tested.pvalue)
