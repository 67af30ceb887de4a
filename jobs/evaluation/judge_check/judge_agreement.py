"""How far a judge agrees with people who scored the same answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agents.judging.judge import ACCEPTABLE, HIGHEST
from jobs.evaluation.metrics.correlations import Scores, pearson, spearman
from jobs.evaluation.metrics.intervals import bootstrap, bootstrap_mean, wilson

_FEWEST = 3
"""Answers that a correlation takes."""
_RESAMPLES = 1_000


@dataclass(frozen=True, kw_only=True)
class ScoredTwice:
    """One answer, scored by a person who didn't see what the judge gave it."""

    person: int
    judge: int
    person_incorrect: bool
    judge_incorrect: bool
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float
    count: int
    """Answers that it rests on."""


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """A yes or no of the judge, held against that of people."""

    true_positive: int
    false_negative: int
    true_negative: int
    false_positive: int

    @property
    def true_positive_rate(self) -> Figure | None:
        """Of what people say yes to, how much the judge does; None where they never do."""
        return share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def true_negative_rate(self) -> Figure | None:
        return share(self.true_negative, self.true_negative + self.false_positive)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The judge's report card."""

    count: int
    pearson: Figure | None
    """None where one side gave everything the same score: then nothing can correlate."""
    spearman: Figure | None
    kappa: Figure | None
    """Cohen's, squared weights."""
    exact: Figure
    within_one: Figure
    bias: Figure
    """Mean of the judge's score minus the person's."""
    acceptable: Confusion
    incorrect: Confusion
    table: tuple[tuple[int, ...], ...]
    """Row: the person's score from 0, column: the judge's."""
    by_kind: Mapping[str, Figure] = field(default_factory=dict)
    """Kind → share within one."""


def agreement(scored: Sequence[ScoredTwice]) -> Agreement:
    """Of at least one answer."""
    people = np.asarray([one.person for one in scored], dtype=np.float64)
    judge = np.asarray([one.judge for one in scored], dtype=np.float64)
    apart = np.abs(people - judge)
    table = np.zeros((HIGHEST + 1, HIGHEST + 1), dtype=int)
    for one in scored:
        table[one.person, one.judge] += 1
    kinds = sorted({one.kind for one in scored if one.kind})
    return Agreement(
        count=len(scored),
        pearson=_over(people, judge, pearson),
        spearman=_over(people, judge, spearman),
        kappa=_over(people, judge, _kappa),
        exact=_share_of(apart == 0),
        within_one=_share_of(apart <= 1),
        bias=_mean(judge - people),
        acceptable=_confusion(
            [(one.person >= ACCEPTABLE, one.judge >= ACCEPTABLE) for one in scored]
        ),
        incorrect=_confusion([(one.person_incorrect, one.judge_incorrect) for one in scored]),
        table=tuple(tuple(int(count) for count in row) for row in table),
        by_kind={
            kind: _share_of(np.asarray([a <= 1 for a, one in zip(apart, scored, strict=True)
                                        if one.kind == kind]))
            for kind in kinds
        },
    )  # fmt: skip


def weighted_kappa(first: Sequence[int], second: Sequence[int]) -> float:
    """Agreement of two judges on scores 0 to 5 beyond chance, squared weights; 1 when both give
    one and the same score to all. Source: Cohen, Psychological Bulletin 1968."""
    seen = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for one, other in zip(first, second, strict=True):
        seen[one, other] += 1
    seen /= max(1.0, seen.sum())
    places = np.arange(HIGHEST + 1)
    weights = (places[:, None] - places[None, :]) ** 2 / HIGHEST**2
    by_chance = float((weights * np.outer(seen.sum(1), seen.sum(0))).sum())
    return 1.0 - float((weights * seen).sum()) / by_chance if by_chance else 1.0


def share(hits: int, count: int) -> Figure | None:
    """None of nothing."""
    if not count:
        return None
    low, high = wilson(hits, count)
    return Figure(value=hits / count, low=low, high=high, count=count)


def _share_of(hits: NDArray[np.bool_]) -> Figure:
    found = share(int(hits.sum()), len(hits))
    return found or Figure(value=0.0, low=0.0, high=1.0, count=0)


def _mean(values: Scores) -> Figure:
    low, high = bootstrap_mean(values)
    return Figure(value=float(values.mean()), low=low, high=high, count=len(values))


def _confusion(pairs: Sequence[tuple[bool, bool]]) -> Confusion:
    """`pairs`: what the person says, what the judge says."""
    return Confusion(
        true_positive=sum(person and judge for person, judge in pairs),
        false_negative=sum(person and not judge for person, judge in pairs),
        true_negative=sum(not person and not judge for person, judge in pairs),
        false_positive=sum(not person and judge for person, judge in pairs),
    )


def _over(
    people: Scores, judge: Scores, figure: Callable[[Scores, Scores], float]
) -> Figure | None:
    """With a bootstrap over answers, of which a draw that is all alike says nothing."""
    varied = len(set(people.tolist())) > 1 and len(set(judge.tolist())) > 1
    if len(people) < _FEWEST or not varied:
        return None

    def of_draw(places: np.ndarray) -> float:
        first, second = people[places], judge[places]
        return figure(first, second) if np.ptp(first) and np.ptp(second) else math.nan

    low, high = bootstrap(len(people), of_draw, resamples=_RESAMPLES)
    return Figure(value=figure(people, judge), low=low, high=high, count=len(people))


def _kappa(people: Scores, judge: Scores) -> float:
    return weighted_kappa(people.astype(int).tolist(), judge.astype(int).tolist())
