"""Fits the confidence of `agents/refusal.py` to golden questions, and says how it carries over.

    python benchmarks/fit_confidence.py [demo] [public]

Logistic regression on answerable and unanswerable questions. Each domain is reported with weights
that never saw it; then the weights of all are printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402  # the path comes first
from golden_domains import Measured, measured_domains  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from agents.answer import Question, Turn  # noqa: E402
from agents.query_optimizer import Asked, plan_without_model  # noqa: E402
from agents.refusal import WEIGHTS, confidence_parts  # noqa: E402
from agents.relevance import score_units  # noqa: E402
from agents.retrieval import Narrowed, retrieve  # noqa: E402
from agents.trace import SourceChoice  # noqa: E402
from jobs.golden import GoldenQuestion  # noqa: E402

WRONGLY = 0.07
"""Share of the answerable questions that may be refused."""
PULL, WEIGHT_OF_UNANSWERABLE = 2.0, 3.0
STEPS, RATE = 4000, 0.3
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Questions as rows of what speaks for an answer."""

    parts: Matrix
    answerable: NDArray[np.bool_]
    domains: NDArray[np.str_]


def parts_of(measured: Measured, question: GoldenQuestion) -> list[float]:
    history = tuple(Turn(role=turn.role, content=turn.content) for turn in question.history)
    asked = Question(text=question.question, history=history)
    snapshot = measured.snapshot
    plan = plan_without_model(measured.domain)(Asked(question=asked, snapshot=snapshot))
    hits = retrieve(Narrowed(plan=plan, sources=SourceChoice(), snapshot=snapshot))
    parts = confidence_parts(plan, snapshot, score_units(plan, snapshot, hits))
    return [parts[name] for name in WEIGHTS]


def samples(domains: Sequence[Measured]) -> Samples:
    asked = [(m, q) for m in domains for q in m.questions if q.kind != "ambiguous"]
    return Samples(
        np.array([parts_of(measured, question) for measured, question in asked]),
        np.array([question.kind != "unanswerable" for _, question in asked]),
        np.array([measured.domain.domain for measured, _ in asked]),
    )


def fitted(parts: Matrix, answerable: NDArray[np.bool_]) -> tuple[Matrix, float]:
    """Weights, and the bias that refuses `WRONGLY` of the answerable."""
    mean, deviation = parts.mean(0), parts.std(0) + 1e-6
    scaled, counts = (parts - mean) / deviation, np.where(answerable, 1.0, WEIGHT_OF_UNANSWERABLE)
    weights, bias = np.zeros(parts.shape[1]), 0.0
    for _ in range(STEPS):
        excess = counts * (1 / (1 + np.exp(-(scaled @ weights + bias))) - answerable)
        weights -= RATE * (scaled.T @ excess + PULL * weights) / len(parts)
        bias -= RATE * excess.mean()
    weights = weights / deviation
    return weights, -float(np.quantile((parts @ weights)[answerable], WRONGLY))


def main() -> None:
    console = Console()
    with measured_domains(sys.argv[1:] or ["demo", "public"]) as domains:
        found = samples(domains)
    table = Table(title="Refused, with weights that never saw the domain", title_justify="left")
    for label in ("domain", "unanswerable", "answerable"):
        table.add_column(label, justify="left" if label == "domain" else "right")
    every: dict[bool, list[Any]] = {True: [], False: []}
    for name in dict.fromkeys(found.domains.tolist()):
        held_out = found.domains == name
        weights, bias = fitted(found.parts[~held_out], found.answerable[~held_out])
        refused = found.parts[held_out] @ weights + bias < 0
        for kind in (True, False):
            every[kind].append(refused[found.answerable[held_out] == kind])
        table.add_row(name, *(f"{every[kind][-1].mean():.2f}" for kind in (False, True)))
    table.add_row("all", *(f"{np.concatenate(every[kind]).mean():.2f}" for kind in (False, True)))
    console.print(table)
    weights, bias = fitted(found.parts, found.answerable)
    for part, weight in zip(WEIGHTS, weights, strict=True):
        console.print(f'    "{part}": {weight:.2f},', highlight=False)
    console.print(f"BIAS = {bias:.2f}", highlight=False)


if __name__ == "__main__":
    main()
