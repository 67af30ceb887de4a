"""The metrics of many questions, summed up by kind and tag, with intervals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from jobs.evaluation.comparison import over_repeats
from jobs.evaluation.metrics.intervals import of_mean
from jobs.evaluation.report import Interval, Metrics, ReportQuestion

ALL = "all"
"""The group of all questions that count: not those that are only proposed."""

AMOUNTS = frozenset(
    (
        *("judge_score", "words", "answer_characters", "first_token_ms", "total_ms"),
        *("calls", "input_tokens", "output_tokens", "cost"),
    )
)
"""Metrics that are no shares from 0 to 1."""


def groups_of(question: ReportQuestion) -> Iterator[str]:
    """`all`, the kind, and each tag as `#tag`."""
    if question.kind != "proposed":
        yield ALL
    yield question.kind
    for tag in dict.fromkeys(question.tags):
        yield f"#{tag}"


def summed_up(questions: Sequence[ReportQuestion]) -> dict[str, Metrics]:
    """Group → mean of every metric over the questions that it applies to; `questions`: how many."""
    return {
        group: {
            "questions": float(count),
            **{name: round(statistics.fmean(of), 4) for name, of in values.items()},
        }
        for group, (count, values) in _by_group(questions).items()
    }


def intervals(questions: Sequence[ReportQuestion]) -> dict[str, dict[str, Interval]]:
    """Group → metric → 95% interval of the mean, over questions."""
    return {
        group: {name: of_mean(of, share=name not in AMOUNTS) for name, of in values.items()}
        for group, (_, values) in _by_group(questions).items()
    }


def spread(questions: Sequence[ReportQuestion]) -> Metrics:
    """Standard deviation of each metric's mean from one repeat to the next; empty without any."""
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
