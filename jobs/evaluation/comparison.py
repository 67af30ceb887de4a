"""Aggregates metrics by kind and tag with intervals, and compares two runs question by question."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jobs.evaluation.metrics.stats import bootstrap_mean, by_chance, of_mean
from jobs.evaluation.report import Comparison, Interval, MetricChange, Metrics, ReportQuestion

_BAD = ("incorrect", "answer_wrong", "refused_wrong", "clarified_wrong", "hallucinated")
_SMALL = 1e-9
_GOOD = ("cited", "fact_any", "facts_all", "evidence_all", "refused_right", "clarified")


def compared(
    before: Sequence[ReportQuestion], after: Sequence[ReportQuestion], *, name: str = ""
) -> Comparison:
    """Compare the questions that both runs asked. `name`: name of the earlier run."""
    then = {one.id: one for one in before}
    pairs = [(then[one.id], one) for one in after if one.id in then]
    kinds = sorted({one.kind for _, one in pairs})
    moves = [(_change_for_the_better(old, new), new.id) for old, new in pairs]
    return Comparison(
        before=name,
        metrics=_changes(pairs),
        by_kind={kind: _changes([one for one in pairs if one[1].kind == kind]) for kind in kinds},
        better=[question for change, question in sorted(moves, reverse=True) if change > _SMALL],
        worse=[question for change, question in sorted(moves) if change < -_SMALL],
    )


def _changes(
    pairs: Sequence[tuple[ReportQuestion, ReportQuestion]],
) -> dict[str, MetricChange]:
    """Metric → change, for metrics that at least one question has in both runs."""
    held: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for old, new in pairs:
        before, after = over_repeats(old), over_repeats(new)
        for metric in after.keys() & before.keys():
            held[metric].append((before[metric], after[metric]))
    return {metric: _change(held[metric]) for metric in sorted(held)}


def _change(values: Sequence[tuple[float, float]]) -> MetricChange:
    differences = np.asarray([after - before for before, after in values])
    return MetricChange(
        before=round(float(np.mean([before for before, _ in values])), 4),
        after=round(float(np.mean([after for _, after in values])), 4),
        questions=len(values),
        interval=bootstrap_mean(differences),
        p=by_chance(differences.tolist()),
    )


def over_repeats(question: ReportQuestion) -> Metrics:
    """Mean of each metric over the repeats of a question that have it."""
    times = [question.metrics, *(one.metrics for one in question.repeats)]
    names = dict.fromkeys(name for metrics in times for name in metrics)
    return {
        name: sum(held) / len(held)
        for name in names
        if (held := [metrics[name] for metrics in times if name in metrics])
    }


def _change_for_the_better(old: ReportQuestion, new: ReportQuestion) -> float:
    """Change of the judge's score if both have one, else of good metrics minus bad ones.

    Positive is better. Only the sign and the order have a meaning."""
    before, after = over_repeats(old), over_repeats(new)
    if "judge_score" in before and "judge_score" in after:
        misinformed = after.get("incorrect", 0.0) - before.get("incorrect", 0.0)
        return after["judge_score"] - before["judge_score"] - 5 * misinformed
    names = after.keys() & before.keys()
    if "replied_answer" in names:  # metrics of another kind of reply count as 0
        names = after.keys() | before.keys()
    moved = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in names}
    return _sum(moved, _GOOD) - _sum(moved, _BAD)


def _sum(metrics: Mapping[str, float], names: Sequence[str]) -> float:
    return sum(metrics.get(name, 0.0) for name in names)


ALL = "all"
"""The group of all questions except proposed ones."""

AMOUNTS = frozenset(
    (
        *("judge_score", "words", "answer_characters", "first_token_ms", "total_ms"),
        *("calls", "input_tokens", "output_tokens", "cost"),
    )
)
"""Metrics that are not shares from 0 to 1."""


def groups_of(question: ReportQuestion) -> Iterator[str]:
    """Yield `all` (not for proposed questions), the kind, and each tag as `#tag`."""
    if question.kind != "proposed":
        yield ALL
    yield question.kind
    for tag in dict.fromkeys(question.tags):
        yield f"#{tag}"


def summed_up(questions: Sequence[ReportQuestion]) -> dict[str, Metrics]:
    """Group → metric → mean over the questions that have it. Metric `questions`: their number."""
    return {
        group: {
            "questions": float(count),
            **{name: round(statistics.fmean(of), 4) for name, of in values.items()},
        }
        for group, (count, values) in _by_group(questions).items()
    }


def intervals(questions: Sequence[ReportQuestion]) -> dict[str, dict[str, Interval]]:
    """Group → metric → 95% interval of the mean over questions."""
    return {
        group: {name: of_mean(of, share=name not in AMOUNTS) for name, of in values.items()}
        for group, (_, values) in _by_group(questions).items()
    }


def spread(questions: Sequence[ReportQuestion]) -> Metrics:
    """Standard deviation of each metric's mean across repeats; empty without repeats."""
    times = min((1 + len(one.repeats) for one in questions), default=0)
    if times < 2:
        return {}
    means: dict[str, list[float]] = defaultdict(list)
    for time in range(times):
        held: dict[str, list[float]] = defaultdict(list)
        for one in questions:
            if one.kind == "proposed":
                continue
            metrics = one.metrics if time == 0 else one.repeats[time - 1].metrics
            for name, value in metrics.items():
                held[name].append(value)
        for name, values in held.items():
            means[name].append(statistics.fmean(values))
    return {
        name: round(statistics.stdev(values), 4)
        for name, values in means.items()
        if len(values) == times
    }


def _by_group(
    questions: Sequence[ReportQuestion],
) -> dict[str, tuple[int, dict[str, list[float]]]]:
    counts: dict[str, int] = {ALL: 0}
    values: dict[str, dict[str, list[float]]] = {ALL: {}}
    for one in questions:
        metrics = over_repeats(one)
        for group in groups_of(one):
            counts[group] = counts.get(group, 0) + 1
            held = values.setdefault(group, {})
            for name, value in metrics.items():
                held.setdefault(name, []).append(value)
    return {group: (counts[group], values[group]) for group in values}
