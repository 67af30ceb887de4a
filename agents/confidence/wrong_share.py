"""The confidence from which on, golden questions show, few enough answers are wrong.

Learn then Test: each threshold is a hypothesis, "of the answers from here on more than `most` are
wrong", tested from the strictest on and in a fixed order, so that all tests together are wrong at
most once in ten evaluations, however many thresholds there are.
Source: Angelopoulos, Bates, Candès, Jordan & Lei, Learn then Test, arXiv 2110.01052, 2021."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

RISK = 0.1
"""Share of evaluations whose threshold may let more wrong answers through than was asked for."""
NEVER = 1.01
"""A threshold that no confidence reaches."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A golden question that was answered from documents."""

    confidence: float
    acceptable: bool


def fewest_answers(most: float) -> int:
    """Answers, all right, that it takes to show that at most this share is wrong: 45 for 0.05."""
    return math.ceil(math.log(RISK) / math.log1p(-most))


def threshold_for(most: float, judged: Sequence[Judged]) -> float | None:
    """The lowest confidence that passes, 0–1; None when the golden questions show of none that at
    most this share is wrong.

    `most`: share of wrong answers among those at or above the threshold, 0–1. The strictest
    threshold tested is the first that so few answers could bear out, which the confidences alone
    decide; the first failure ends the test."""
    ranked = sorted(judged, key=lambda one: -one.confidence)
    passed, wrong = None, 0
    for count, one in enumerate(ranked, start=1):
        wrong += not one.acceptable
        tied = count < len(ranked) and ranked[count].confidence == one.confidence
        if tied or count < fewest_answers(most):
            continue
        if chance_of_so_few(wrong, count, most) > RISK:
            break
        passed = one.confidence
    return passed


def chance_of_so_few(wrong: int, answers: int, share: float) -> float:
    """P(at most `wrong` of `answers`) when this share is wrong: the binomial tail, 0–1."""
    return math.fsum(
        math.comb(answers, each) * share**each * (1 - share) ** (answers - each)
        for each in range(wrong + 1)
    )
