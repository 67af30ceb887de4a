"""Confidence of answers by a model, fitted to judged answers, each domain left out of the fit.

    python -m benchmarks.calibration judged.jsonl [--pull 2]

Each line: `domain`, `path`, `calls`, `confidence_parts` and `score`, a judge's 0–5; from 4 on an
answer is accepted. Reported are what is in use, and what is fitted on the other domains. Then the
fit on all domains is printed, to be copied to `agents/confidence.py`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from agents.confidence import Calibration, calibration_of
from agents.judging.judge import ACCEPTABLE
from benchmarks.material.fitting import Matrix, logistic
from benchmarks.material.reliability import reliability_table

ANSWERED = ("company_specific_rag_success", "company_specific_rag_failure")
FEWEST = 20
"""Answers of each kind, and outcomes of the rarer sort a third of that, for a fit."""


@dataclass(frozen=True)
class Judged:
    """One answer of a model, and what came of it."""

    domain: str
    refused: bool
    parts: Mapping[str, float]
    right: bool


def read_judged(path: Path) -> list[Judged]:
    """Answers by a model from documents, and its refusals; others have no confidence to fit."""
    lines = (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())
    return [_judged(line) for line in lines if _by_a_model(line)]


def _by_a_model(line: Mapping[str, Any]) -> bool:
    quoted = "share said" in line["confidence_parts"]
    known = line["path"] in (*ANSWERED, "no_answer_found")
    return bool(line["calls"]) and known and not quoted and line.get("score") is not None


def _judged(line: Mapping[str, Any]) -> Judged:
    return Judged(
        domain=line["domain"],
        refused=line["path"] == "no_answer_found",
        parts=line["confidence_parts"],
        right=line["score"] >= ACCEPTABLE,
    )


def fit(like: Calibration, judged: Sequence[Judged], *, pull: float) -> Calibration:
    """The same signals, with weights from these; unchanged where there are too few."""
    right = np.array([one.right for one in judged], dtype=bool)
    if len(right) < FEWEST or min(right.sum(), (~right).sum()) < FEWEST / 3:
        return like
    rows = np.array([[one.parts.get(name, 0.0) for name in like.weights] for one in judged])
    weights, bias = logistic(rows, right, np.ones(len(rows)), pull=pull)
    return Calibration(bias, dict(zip(like.weights, weights.tolist(), strict=True)))


def left_out(like: Calibration, judged: Sequence[Judged], *, pull: float) -> Matrix:
    """(answers,) probabilities by what is fitted on the other domains."""
    fits = {
        domain: fit(like, [one for one in judged if one.domain != domain], pull=pull)
        for domain in {one.domain for one in judged}
    }
    return np.array([fits[one.domain].probability(one.parts) for one in judged])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("judged", type=Path)
    parser.add_argument("--pull", type=float, default=2.0, help="ridge towards no effect")
    arguments = parser.parse_args()
    console = Console(width=120)
    everything = read_judged(arguments.judged)
    for refused, name in ((False, "answered"), (True, "refused")):
        judged = [one for one in everything if one.refused == refused]
        if not judged:
            console.print(f"{name}: none")
            continue
        in_use = calibration_of(refused=refused, by_model=True)
        right = np.array([one.right for one in judged], dtype=float)
        said = np.array([in_use.probability(one.parts) for one in judged])
        console.print(reliability_table(f"{name}, as in use", said, right))
        fitted = left_out(in_use, judged, pull=arguments.pull)
        console.print(reliability_table(f"{name}, each domain left out", fitted, right))
        console.print(f"{name}: {fit(in_use, judged, pull=arguments.pull)}", highlight=False)


if __name__ == "__main__":
    main()
