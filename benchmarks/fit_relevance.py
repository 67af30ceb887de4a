"""Fits the weights of `agents/extractive/relevance.py`, and says how they carry over.

    python benchmarks/fit_relevance.py [demo] [public]

A statement is right when it holds a quote of the question's evidence. The weights maximise the
probability (softmax over all statements found) of the right ones, held near the present weights.
Each domain is reported with weights that never saw it; then the weights of all are printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402  # the path comes first
from golden_domains import Measured, measured_domains  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from agents.answer import Question, Turn  # noqa: E402
from agents.extractive.relevance import FEATURES, WEIGHTS, aspects_of, features  # noqa: E402
from agents.query_optimizer import PlanRequest, plan_without_model  # noqa: E402
from agents.retrieval import RetrievalRequest, retrieve  # noqa: E402
from agents.trace import SourceChoice  # noqa: E402
from jobs.golden import GoldenQuestion  # noqa: E402
from jobs.scoring import plain  # noqa: E402

NEAR_PRESENT = 0.5
"""Strength of the pull towards the present weights."""
STEPS, RATE = 400, 0.05


@dataclass(frozen=True)
class Sample:
    """One question: the features of every statement found, and which ones are right."""

    domain: str
    features: np.ndarray[Any, np.dtype[np.float64]]
    right: np.ndarray[Any, np.dtype[np.bool_]]


def samples(measured: Measured) -> list[Sample]:
    found = (sample(measured, one) for one in measured.questions if one.answerable)
    return [one for one in found if one.right.any()]


def sample(measured: Measured, question: GoldenQuestion) -> Sample:
    history = tuple(Turn(role=turn.role, content=turn.content) for turn in question.history)
    asked = Question(text=question.question, history=history)
    snapshot = measured.snapshot
    plan = plan_without_model(measured.domain)(PlanRequest(question=asked, snapshot=snapshot))
    hits = retrieve(RetrievalRequest(plan=plan, sources=SourceChoice(), snapshot=snapshot))
    whole = aspects_of(plan, snapshot)[0]
    quotes = [(one.document, plain(one.quote)) for one in question.evidence]
    right = [
        any(
            document == hit.chunk.document_id and quote in plain(f"{unit.text} | {unit.index_text}")
            for document, quote in quotes
        )
        for hit in hits
        for unit in hit.chunk.units
    ]
    return Sample(
        measured.domain.domain, features(whole, plan, snapshot, hits), np.array(right, dtype=bool)
    )


def fitted(training: Sequence[Sample]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Adam from the present weights; deterministic."""
    weights = WEIGHTS.copy()
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = 2 * NEAR_PRESENT * (weights - WEIGHTS)
        for one in training:
            odds = np.exp(one.features @ weights - (one.features @ weights).max())
            share, right = odds / odds.sum(), odds * one.right
            slope -= one.features.T @ (right / right.sum() - share)
        slope /= len(training)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        ahead = first / (1 - 0.9**step)
        weights -= RATE * ahead / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    return weights


def quality(
    weights: np.ndarray[Any, np.dtype[np.float64]], held_out: Sequence[Sample]
) -> tuple[float, float]:
    """How often a right statement is the first, and among the first four."""
    ranks = [int(np.argmax(one.right[np.argsort(-(one.features @ weights))])) for one in held_out]
    return sum(rank == 0 for rank in ranks) / len(ranks), sum(rank < 4 for rank in ranks) / len(
        ranks
    )


def main() -> None:
    console = Console()
    with measured_domains(sys.argv[1:] or ["demo", "public"]) as domains:
        found = [one for measured in domains for one in samples(measured)]
        table = Table(title="Right statement first / among four", title_justify="left")
        for label in ("domain", "present weights", "fitted without it"):
            table.add_column(label, justify="left" if label == "domain" else "right")
        for name in dict.fromkeys(one.domain for one in found):
            held_out = [one for one in found if one.domain == name]
            others = fitted([one for one in found if one.domain != name])
            cells = ("{:.2f} / {:.2f}".format(*quality(w, held_out)) for w in (WEIGHTS, others))
            table.add_row(name, *cells)
        console.print(table)
        for feature, weight in zip(FEATURES, fitted(found), strict=True):
            console.print(f'    "{feature}": {weight:.2f},', highlight=False)


if __name__ == "__main__":
    main()
