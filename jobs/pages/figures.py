"""The figures of the report page: outcomes of questions, headlines, comparisons, times, cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jobs.evaluation.agreement import NEVER_CHECKED
from jobs.evaluation.history import KeptRun
from jobs.evaluation.metrics.stats import wilson
from jobs.evaluation.report import (
    Comparison,
    EvaluationReport,
    Interval,
    MetricChange,
    ReportQuestion,
)
from jobs.pages.metric_names import LOWER_IS_BETTER, NO_DIRECTION, in_order

WITH_JUDGE = ("acceptable", "incorrect", "judge_score")
WITHOUT = ("answer_wrong", "evidence_all", "cited")
"""Headline figures."""
SHORT_LIST = (
    *("questions", "acceptable", "incorrect", "judge_score", "replied_answer", "answer_wrong"),
    *("cited", "facts_all", "evidence_all", "grounded", "refusal_recall", "words"),
)
"""Columns of the table by kind and tag; the table of all figures has the rest."""
_DOUBT = 0.05
_STEPS = 12


def headlines(report: EvaluationReport) -> list[str]:
    """Names of the headline figures that the run measured."""
    names = WITH_JUDGE if report.run.judge_model else WITHOUT
    return [name for name in names if name in report.metrics.get("all", {})]


def warnings(report: EvaluationReport) -> Iterator[str]:
    unchecked = report.run.judge_model and not (report.judge and report.judge.checked)
    if unchecked and NEVER_CHECKED not in report.notes:
        yield NEVER_CHECKED
    if report.judge and report.judge.checked:
        yield f"The judge was checked against {report.judge.scores} scores by people."
    yield from report.notes


def reply_shares(report: EvaluationReport) -> list[tuple[str, float]]:
    """(kind of reply, share); empty without figures."""
    metrics = report.metrics.get("all")
    if not metrics:
        return []
    shares = [(label, metrics.get(name, 0.0)) for name, label in REPLIES.items()]
    rest = 1 - sum(share for _, share in shares)
    return [*shares, (OTHER, rest)] if rest > 0.005 else shares  # less shows as 0%


def measured_in(report: EvaluationReport) -> list[str]:
    """All metrics of any group, in display order."""
    return in_order({name for metrics in report.metrics.values() for name in metrics})


def moved_metrics(
    change: Comparison,
) -> tuple[list[tuple[str, MetricChange]], list[tuple[str, MetricChange]]]:
    """Metrics that changed, by p: those beyond chance, and those that may be chance."""
    moved = [
        (name, one)
        for name, one in change.metrics.items()
        if one.before != one.after and one.interval is not None
    ]
    moved.sort(key=lambda pair: 1.0 if pair[1].p is None else pair[1].p)
    sure = [(name, one) for name, one in moved if one.p is not None and one.p < _DOUBT]
    return sure, [pair for pair in moved if pair not in sure]


def direction(name: str, change: MetricChange) -> str:
    """`better` or `worse`; `changed` where neither more nor less is better."""
    if name in NO_DIRECTION:
        return "changed"
    return "better" if (change.after < change.before) == (name in LOWER_IS_BETTER) else "worse"


def waiting(questions: Sequence[ReportQuestion]) -> list[tuple[str, list[float]]]:
    """(label, p50, p90 and p99 in seconds) of the response times that were measured."""
    first = [one.first_token_ms for one in questions if one.first_token_ms is not None]
    total = [one.total_ms for one in questions if one.total_ms]
    return [
        (label, [float(one) / 1000 for one in np.quantile(times, [0.5, 0.9, 0.99])])
        for label, times in (("first token", first), ("whole reply", total))
        if times
    ]


def spending(questions: Sequence[ReportQuestion]) -> list[tuple[str, str, str]]:
    """(label, for one question, in all) of what was spent."""
    spent: list[tuple[str, list[float], int]] = [
        ("model calls", [one.calls for one in questions], 0),
        ("tokens", [one.tokens for one in questions], 0),
        ("cost, US$", [one.cost for one in questions if one.cost is not None], 4),
    ]
    rows = []
    for label, amounts, places in spent:
        if any(amounts):
            total = sum(amounts)
            mean = total / len(amounts)
            each = f"{mean:,.{places or (2 if mean < 10 else 0)}f}"
            rows.append((label, each, f"{total:,.{places and 2}f}"))
    return rows


def histogram(questions: Sequence[ReportQuestion]) -> list[tuple[str, int]]:
    """(upper edge in seconds, replies) up to the 99th percentile; the last bar has the rest."""
    seconds = np.asarray([one.total_ms for one in questions if one.total_ms]) / 1000
    top = float(np.quantile(seconds, 0.99)) or 1.0
    edges = np.linspace(0, top, _STEPS)
    counted, _ = np.histogram(seconds, [*edges, np.inf])
    places = 0 if top > 24 else 1 if top > 2 else 2
    labels = [f"{edge:.{places}f}" for edge in edges[1:]] + ["more"]
    return [(label, int(amount)) for label, amount in zip(labels, counted, strict=True)]


def earlier_values(runs: Sequence[KeptRun], name: str) -> list[float]:
    """A metric in the runs that have it, oldest first. `runs`: newest first."""
    groups = [one.metrics.get("all", {}) for one in reversed(runs)]
    return [metrics[name] for metrics in groups if name in metrics]


REPLIES = {
    "replied_answer": "answered",
    "replied_passages": "passages",
    "replied_refusal": "refused",
    "replied_question": "asked back",
}
OTHER = "other"
_FEWEST = 10
"""Minimum replies per bin of the reliability diagram."""
_MOST_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Replies of similar confidence."""

    confidence: float
    """Mean confidence."""
    accepted: float
    """Share of accepted replies."""
    interval: Interval
    count: int


