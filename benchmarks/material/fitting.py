"""The three fits behind answers without a model: small, regularised, deterministic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

WRONGLY = 0.05
"""Share of the answerable golden questions that may be refused."""
PULL_OF_STATEMENTS, PULL_OF_CONFIDENCE = 3.0, 2.0
STEPS, RATE = 400, 0.1
NEWTON = 30


def listwise(tables: Sequence[Matrix], right: Sequence[Mask], *, pull: float) -> Matrix:
    """(features,) that maximise the softmax share of the right rows of each table, held near 0.

    `pull`: strength of the ridge on weights in units of a feature's spread within a table."""
    spread = np.mean([table.std(0) for table in tables], axis=0) + 1e-6
    scaled = [table / spread for table in tables]
    weights = np.zeros(len(spread))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = 2 * pull * weights
        for table, mask in zip(scaled, right, strict=True):
            strengths = table @ weights
            odds = np.exp(strengths - strengths.max())
            hit = odds * mask
            slope = slope - table.T @ (hit / hit.sum() - odds / odds.sum())
        slope = slope / len(tables)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        ahead = first / (1 - 0.9**step)
        weights = weights - RATE * ahead / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    return weights / spread


def bias_of(strengths: Matrix, right: Mask) -> float:
    """What to add to the strengths so that as many rows are expected to be right as are."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        expected = (1 / (1 + np.exp(-np.clip(strengths + middle, -50, 50)))).sum()
        low, high = (middle, high) if expected < right.sum() else (low, middle)
    return (low + high) / 2


def logistic(rows: Matrix, outcomes: Mask, counts: Matrix, *, pull: float) -> tuple[Matrix, float]:
    """Weights and bias of a ridge logistic regression by Newton's method.

    `counts`: weight of each row; `pull`: ridge on weights in units of a column's spread."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    scaled = np.column_stack([(rows - mean) / spread, np.ones(len(rows))])
    ridge = np.diag([pull] * rows.shape[1] + [1e-9])
    weights = np.zeros(scaled.shape[1])
    for _ in range(NEWTON):
        expected = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (counts * (expected - outcomes)) + ridge @ weights
        curve = (scaled * (counts * expected * (1 - expected))[:, None]).T @ scaled + ridge
        weights = weights - np.linalg.solve(curve, slope)
    weights, bias = weights[:-1] / spread, float(weights[-1])
    return weights, bias - float(mean @ weights)


def interval(values: Matrix, *, resamples: int = 2000) -> tuple[float, float]:
    """95% of the means of resampled questions: percentile bootstrap, seeded."""
    chance = np.random.default_rng(0)
    means = values[chance.integers(0, len(values), (resamples, len(values)))].mean(1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def cell(values: Sequence[float]) -> str:
    """`mean (95% interval)`."""
    if not values:
        return "–"
    low, high = interval(np.array(values))
    return f"{np.mean(values):.2f} ({low:.2f}–{high:.2f})"
