"""Limits that a run has to keep: for CI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from config.domain_files import nearest
from config.errors import UsageError
from jobs.evaluation.report import EvaluationReport


@dataclass(frozen=True, kw_only=True)
class Limit:
    """`acceptable=0.9`, of all questions; `table:acceptable=0.9`, of one kind or `#tag`."""

    metric: str
    value: float
    group: str = "all"
    at_most: bool = False
    """The metric may not be above it; else not below."""

    def __str__(self) -> str:
        named = self.metric if self.group == "all" else f"{self.group}:{self.metric}"
        return f"{named} {'at most' if self.at_most else 'at least'} {self.value:g}"


def parse_limits(written: Sequence[str], *, at_most: bool = False) -> list[Limit]:
    """Raises UsageError for what isn't `NAME=NUMBER`."""
    option = "--fail-over" if at_most else "--fail-under"
    found: list[Limit] = []
    for text in written:
        name, equals, number = text.partition("=")
        group, colon, metric = name.rpartition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not (equals and metric and value == value):
            raise UsageError(f"{option} {text!r}: write a metric and a number, as acceptable=0.9")
        found.append(
            Limit(metric=metric, value=value, group=group if colon else "all", at_most=at_most)
        )
    return found


def broken(report: EvaluationReport, limits: Sequence[Limit]) -> Iterator[str]:
    """A line for each limit that the run doesn't keep.

    Raises UsageError for a metric or group that the run didn't measure: a limit that can't fail
    guards nothing."""
    for limit in limits:
        group = report.metrics.get(limit.group)
        if group is None:
            named = ", ".join(report.metrics)
            raise UsageError(f"no question of kind or tag {limit.group!r}; there are {named}")
        if limit.metric not in group:
            hint = nearest(limit.metric, list(group))
            if limit.metric in ("acceptable", "incorrect", "judge_score"):
                hint = "; only a judge can tell: add --judge"
            raise UsageError(f"this run has no metric {limit.metric!r}{hint}")
        value = group[limit.metric]
        if value > limit.value if limit.at_most else value < limit.value:
            yield f"{limit}: it is {value:.3g}"
