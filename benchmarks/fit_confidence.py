"""Fits the confidence of `agents/extractive/refusal.py`, and says how it carries over.

    python benchmarks/fit_confidence.py [demo] [public]

Logistic regression on answerable and unanswerable questions. So that no question is refused for
being short, there are short ones too: headings and cells of the domain, which it can answer, and
of the other set's domains, which it can't. Each domain is reported with weights that never saw
it; then the weights of all are printed."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402  # the path comes first
from golden_domains import Measured, measured_domains  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from agents.answer import Question, Turn  # noqa: E402
from agents.extractive.refusal import WEIGHTS, confidence_parts  # noqa: E402
from agents.extractive.relevance import score_units  # noqa: E402
from agents.query_optimizer import PlanRequest, plan_without_model  # noqa: E402
from agents.retrieval import RetrievalRequest, retrieve  # noqa: E402
from agents.trace import SourceChoice  # noqa: E402
from enrichment.language.words import naming_words  # noqa: E402

WRONGLY = 0.04
"""Share of the answerable golden questions that may be refused."""
PULL, WEIGHT_OF_UNANSWERABLE, WEIGHT_OF_SHORT = 2.0, 3.0, 0.6
SHORT = 50
"""Headings, and cells, of each domain."""
STEPS, RATE = 3000, 0.3
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Samples:
    """Questions as rows of what speaks for an answer."""

    parts: Matrix
    answerable: Mask
    golden: Mask
    domains: NDArray[np.str_]

    def weights(self) -> Matrix:
        golden = np.where(self.answerable, 1.0, WEIGHT_OF_UNANSWERABLE)
        return np.where(self.golden, golden, WEIGHT_OF_SHORT)


def parts_of(measured: Measured, question: Question) -> list[float]:
    snapshot = measured.snapshot
    plan = plan_without_model(measured.domain)(PlanRequest(question=question, snapshot=snapshot))
    hits = retrieve(RetrievalRequest(plan=plan, sources=SourceChoice(), snapshot=snapshot))
    parts = confidence_parts(plan, snapshot, score_units(plan, snapshot, hits))
    return [parts.get(name, 0.0) for name in WEIGHTS]


def short_questions(measured: Measured, chance: random.Random) -> list[str]:
    headings: list[str] = []
    cells: list[str] = []
    for document in measured.snapshot.documents:
        for chunk in measured.snapshot.chunks(document):
            headings += [one.lower() for one in chunk.heading_path[-1:]]
            table = chunk.table
            if table and len(table.header) > table.label_columns:
                column = chance.randrange(table.label_columns, len(table.header))
                header = table.header[column].split(" › ")[-1].lower()
                cells.append(f"{header} of {chance.choice(table.rows)[0]}?")
    found: list[str] = []
    for asked in (headings, cells):
        telling = [one for one in dict.fromkeys(asked) if 2 <= len(naming_words(one)) <= 6]
        found += chance.sample(telling, min(SHORT, len(telling)))
    return found


def samples(domains: Sequence[Measured]) -> Samples:
    chance = random.Random(0)
    short = {one.domain.domain: short_questions(one, chance) for one in domains}
    rows: list[tuple[list[float], bool, bool, str]] = []
    for one in domains:
        name = one.domain.domain
        for golden in one.questions:
            if golden.kind != "ambiguous":
                turns = tuple(Turn(role=t.role, content=t.content) for t in golden.history)
                asked = Question(text=golden.question, history=turns)
                rows.append((parts_of(one, asked), golden.kind != "unanswerable", True, name))
        own = [(text, True) for text in short[name]]
        strange = [
            (text, False)
            for other in domains
            if other.set != one.set
            for text in chance.sample(short[other.domain.domain], SHORT // 2)
        ]
        for text, answerable in own + strange:
            rows.append((parts_of(one, Question(text=text)), answerable, False, name))
    parts, answerable_rows, golden_rows, names = zip(*rows, strict=True)
    return Samples(
        np.array(parts), np.array(answerable_rows), np.array(golden_rows), np.array(names)
    )


def fitted(found: Samples, use: Mask) -> tuple[Matrix, float]:
    """Weights, and the bias that refuses `WRONGLY` of the answerable golden questions."""
    parts, answerable, counts = found.parts[use], found.answerable[use], found.weights()[use]
    mean, deviation = parts.mean(0), parts.std(0) + 1e-6
    scaled = (parts - mean) / deviation
    weights, bias = np.zeros(parts.shape[1]), 0.0
    for _ in range(STEPS):
        excess = counts * (1 / (1 + np.exp(-(scaled @ weights + bias))) - answerable)
        weights -= RATE * (scaled.T @ excess + PULL * weights) / counts.sum()
        bias -= RATE * excess.sum() / counts.sum()
    weights = weights / deviation
    asked = (parts @ weights)[answerable & found.golden[use]]
    return weights, -float(np.quantile(asked, WRONGLY))


def main() -> None:
    console = Console(width=100)
    with measured_domains(sys.argv[1:] or ["demo", "public"]) as domains:
        found = samples(domains)
    refused = np.zeros(len(found.domains), dtype=bool)
    for name in dict.fromkeys(found.domains.tolist()):
        held_out = found.domains == name
        weights, bias = fitted(found, ~held_out)
        refused[held_out] = found.parts[held_out] @ weights + bias < 0
    table = Table(title="Refused, with weights that never saw the domain", title_justify="left")
    columns = {
        "unanswerable": found.golden & ~found.answerable,
        "answerable": found.golden & found.answerable,
        "short, of other domains": ~found.golden & ~found.answerable,
        "short, of its own": ~found.golden & found.answerable,
    }
    table.add_column("domain")
    for label in columns:
        table.add_column(label, justify="right")
    for name in (*dict.fromkeys(found.domains.tolist()), "all"):
        of = (found.domains == name) | (name == "all")
        table.add_row(name, *(f"{refused[of & which].mean():.2f}" for which in columns.values()))
    console.print(table)
    weights, bias = fitted(found, np.ones(len(found.domains), dtype=bool))
    for part, weight in zip(WEIGHTS, weights, strict=True):
        console.print(f'    "{part}": {weight:.2f},', highlight=False)
    console.print(f"BIAS = {bias:.2f}", highlight=False)


if __name__ == "__main__":
    main()
