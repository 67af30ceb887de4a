"""How far a judge agrees with people who scored the same answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

HIGHEST = 5
"""Scores go from 0 to this."""


def weighted_kappa(first: Sequence[int], second: Sequence[int]) -> float:
    """Agreement of two judges on scores 0 to 5 beyond chance, squared weights; 1 when both give
    one and the same score to all. Source: Cohen, Psychological Bulletin 1968."""
    seen = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for one, other in zip(first, second, strict=True):
        seen[one, other] += 1
    seen /= max(1.0, seen.sum())
    places = np.arange(HIGHEST + 1)
    weights = (places[:, None] - places[None, :]) ** 2 / HIGHEST**2
    by_chance = float((weights * np.outer(seen.sum(1), seen.sum(0))).sum())
    return 1.0 - float((weights * seen).sum()) / by_chance if by_chance else 1.0
