"""What a share that a judge counted probably is, given how often it errs."""

from __future__ import annotations

import numpy as np

from jobs.evaluation.judge_check.judge_agreement import Confusion, Figure

FEWEST = 5
"""Answers on either side that a rate has to rest on."""
_DRAWS = 20_000
_LEAST = 0.1
"""By which the two rates together have to exceed chance."""


def corrected(hits: int, count: int, judged: Confusion) -> Figure | str:
    """`hits` of `count` answers are what the judge says; or why nothing can be made of it.

    The interval takes in the chance of both samples: that of the run and that of the people's
    scores (Jeffreys' priors). Source: Rogan & Gladen, American Journal of Epidemiology 1978."""
    positive = judged.true_positive + judged.false_negative
    negative = judged.true_negative + judged.false_positive
    if not count:
        return "nothing was judged"
    if min(positive, negative) < FEWEST:
        few = "yes" if positive < negative else "no"
        return (
            f"people said {few} to only {min(positive, negative)} of the answers that they scored; "
            f"it takes {FEWEST}"
        )
    sensitivity, specificity = judged.true_positive / positive, judged.true_negative / negative
    if sensitivity + specificity - 1 < _LEAST:
        return "the judge hardly tells the two apart"
    chance = np.random.default_rng(0)
    drawn = _rate(
        chance.beta(hits + 0.5, count - hits + 0.5, _DRAWS),
        chance.beta(judged.true_positive + 0.5, judged.false_negative + 0.5, _DRAWS),
        chance.beta(judged.true_negative + 0.5, judged.false_positive + 0.5, _DRAWS),
    )
    low, high = np.quantile(drawn, [0.025, 0.975])
    value = _rate(np.asarray(hits / count), np.asarray(sensitivity), np.asarray(specificity))
    return Figure(value=float(value), low=float(low), high=float(high), count=count)


def _rate(seen: np.ndarray, sensitivity: np.ndarray, specificity: np.ndarray) -> np.ndarray:
    tells = np.maximum(sensitivity + specificity - 1, 1e-3)
    return np.asarray(np.clip((seen + specificity - 1) / tells, 0.0, 1.0))
