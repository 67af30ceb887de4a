"""95% intervals of shares and of whatever can be resampled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

RESAMPLES = 2_000


def wilson(hits: int, count: int) -> tuple[float, float]:
    """95% interval of a share. Source: Wilson, JASA 1927."""
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - reach) / (1 + z * z / count), (middle + reach) / (1 + z * z / count)


def bootstrap(
    count: int, figure: Callable[[np.ndarray], float], *, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95% of a figure over resampled places 0 to count: percentile bootstrap, seeded."""
    chance = np.random.default_rng(0)
    drawn = [figure(chance.integers(0, count, count)) for _ in range(resamples)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)