def sort_of(question: ReportQuestion) -> str:
    """A value of `REPLIES`, or `OTHER`."""
    return next((name for key, name in REPLIES.items() if question.metrics.get(key)), OTHER)


def accepted(question: ReportQuestion, *, judged: bool) -> bool | None:
    """Whether the reply is acceptable; None when this can't be decided.

    `judged`: decide by the judge's verdict, else by metrics. A run never mixes the two."""
    if judged:
        verdict = question.judge
        return verdict.acceptable and not verdict.incorrect if verdict else None
    metrics = question.metrics
    if metrics.get("refused_wrong") or metrics.get("clarified_wrong"):
        return False
    for name in ("clarified", "refused_right"):
        if name in metrics:
            return bool(metrics[name])
    if "answer_wrong" in metrics:
        return not metrics["answer_wrong"]
    if "passages_facts_all" in metrics:
        return bool(metrics["passages_facts_all"] and metrics.get("passages_cited"))
    return None


def worst(report: EvaluationReport, most: int = 20) -> list[ReportQuestion]:
    """Unaccepted replies: incorrect first, then lowest score, then highest confidence."""
    judged = bool(report.run.judge_model)
    failed = [
        one
        for one in report.questions
        if accepted(one, judged=judged) is False and one.kind != "proposed"
    ]
    return sorted(failed, key=_how_bad)[:most]


def _how_bad(question: ReportQuestion) -> tuple[bool, float, bool, float]:
    judge = question.judge
    misinforms = judge.incorrect if judge else bool(question.metrics.get("answer_wrong"))
    score = judge.score if judge else 0
    return (not misinforms, score, sort_of(question) != "answered", -question.confidence)


def by_confidence(questions: Sequence[ReportQuestion], *, judged: bool) -> list[Bin]:
    """Answers by confidence in bins of equal size; empty when there are too few for two bins."""
    verdicts = sorted(
        (one.confidence, verdict)
        for one in questions
        if sort_of(one) == "answered"
        and one.kind != "proposed"
        and (verdict := accepted(one, judged=judged)) is not None
    )
    bins = min(_MOST_BINS, len(verdicts) // _FEWEST)
    if bins < 2:
        return []
    cuts = [round(place * len(verdicts) / bins) for place in range(bins + 1)]
    return [_bin(verdicts[low:high]) for low, high in pairwise(cuts)]


def _bin(verdicts: Sequence[tuple[float, bool]]) -> Bin:
    right = sum(verdict for _, verdict in verdicts)
    return Bin(
        confidence=sum(confidence for confidence, _ in verdicts) / len(verdicts),
        accepted=right / len(verdicts),
        interval=wilson(right, len(verdicts)),
        count=len(verdicts),
    )
