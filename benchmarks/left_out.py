"""Answers without a model, on corpora that the fit did not see; and the weights to ship.

    python -m benchmarks.left_out [--as-shipped] [demo] [public]

Each corpus is answered with weights fitted on the questions of all others: the weights of
statements (`agents/extractive/relevance.py`) and those of confidence and refusal
(`agents/extractive/refusal.py`). Every figure has the 95% interval of a bootstrap over questions.
Then the weights fitted on all corpora are printed, to be copied. `--as-shipped`: the weights in
use instead, which have seen every corpus."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.answer import Answer
from agents.extractive import confidence_levels, refusal, relevance
from agents.extractive.ambiguity import readings_of
from agents.extractive.confidence_levels import HIGH
from agents.extractive.extractive_answer import extractive_answer
from agents.extractive.relevance import Aspect, Scored
from agents.plan import Plan
from agents.post_processor import build_context
from benchmarks.material.asked_questions import Asked, all_asked
from benchmarks.material.fitting import Matrix, bias_of, interval, listwise, logistic
from benchmarks.material.golden_domains import measured_domains
from index.search import Hit, Snapshot
from jobs.scoring import score

BUDGET = 12_000
WRONGLY = 0.05
"""Share of the answerable golden questions that may be refused."""
PULL_OF_STATEMENTS, PULL_OF_CONFIDENCE = 3.0, 2.0
SHORT = 0.3
"""What a question made of a heading or cell counts in the fit, against one of people."""
BINS = 5
"""Of confidence, with as many answers each, for its calibration error."""


@dataclass(frozen=True)
class Weights:
    """All that is fitted."""

    statement: Matrix
    statement_bias: float
    confidence: Matrix
    confidence_bias: float
    enough: float


def in_use() -> Weights:
    return Weights(
        relevance.WEIGHTS,
        relevance.BIAS,
        np.array(list(refusal.WEIGHTS.values())),
        refusal.BIAS,
        confidence_levels.ENOUGH,
    )


@contextmanager
def using(weights: Weights) -> Iterator[None]:
    """The product with these weights."""
    before = in_use()
    try:
        _use(weights)
        yield
    finally:
        _use(before)


def _use(weights: Weights) -> None:
    relevance.WEIGHTS, relevance.BIAS = weights.statement, weights.statement_bias
    refusal.WEIGHTS = dict(zip(refusal.WEIGHTS, weights.confidence.tolist(), strict=True))
    refusal.BIAS, confidence_levels.ENOUGH = weights.confidence_bias, weights.enough


class Measurements:
    """Features of every question, measured once: they do not depend on any weight."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Matrix] = {}
        self._measure = relevance.features

    def features(
        self, aspect: Aspect, plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]
    ) -> Matrix:
        # The same question may be planned in two ways, never for the same corpus.
        key = (snapshot.domain, plan.question, aspect.text)
        if key not in self._known:
            self._known[key] = self._measure(aspect, plan, snapshot, hits)
        return self._known[key]


def scored(asked: Asked) -> list[Scored]:
    return relevance.score_units(
        asked.plan, asked.measured.snapshot, asked.hits, asked.measured.domain.glossary
    )


def answered(asked: Asked) -> Answer:
    """What the graph answers without a model."""
    plan, snapshot = asked.plan, asked.measured.snapshot
    statements = scored(asked)
    context = build_context(asked.hits, statements, characters=BUDGET).chunks
    readings = readings_of(plan, snapshot, statements, asked.measured.domain.glossary)
    if readings:
        return Answer(text=readings.text, path="ambiguous_query", confidence=0.5, context=context)
    text, citations = extractive_answer(
        plan, snapshot, context, statements, asked.measured.domain.glossary
    )
    sure = refusal.confidence(refusal.confidence_parts(plan, snapshot, statements))
    if sure < confidence_levels.ENOUGH or not text:
        return Answer(text="", path="no_answer_found", confidence=sure, context=context)
    return Answer(
        text=text,
        path="company_specific_rag_success",
        confidence=sure,
        citations=citations,
        context=context,
    )


def fitted(training: Sequence[Asked], measurements: Measurements) -> Weights:
    """Statements first; then confidence, on what these make of each question."""
    shown = [one for one in training if one.golden and one.golden.answerable and one.right.any()]
    tables = [_table(one, measurements) for one in shown]
    statement = listwise(tables, [one.right for one in shown], pull=PULL_OF_STATEMENTS)
    strengths = np.concatenate([table @ statement for table in tables])
    bias = bias_of(strengths, np.concatenate([one.right for one in shown]))
    told = [one for one in training if one.golden is None or one.golden.kind != "ambiguous"]
    people = np.array([one.golden is not None for one in told])
    never_refusing = Weights(statement, bias, np.zeros(len(refusal.WEIGHTS)), 0.0, 0.0)
    with using(never_refusing):
        rows = np.array([_parts(one) for one in told])
        right = np.array([_is_right(one) for one in told])
    counts = np.where(people, 1.0, SHORT)
    confidence, shift = logistic(rows, right, counts, pull=PULL_OF_CONFIDENCE)
    sure = 1 / (1 + np.exp(-(rows @ confidence + shift)))
    answerable = people & np.array([one.answerable for one in told])
    enough = float(np.quantile(sure[answerable], WRONGLY))
    return Weights(statement, bias, confidence, shift, enough)


def _is_right(asked: Asked) -> bool:
    """Whether the answer cites a document that holds it; a heading is in its own corpus."""
    if asked.golden is None or not asked.answerable:
        return asked.answerable
    return score(asked.golden, answered(asked))["cited"] == 1


