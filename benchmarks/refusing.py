"""What the documents don't speak of: how well it is told, on corpora that the fit did not see.

    python -m benchmarks.refusing [demo] [public]

Golden questions without an answer are few, and shorter than others: a fit on them learns to refuse
what is short. So most of what is to be refused is made, out of questions that people wrote:

- *left*: a question of the corpus without the documents that hold its evidence;
- *near*, *far*: one of another corpus of the same company, or of other ones.

Printed for each kind: AUROC against the corpus' own answerable questions, and the share refused
where one in twenty of the answerable of the *other* corpora is. Then the weights to ship."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.answer import Question
from agents.extractive import relevance
from agents.extractive.relevance import score_units
from agents.plan import Plan
from benchmarks.material.asked_questions import searched, short_questions
from benchmarks.material.fitting import (
    PULL_OF_CONFIDENCE,
    SHORT,
    WRONGLY,
    Matrix,
    cell,
    logistic,
)
from benchmarks.material.golden_domains import Measured, measured_domains
from index.permissions.rules import ReaderView
from index.search import Hit

KINDS = ("own", "unanswerable", "left", "near", "far", "short")
NEAR, FAR = 12, 6
"""Questions of each other corpus."""


@dataclass(frozen=True)
class Case:
    """One question asked of one corpus."""

    corpus: str
    set: str
    kind: str
    parts: Matrix
    """(relevance.REFUSAL_WEIGHTS,)"""
    found: bool = True
    """Whether one of the three best statements is of a document that holds the evidence."""


@dataclass(frozen=True)
class Only:
    """Permissions that open these documents alone."""

    documents: frozenset[str]
    epoch: int = 0

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        return self.documents

    def check(self, documents: object) -> None:
        """They never change."""


def cases(domains: Sequence[Measured]) -> list[Case]:
    chance = random.Random(0)
    return [case for one in domains for case in _of_corpus(one, domains, chance)]


def _of_corpus(one: Measured, domains: Sequence[Measured], chance: random.Random) -> Iterator[Case]:
    for golden in one.questions:
        if golden.kind == "unanswerable":
            yield _case(one, "unanswerable", golden.as_question)
        if golden.answerable and golden.documents:
            yield _case(one, "own", golden.as_question, golden.documents)
            yield _case(_without(one, golden.documents), "left", golden.as_question)
    for other in domains:
        if other is one:
            continue
        kind, most = ("near", NEAR) if other.set == one.set else ("far", FAR)
        # A follow-up brings the words of its own documents along.
        whole = [each for each in other.questions if each.answerable and not each.history]
        for golden in chance.sample(whole, min(most, len(whole))):
            yield _case(one, kind, golden.as_question)
    for text in short_questions(one, chance):
        yield _case(one, "short", Question(text=text))


def _without(one: Measured, documents: frozenset[str]) -> Measured:
    others = Only(frozenset(one.snapshot.documents) - documents)
    return replace(one, snapshot=ReaderView(one.snapshot, others, frozenset()))


def _case(
    one: Measured, kind: str, question: Question, documents: frozenset[str] | None = None
) -> Case:
    plan, hits = searched(one, question)
    parts, cited = _measured(one, plan, hits)
    found = documents is None or not documents.isdisjoint(cited)
    row = np.array([parts.get(name, 0.0) for name in relevance.REFUSAL_WEIGHTS])
    return Case(one.domain.domain, one.set, kind, row, found)


def _measured(one: Measured, plan: Plan, hits: Sequence[Hit]) -> tuple[dict[str, float], list[str]]:
    scored = score_units(plan, one.snapshot, hits, one.domain.glossary)
    cited = [unit.chunk.document_id for unit in scored[:3]]
    return relevance.confidence_parts(plan, one.snapshot, scored), cited


@dataclass(frozen=True)
class Fit:
    """A probability of evidence, and below which one to refuse."""

    weights: Matrix
    bias: float
    enough: float

    def evidence(self, case: Case) -> float:
        return float(1 / (1 + np.exp(-(case.parts @ self.weights + self.bias))))


def fitted(training: Sequence[Case]) -> Fit:
    """The few golden questions without an answer are not fitted on: they only measure."""
    used = [case for case in training if case.kind != "unanswerable"]
    rows = np.array([case.parts for case in used])
    right = np.array([case.kind in ("own", "short") and case.found for case in used])
    counts = np.array([SHORT if case.kind == "short" else 1.0 for case in used])
    weights, bias = logistic(rows, right, counts, pull=PULL_OF_CONFIDENCE)
    fit = Fit(weights, bias, 0.0)
    own = [fit.evidence(case) for case in training if case.kind == "own"]
    return replace(fit, enough=float(np.quantile(own, WRONGLY)))


def auroc(own: Sequence[float], others: Sequence[float]) -> float:
    """Probability that a question with an answer is surer than one without."""
    ahead = np.subtract.outer(np.array(own), np.array(others))
    return float((ahead > 0).mean() + (ahead == 0).mean() / 2)


def main() -> None:
    console = Console(width=120)
    with measured_domains(sys.argv[1:] or ["demo", "public"]) as domains:
        asked = cases(domains)
    sure: list[tuple[Case, float, float]] = []
    for corpus in dict.fromkeys(case.corpus for case in asked):
        fit = fitted([case for case in asked if case.corpus != corpus])
        held_out = [case for case in asked if case.corpus == corpus]
        sure += [
            (case, fit.evidence(case), float(fit.evidence(case) < fit.enough)) for case in held_out
        ]
    table = Table("", "questions", "AUROC", *dict.fromkeys(case.set for case in asked), "all")
    own = [value for case, value, _ in sure if case.kind == "own"]
    for kind in KINDS:
        of_kind = [one for one in sure if one[0].kind == kind]
        sets = dict.fromkeys(case.set for case in asked)
        refused = [[no for case, _, no in of_kind if case.set == name] for name in sets]
        apart = "" if kind == "own" else f"{auroc(own, [value for _, value, _ in of_kind]):.2f}"
        every = [no for _, _, no in of_kind]
        table.add_row(kind, str(len(of_kind)), apart, *map(cell, refused), cell(every))
    console.print("refused, each corpus left out of the fit")
    console.print(table)
    shipped = fitted(asked)
    for name, value in zip(relevance.REFUSAL_WEIGHTS, shipped.weights, strict=True):
        console.print(f'    "{name}": {value:.1f},', highlight=False)
    console.print(f"BIAS = {shipped.bias:.1f}, ENOUGH = {shipped.enough:.2f}")


if __name__ == "__main__":
    main()
