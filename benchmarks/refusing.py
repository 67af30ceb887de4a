"""What the documents don't speak of: how well it is told, on corpora that the fit did not see.

    python -m benchmarks.refusing [demo] [public]

Golden questions without an answer are few, and shorter than others: a fit on them learns to refuse
what is short. So most of what is to be refused is made, out of questions that people wrote:

- *section*, *left*: a question of the corpus without the sections, or the whole documents, that
  hold its evidence;
- *near*, *far*: one of another corpus of the same company, or of other ones.

Printed for each kind: AUROC against the corpus' own answerable questions, the shares refused where
5, 10 and 15% of the answerable of the *other* corpora are. Then the weights to ship."""

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
    WRONGLY,
    Matrix,
    cell,
    logistic,
)
from benchmarks.material.golden_domains import Measured, measured_domains
from index.permissions.rules import ReaderView
from index.search import Hit, SearchQuery, Snapshot
from jobs.golden.check import plain
from jobs.golden.questions import GoldenQuestion

COUNTS = {
    "own": 1.0, "unanswerable": 0.0, "section": 0.6, "left": 0.6, "near": 0.8, "far": 1.0,
    "short": 0.3,
}  # fmt: skip
"""Kind → what one of its questions counts in the fit. The few golden questions without an answer
only measure."""
CURVE = (WRONGLY, 0.10, 0.15)
"""Shares of the answerable that are refused."""
Section = tuple[str, str, tuple[str, ...]]
"""(document id, tab, heading path)."""
HIDDEN = 60
"""Further hits to look through where sections are hidden: most have fewer passages."""
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


class WithoutSections(ReaderView):
    """A generation without these sections."""

    def __init__(self, whole: Snapshot, sections: frozenset[Section]) -> None:
        super().__init__(whole, Only(frozenset(whole.documents)), frozenset())
        self._hidden = sections

    def search(self, query: SearchQuery) -> list[Hit]:
        hits = super().search(replace(query, limit=query.limit + HIDDEN))
        return [hit for hit in hits if hit.chunk.section not in self._hidden][: query.limit]


def evidence_sections(one: Measured, golden: GoldenQuestion) -> frozenset[Section]:
    """The sections with a quote of the evidence; of a quote across passages, those of its name."""
    sections: set[Section] = set()
    quotes = {plain(each.quote) for each in golden.evidence}
    headings = {each.heading for each in golden.evidence}
    for document in golden.documents:
        chunks = one.snapshot.chunks(document)
        holding = [chunk for chunk in chunks if any(q in plain(chunk.index_text) for q in quotes)]
        named = [chunk for chunk in chunks if headings & {*chunk.heading_path[-1:]}]
        sections |= {chunk.section for chunk in holding or named}
    return frozenset(sections)


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
            sections = WithoutSections(one.snapshot, evidence_sections(one, golden))
            yield _case(replace(one, snapshot=sections), "section", golden.as_question)
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
    own: tuple[float, ...] = ()
    """Of the answerable questions that it was fitted on."""

    def evidence(self, case: Case) -> float:
        return float(1 / (1 + np.exp(-(case.parts @ self.weights + self.bias))))

    def below(self, share: float) -> float:
        """The probability below which this share of the answerable is."""
        return float(np.quantile(self.own, share))

    @property
    def enough(self) -> float:
        return self.below(WRONGLY)


def fitted(training: Sequence[Case]) -> Fit:
    used = [case for case in training if COUNTS[case.kind]]
    rows = np.array([case.parts for case in used])
    right = np.array([case.kind in ("own", "short") and case.found for case in used])
    counts = np.array([COUNTS[case.kind] for case in used])
    fit = Fit(*logistic(rows, right, counts, pull=PULL_OF_CONFIDENCE))
    own = tuple(fit.evidence(case) for case in training if case.kind == "own")
    return replace(fit, own=own)


def auroc(own: Sequence[float], others: Sequence[float]) -> float:
    """Probability that a question with an answer is surer than one without."""
    ahead = np.subtract.outer(np.array(own), np.array(others))
    return float((ahead > 0).mean() + (ahead == 0).mean() / 2)


def main() -> None:
    console = Console(width=140)
    with measured_domains(sys.argv[1:] or ["demo", "public"]) as domains:
        asked = cases(domains)
    console.print("each corpus left out of the fit")
    console.print(table_of(asked))
    shipped = fitted(asked)
    for name, value in zip(relevance.REFUSAL_WEIGHTS, shipped.weights, strict=True):
        console.print(f'    "{name}": {value:.1f},', highlight=False)
    console.print(f"BIAS = {shipped.bias:.1f}", highlight=False)
    console.print(f"ENOUGH = {shipped.enough:.2f}")


def table_of(asked: Sequence[Case]) -> Table:
    sure: list[tuple[Case, float, tuple[bool, ...]]] = []
    for corpus in dict.fromkeys(case.corpus for case in asked):
        fit = fitted([case for case in asked if case.corpus != corpus])
        thresholds = [fit.below(share) for share in CURVE]
        for case in (case for case in asked if case.corpus == corpus):
            value = fit.evidence(case)
            sure.append((case, value, tuple(value < each for each in thresholds)))
    table = Table("", "questions", "AUROC", *(f"at {share:.2f}" for share in CURVE))
    own = [value for case, value, _ in sure if case.kind == "own"]
    for kind in COUNTS:
        of_kind = [one for one in sure if one[0].kind == kind]
        apart = "" if kind == "own" else f"{auroc(own, [value for _, value, _ in of_kind]):.2f}"
        below = np.array([refused for _, _, refused in of_kind], dtype=float)
        table.add_row(
            kind, str(len(of_kind)), apart, *(cell(column.tolist()) for column in below.T)
        )
    return table


if __name__ == "__main__":
    main()
