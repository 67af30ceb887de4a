"""Proposes a search strategy for each kind of question, from the runs of a matrix.

Nothing is applied: an admin writes what convinces into the domain file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from config.domain import RetrievalPolicy
from jobs.evaluation.comparison import over_repeats
from jobs.evaluation.metrics.stats import bootstrap_mean, sign_test
from jobs.evaluation.report import EvaluationReport, Interval, ReportQuestion

STRATEGY_KEY = "retrieval.strategy"
_METRICS = ("acceptable", "evidence_all")
"""Compared by the first that every run measured: the judge's, else the evidence in context."""
_SURE = 0.05
"""Probability of a false proposal in the whole table, at most."""
_SMALL = 1e-9


class StrategyComparison(BaseModel):
    """One strategy for one kind of question, against the one that the domain file names for it."""

    model_config = ConfigDict(frozen=True)

    kind: str
    questions: int
    metric: str
    current: str
    current_value: float
    strategy: str
    value: float
    interval: Interval
    """95%, of the paired difference."""
    p: float
    """Exact sign test, two-sided, times the number of comparisons in the table."""
    more_incorrect: bool
    """Judged, it misinforms more often."""
    proposed: bool
    """Better beyond chance, without misinforming more, and the best of such strategies."""


def compare_strategies(
    reports: Mapping[str, EvaluationReport], policy: RetrievalPolicy
) -> list[StrategyComparison]:
    """For each kind, by kind. `reports`: strategy → its run of the same questions. Kinds whose
    current strategy was not run, and questions without evidence to find, are left out."""
    metric = next((one for one in _METRICS if _is_measured(one, list(reports.values()))), None)
    if metric is None:
        return []
    by_id = {name: {q.id: q for q in report.questions} for name, report in reports.items()}
    pairs = [
        (kind, current, other, _pairs(kind, metric, by_id[current], by_id[other]))
        for kind, current in _current_strategies(by_id, policy)
        for other in reports
        if other != current
    ]
    held = [one for one in pairs if one[-1]]
    rows = [_compared(*one, metric=metric, comparisons=len(held)) for one in held]
    return [row.model_copy(update={"proposed": _is_best(row, rows)}) for row in rows]


Pair = tuple[ReportQuestion, ReportQuestion]


def _current_strategies(
    by_id: Mapping[str, Mapping[str, ReportQuestion]], policy: RetrievalPolicy
) -> Iterator[tuple[str, str]]:
    named = {str(kind): str(strategy) for kind, strategy in policy.strategies.items()}
    kinds = {q.query_kind for questions in by_id.values() for q in questions.values() if q.strategy}
    for kind in sorted(kinds):
        current = named.get(kind, policy.strategy)
        if current in by_id:
            yield kind, current


def _pairs(
    kind: str,
    metric: str,
    current: Mapping[str, ReportQuestion],
    other: Mapping[str, ReportQuestion],
) -> list[Pair]:
    """Of the questions that the current run takes for this kind: a model may plan otherwise in
    another run."""
    return [
        (one, other[name])
        for name, one in current.items()
        if one.query_kind == kind and one.kind != "proposed" and name in other
        if metric in one.metrics and metric in other[name].metrics
    ]


def _compared(
    kind: str, current: str, other: str, pairs: Sequence[Pair], *, metric: str, comparisons: int
) -> StrategyComparison:
    before, after = (
        [over_repeats(one)[metric] for one in side] for side in zip(*pairs, strict=True)
    )
    differences = np.asarray(after) - np.asarray(before)
    p = sign_test(int((differences > _SMALL).sum()), int((differences < -_SMALL).sum()))
    wrong = [over_repeats(b).get("incorrect", 0.0) - over_repeats(a).get("incorrect", 0.0)
             for a, b in pairs]  # fmt: skip
    return StrategyComparison(
        kind=kind,
        questions=len(pairs),
        metric=metric,
        current=current,
        current_value=round(float(np.mean(before)), 4),
        strategy=other,
        value=round(float(np.mean(after)), 4),
        interval=bootstrap_mean(differences),
        p=min(1.0, p * comparisons),
        more_incorrect=sum(wrong) > _SMALL,
        proposed=False,
    )


def _is_best(row: StrategyComparison, rows: Sequence[StrategyComparison]) -> bool:
    better = [
        one
        for one in rows
        if one.kind == row.kind
        and one.value > one.current_value
        and one.p <= _SURE
        and not one.more_incorrect
    ]
    return bool(better) and row is max(better, key=lambda one: one.value)


def _is_measured(metric: str, reports: Sequence[EvaluationReport]) -> bool:
    return all(metric in report.metrics["all"] for report in reports)


def as_domain_keys(rows: Sequence[StrategyComparison]) -> str:
    """What an admin may write into the domain file; empty without a proposal."""
    named = ", ".join(f"{row.kind}: {row.strategy}" for row in rows if row.proposed)
    return f"retrieval:\n  strategies: {{{named}}}" if named else ""
