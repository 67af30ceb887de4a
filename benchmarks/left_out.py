"""Answers without a model, on corpora that the fit did not see; and the weights to ship.

    python -m benchmarks.left_out [--as-shipped] [--halves] [demo] [public]

Each corpus is answered with weights fitted on the questions of all others: the weights of
statements (`agents/extractive/relevance.py`), those of evidence and refusal
(`agents/extractive/relevance.py`), and those of confidence (`agents/confidence.py`). With
`--halves`, each set with those fitted on the other. Every figure has the 95% interval of a
bootstrap over questions.
Then the weights fitted on all corpora are printed, to be copied. `--as-shipped`: the weights in
use instead, which have seen every corpus."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.table import Table

from agents import confidence as calibrated
from agents.answer import Answer, Question
from agents.confidence import Calibration
from agents.context.post_processor import WITHOUT_A_MODEL, FoundPassages, build_context
from agents.drafts import extractive_draft
from agents.extractive import relevance
from agents.extractive.relevance import Aspect, ScoredUnit
from agents.plan import Plan
from agents.state import State
from benchmarks import refusing
from benchmarks.material.asked_questions import Asked, all_asked
from benchmarks.material.fitting import (
    PULL_OF_CONFIDENCE,
    PULL_OF_STATEMENTS,
    Matrix,
    bias_of,
    cell,
    listwise,
    logistic,
)
from benchmarks.material.golden_domains import measured_domains
from benchmarks.material.reliability import reliability_table
from config.domain import Domain
from index.search import Hit, Snapshot
from jobs.evaluation.metrics.answers import acceptable, score


@dataclass(frozen=True)
class Weights:
    """All that is fitted."""

    statement: Matrix
    statement_bias: float
    evidence: Matrix
    evidence_bias: float
    enough: float
    found: Calibration
    refused: Calibration


def in_use() -> Weights:
    return Weights(
        relevance.RELEVANCE_WEIGHTS,
        relevance.RELEVANCE_BIAS,
        np.array(list(relevance.REFUSAL_WEIGHTS.values())),
        relevance.REFUSAL_BIAS,
        relevance.ENOUGH,
        calibrated.FOUND,
        calibrated.REFUSED_WITHOUT_A_MODEL,
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
    relevance.RELEVANCE_WEIGHTS, relevance.RELEVANCE_BIAS = (
        weights.statement,
        weights.statement_bias,
    )
    relevance.REFUSAL_WEIGHTS = dict(
        zip(relevance.REFUSAL_WEIGHTS, weights.evidence.tolist(), strict=True)
    )
    relevance.REFUSAL_BIAS, relevance.ENOUGH = weights.evidence_bias, weights.enough
    calibrated.FOUND, calibrated.REFUSED_WITHOUT_A_MODEL = weights.found, weights.refused


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


def scored(asked: Asked) -> list[ScoredUnit]:
    return relevance.score_units(
        asked.plan, asked.measured.snapshot, asked.hits, asked.measured.domain.glossary
    )


def answered(asked: Asked) -> Answer:
    """What the graph answers without a model."""
    plan, snapshot = asked.plan, asked.measured.snapshot
    statements = scored(asked)
    found = FoundPassages(plan=plan, snapshot=snapshot, hits=asked.hits, scored=statements)
    state = State(
        question=Question(text=plan.question),
        plan=plan,
        snapshot=snapshot,
        hits=asked.hits,
        scored=statements,
        context=build_context(found, characters=WITHOUT_A_MODEL).chunks,
    )
    return extractive(state, asked.measured.domain)


def extractive(state: State, domain: Domain) -> Answer:
    """The reply without a model to what the post-processor left."""
    draft = extractive_draft(state, domain, has_model=False)
    return Answer(
        text=draft.text,
        path=draft.path,
        confidence=draft.confidence,
        confidence_parts=draft.confidence_parts,
        citations=draft.citations,
        passages=draft.passages,
        context=state["context"],
    )


def fitted(
    training: Sequence[Asked], cases: Sequence[refusing.Case], measurements: Measurements
) -> Weights:
    """Statements first; then evidence, as `benchmarks/refusing.py` fits it; then confidence, on
    what is answered and refused by them."""
    shown = [one for one in training if one.golden and one.golden.answerable and one.right.any()]
    tables = [_table(one, measurements) for one in shown]
    statement = listwise(tables, [one.right for one in shown], pull=PULL_OF_STATEMENTS)
    strengths = np.concatenate([table @ statement for table in tables])
    bias = bias_of(strengths, np.concatenate([one.right for one in shown]))
    evidence = refusing.fitted(cases)
    refuses = replace(
        in_use(),
        statement=statement,
        statement_bias=bias,
        evidence=evidence.weights,
        evidence_bias=evidence.bias,
        enough=evidence.enough,
    )
    told = [one for one in training if one.golden and one.golden.kind != "ambiguous"]
    with using(refuses):
        found, refused = _calibrations([(one, answered(one)) for one in told])
        return replace(refuses, found=found, refused=refused)


def _calibrations(found: Sequence[tuple[Asked, Answer]]) -> tuple[Calibration, Calibration]:
    """Of passages, from those shown; of refusals, from all: few are refused."""
    shown = [
        (answer, bool(accepted))
        for one, answer in found
        if one.golden and answer.path == "passages_found"
        for accepted in [acceptable(one.golden, answer)]
        if accepted is not None
    ]
    silent = [(answer, not one.answerable) for one, answer in found]
    return (
        _calibration(calibrated.FOUND, shown),
        _calibration(calibrated.REFUSED_WITHOUT_A_MODEL, silent),
    )


def _calibration(like: Calibration, found: Sequence[tuple[Answer, bool]]) -> Calibration:
    rows = np.array([[one.confidence_parts.get(n, 0.0) for n in like.weights] for one, _ in found])
    right = np.array([outcome for _, outcome in found])
    weights, bias = logistic(rows, right, np.ones(len(rows)), pull=PULL_OF_CONFIDENCE)
    return Calibration(bias, dict(zip(like.weights, weights.tolist(), strict=True)))


def _table(asked: Asked, measurements: Measurements) -> Matrix:
    snapshot = asked.measured.snapshot
    whole = relevance.aspects_of(asked.plan, snapshot, asked.measured.domain.glossary)[0]
    return measurements.features(whole, asked.plan, snapshot, asked.hits)


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
    accepted = acceptable(golden, answer)
    if accepted is not None:
        kind = "refused" if _refused(answer) else "answered"
        found |= {f"sure, {kind}": answer.confidence, f"right, {kind}": float(accepted)}
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
}


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
    return table


def reliability(title: str, found: Sequence[dict[str, float]], kind: str) -> Table:
    pairs = [
        (one[f"sure, {kind}"], one[f"right, {kind}"]) for one in found if f"sure, {kind}" in one
    ]
    sure, right = np.array(pairs).reshape(-1, 2).T
    return reliability_table(f"{title}: {kind}", sure, right)


def main() -> None:
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    as_shipped, halves = "--as-shipped" in sys.argv, "--halves" in sys.argv
    console = Console(width=140)
    with measured_domains(arguments or ["demo", "public"]) as domains:
        asked = all_asked(domains)
        # Of these the documents are hidden in turn, so what is measured can't be kept.
        cases = [] if as_shipped else refusing.cases(domains)
        measurements = Measurements()
        relevance.features = measurements.features
        found: list[tuple[Asked, dict[str, float]]] = []
        group = _set_of if halves else _corpus_of
        for left in dict.fromkeys(map(group, asked)):
            held_out = [one for one in asked if group(one) == left]
            others = [one for one in asked if group(one) != left]
            others_cases = [one for one in cases if (one.set if halves else one.corpus) != left]
            weights = in_use() if as_shipped else fitted(others, others_cases, measurements)
            with using(weights):
                found += [(one, figures(one)) for one in held_out]
        left_out = "each set" if halves else "each corpus"
        said = "with the weights in use" if as_shipped else f"{left_out} left out of the fit"
        console.print(table_of(said, found, _corpus_of))
        console.print(table_of(said, found, _set_of))
        for name in ("demo", "public", "both sets"):
            values = [each for one, each in found if name in ("both sets", _set_of(one))]
            for kind in ("answered", "refused"):
                if any(f"sure, {kind}" in one for one in values):
                    console.print(reliability(f"{said}, {name}", values, kind))
        if as_shipped or halves:
            return
        shipped = fitted(asked, cases, measurements)
    for name, value in zip(relevance.FEATURES, shipped.statement, strict=True):
        console.print(f'    "{name}": {value:.2f},', highlight=False)
    console.print(f"BIAS = {shipped.statement_bias:.2f}", highlight=False)
    console.print(f"{shipped.found}\n{shipped.refused}", highlight=False)


def _corpus_of(asked: Asked) -> str:
    return asked.corpus


def _set_of(asked: Asked) -> str:
    return asked.measured.set


if __name__ == "__main__":
    main()
