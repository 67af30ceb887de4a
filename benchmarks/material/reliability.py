"""How far a confidence is borne out: bins of as many answers each, and what they come to."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from agents.confidence import HIGH, MEDIUM
from benchmarks.material.fitting import Matrix, interval

BINS = 5


def calibration_error(sure: Matrix, right: Matrix) -> float:
    """Expected calibration error over bins of as many answers each, 0–1."""
    bins = np.array_split(np.argsort(sure, kind="stable"), BINS)
    gaps = [abs(sure[each].mean() - right[each].mean()) * len(each) for each in bins if len(each)]
    return float(sum(gaps) / len(sure))


def error_cell(sure: Matrix, right: Matrix) -> str:
    """With the 95% interval of a bootstrap, which is biased upwards: noise adds to a gap."""
    if not len(sure):
        return "–"
    chance = np.random.default_rng(0)
    drawn = (chance.integers(0, len(sure), len(sure)) for _ in range(1000))
    errors = [calibration_error(sure[each], right[each]) for each in drawn]
    low, high = np.quantile(errors, [0.025, 0.975])
    return f"{calibration_error(sure, right):.2f} ({low:.2f}–{high:.2f})"


def share_cell(values: Matrix) -> str:
    """Mean with its 95% interval, and of how many."""
    if not len(values):
        return "– of 0"
    low, high = interval(values)
    return f"{values.mean():.2f} ({low:.2f}–{high:.2f}) of {len(values)}"


def reliability_table(title: str, sure: Matrix, right: Matrix) -> Table:
    """What was said against what was right: by bin, by word, and over all."""
    table = Table(title=title, title_justify="left")
    for name in ("confidence", "mean", "right"):
        table.add_column(name, justify="right")
    for each in np.array_split(np.argsort(sure, kind="stable"), BINS):
        if len(each):
            span = f"{sure[each].min():.2f}–{sure[each].max():.2f}"
            table.add_row(span, f"{sure[each].mean():.2f}", share_cell(right[each]))
    for word, low, high in (("low", 0, MEDIUM), ("medium", MEDIUM, HIGH), ("high", HIGH, 2)):
        within = (sure >= low) & (sure < high)
        mean = f"{sure[within].mean():.2f}" if within.any() else "–"
        table.add_row(word, mean, share_cell(right[within]))
    table.add_row("calibration error", "", error_cell(sure, right))
    return table
