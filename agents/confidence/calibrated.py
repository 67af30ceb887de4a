"""Confidence: the probability that an expert would accept this answer, 0–1.

For a refusal: that the documents really don't say; of passages found, that the answer stands in
them. Four logistic functions of few named signals,
each 0–1, one for each kind of answer. docs/decisions/086-what-confidence-means.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Calibration:
    """A logistic function of named signals."""

    bias: float
    weights: Mapping[str, float]

    def probability(self, parts: Mapping[str, float]) -> float:
        """0–1; a signal that is missing counts as 0."""
        total = self.bias + sum(w * parts.get(name, 0.0) for name, w in self.weights.items())
        return 1 / (1 + math.exp(-total))


# Fitted by `benchmarks/left_out.py`: that all literal facts are said and a right document cited,
# and of the last, that the question is one that the documents don't answer.
FOUND = Calibration(-2.7, {"share shown": 2.6, "searches agree": 1.4})
REFUSED_WITHOUT_A_MODEL = Calibration(-1.2, {"evidence": -2.4})

# Set by hand: of 150 judged answers five were not accepted, too few for a fit by
# `benchmarks/calibration.py`. Grounded and covered 0.95, half of it grounded 0.65; NOTHING 0.75,
# and after a second search 0.9; a question back 0.9.
WRITTEN = Calibration(-2.6, {"groundedness": 4.5, "sufficiency": 1.1, "looked again": 0.0})
REFUSED_BY_A_MODEL = Calibration(1.1, {"looked again": 1.1})
ASKED_BACK_BY_A_MODEL = 0.9
DIRECT = 0.9
"""Of an answer without a model: see `agents/extractive/direct_answer.py`."""


def calibration_of(*, refused: bool, by_model: bool) -> Calibration:
    if refused:
        return REFUSED_BY_A_MODEL if by_model else REFUSED_WITHOUT_A_MODEL
    return WRITTEN if by_model else FOUND


def confidence(
    parts: Mapping[str, float], *, refused: bool = False, by_model: bool = False
) -> float:
    """Probability that an expert would accept the answer; of a refusal, that the documents don't
    say.

    `parts`: `confidence_parts`, with `share shown` of passages found, with `groundedness` and
    `looked again` (1 after another round of searches) of what a model wrote."""
    return calibration_of(refused=refused, by_model=by_model).probability(parts)