def _table(asked: Asked, measurements: Measurements) -> Matrix:
    snapshot = asked.measured.snapshot
    whole = relevance.aspects_of(asked.plan, snapshot, asked.measured.domain.glossary)[0]
    return measurements.features(whole, asked.plan, snapshot, asked.hits)


def _parts(asked: Asked) -> list[float]:
    parts = refusal.confidence_parts(asked.plan, asked.measured.snapshot, scored(asked))
    return [parts.get(name, 0.0) for name in refusal.WEIGHTS]


def figures(asked: Asked) -> dict[str, float]:
    """Figure → value for this question, with the weights in use."""
    answer = answered(asked)
    golden = asked.golden
    if golden is None:
        return {f"short refused, {'own' if asked.answerable else 'strange'}": _refused(answer)}
    found = score(golden, answer)
    if golden.kind == "ambiguous":
        return {"clarified": found["clarified"]}
    if golden.answerable and golden.evidence:
        found["mrr"] = _reciprocal_rank(asked)
    if answer.from_documents:
        found |= {"sure": answer.confidence, "right": found.get("cited", 0.0)}
        if answer.confidence >= HIGH:
            found["right when sure"] = found["right"]
            if "facts_all" in found:
                found["complete when sure"] = found["facts_all"]
    return found


def _refused(answer: Answer) -> float:
    return float(answer.path == "no_answer_found")


def _reciprocal_rank(asked: Asked) -> float:
    """Of the first right statement; 0 when none was found."""
    ranked = scored(asked)
    places: dict[tuple[str, int], int] = {}
    for hit in asked.hits:
        for index in range(len(hit.chunk.units)):
            places[hit.chunk.id, index] = len(places)
    ranks = (
        rank for rank, one in enumerate(ranked, 1) if asked.right[places[one.chunk.id, one.index]]
    )
    return 1 / next(ranks, 10**9)


def calibration_error(sure: Matrix, right: Matrix) -> float:
    """Expected calibration error over bins of as many answers each, 0–1."""
    bins = np.array_split(np.argsort(sure), BINS)
    gaps = [abs(sure[each].mean() - right[each].mean()) * len(each) for each in bins]
    return float(sum(gaps) / len(sure))


ROWS: Mapping[str, str] = {
    "mrr": "right statement, reciprocal rank",
    "cited": "right document cited",
    "facts_all": "all facts said",
    "fact_any": "any fact said",
    "evidence_all": "all evidence in the context",
    "refused_right": "unanswerable refused",
    "refused_wrong": "answerable refused",
    "clarified": "ambiguous asked back",
    "clarified_wrong": "others asked back",
    "short refused, strange": "short, of other corpora: refused",
    "short refused, own": "short, of its own: refused",
    "right when sure": f"right document cited when confidence is {HIGH} or more",
    "complete when sure": "all facts said then",
}


def cell(values: Sequence[float]) -> str:
    if not values:
        return "–"
    low, high = interval(np.array(values))
    return f"{np.mean(values):.2f} ({low:.2f}–{high:.2f})"


def calibration_cell(sure: Matrix, right: Matrix) -> str:
    if not len(sure):
        return "–"
    chance = np.random.default_rng(0)
    drawn = (chance.integers(0, len(sure), len(sure)) for _ in range(1000))
    errors = [calibration_error(sure[each], right[each]) for each in drawn]
    low, high = np.quantile(errors, [0.025, 0.975])
    return f"{calibration_error(sure, right):.2f} ({low:.2f}–{high:.2f})"


def table_of(
    title: str, found: Sequence[tuple[Asked, dict[str, float]]], group: Callable[[Asked], str]
) -> Table:
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for asked, values in found:
        groups[group(asked)].append(values)
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in groups:
        table.add_column(name, justify="right")
    for key, label in ROWS.items():
        table.add_row(
            label, *(cell([o[key] for o in each if key in o]) for each in groups.values())
        )
    cells = []
    for each in groups.values():
        pairs = np.array([(one["sure"], one["right"]) for one in each if "sure" in one])
        cells.append(calibration_cell(pairs[:, 0], pairs[:, 1]))
    table.add_row("calibration error of confidence", *cells)
    return table


def main() -> None:
    arguments = [one for one in sys.argv[1:] if one != "--as-shipped"]
    as_shipped = "--as-shipped" in sys.argv
    console = Console(width=140)
    measurements = Measurements()
    relevance.features = measurements.features
    with measured_domains(arguments or ["demo", "public"]) as domains:
        asked = all_asked(domains)
        found: list[tuple[Asked, dict[str, float]]] = []
        for corpus in dict.fromkeys(one.corpus for one in asked):
            held_out = [one for one in asked if one.corpus == corpus]
            others = [one for one in asked if one.corpus != corpus]
            weights = in_use() if as_shipped else fitted(others, measurements)
            with using(weights):
                found += [(one, figures(one)) for one in held_out]
        said = "with the weights in use" if as_shipped else "each corpus left out of the fit"
        console.print(table_of(said, found, lambda one: one.corpus))
        console.print(table_of(said, found, lambda one: one.measured.set))
        if as_shipped:
            return
        shipped = fitted(asked, measurements)
    for name, value in zip(relevance.FEATURES, shipped.statement, strict=True):
        console.print(f'    "{name}": {value:.2f},', highlight=False)
    console.print(f"BIAS = {shipped.statement_bias:.2f}", highlight=False)
    for name, value in zip(refusal.WEIGHTS, shipped.confidence, strict=True):
        console.print(f'    "{name}": {value:.2f},', highlight=False)
    console.print(f"BIAS = {shipped.confidence_bias:.2f}, ENOUGH = {shipped.enough:.2f}")


if __name__ == "__main__":
    main()
