"""Judged answers and their statistics: shares, means, agreement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ACCEPTABLE, FULL, TOP = 4, 5, 5
RESAMPLES = 2_000


@dataclass(frozen=True)
class Verdict:
    """What one judge said of one answer."""

    judge: str
    score: int
    incorrect: bool
    padded: bool
    note: str = ""

    @property
    def acceptable(self) -> bool:
        return self.score >= ACCEPTABLE


@dataclass(frozen=True)
class Judged:
    """An answer, one line of `with_a_model`, with a verdict on it."""

    line: dict[str, Any]
    verdict: Verdict

    @property
    def key(self) -> str:
        return f"{self.line['set']}/{self.line['id']}"

    @property
    def kind(self) -> str:
        return str(self.line["kind"])


SHARES: dict[str, Callable[[Judged], bool]] = {
    "acceptable": lambda one: one.verdict.acceptable,
    "full marks": lambda one: one.verdict.score == FULL,
    "incorrect": lambda one: one.verdict.incorrect,
    "padded": lambda one: one.verdict.padded,
}
MEANS: dict[str, Callable[[Judged], float]] = {
    "calls": lambda one: float(one.line["calls"]),
    "input tokens": lambda one: float(one.line["input_tokens"]),
}


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


def weighted_kappa(first: Sequence[int], second: Sequence[int]) -> float:
    """Agreement of two judges on scores 0 to 5 beyond chance, squared weights; 1 when both give
    one and the same score to all. Source: Cohen, Psychological Bulletin 1968."""
    seen = np.zeros((TOP + 1, TOP + 1))
    for one, other in zip(first, second, strict=True):
        seen[one, other] += 1
    seen /= max(1.0, seen.sum())
    places = np.arange(TOP + 1)
    weights = (places[:, None] - places[None, :]) ** 2 / TOP**2
    by_chance = float((weights * np.outer(seen.sum(1), seen.sum(0))).sum())
    return 1.0 - float((weights * seen).sum()) / by_chance if by_chance else 1.0
