"""Measures how far a judge agrees with people who scored the same answers, stores the result for
later reports, and corrects the judge's shares by its error rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from sqlalchemy import Engine, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.judging.judge import ACCEPTABLE, HIGHEST
from durable.migration import KeyValueTable
from jobs.evaluation.metrics.stats import (
    Scores,
    bootstrap,
    bootstrap_mean,
    pearson,
    spearman,
    wilson,
)
from jobs.evaluation.report import JudgeCard, Rate, ReportQuestion

_FEWEST = 3
"""Minimum answers for a correlation."""
_RESAMPLES = 1_000


@dataclass(frozen=True, kw_only=True)
class ScoredTwice:
    """One answer, scored by the judge and by a person who didn't see the judge's score."""

    person: int
    judge: int
    person_incorrect: bool
    judge_incorrect: bool
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A value with its 95% interval."""

    value: float
    low: float
    high: float
    count: int
    """Number of answers."""


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Confusion matrix of a yes/no verdict: the judge against people."""

    true_positive: int
    false_negative: int
    true_negative: int
    false_positive: int

    @property
    def true_positive_rate(self) -> Figure | None:
        """Share of the people's yes that the judge shares; None when people never say yes."""
        return share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def true_negative_rate(self) -> Figure | None:
        return share(self.true_negative, self.true_negative + self.false_positive)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The judge's report card."""

    count: int
    pearson: Figure | None
    """None with fewer than three answers, or when one side gave all of them the same score."""
    spearman: Figure | None
    kappa: Figure | None
    """Cohen's kappa, squared weights."""
    exact: Figure
    within_one: Figure
    bias: Figure
    """Mean of the judge's score minus the person's."""
    acceptable: Confusion
    incorrect: Confusion
    table: tuple[tuple[int, ...], ...]
    """Counts. Row: the person's score, 0 to 5; column: the judge's."""
    by_kind: Mapping[str, Figure] = field(default_factory=dict)
    """Kind → share of scores at most one apart."""


def agreement(scored: Sequence[ScoredTwice]) -> Agreement:
    """Compute the agreement; needs at least one answer."""
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
        kappa=_over(people, judge, weighted_kappa),
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


def weighted_kappa(first: Sequence[int] | Scores, second: Sequence[int] | Scores) -> float:
    """Agreement of two judges beyond chance on scores 0 to 5, with squared weights.

    1 when both give all answers the same single score.
    Source: Cohen, Psychological Bulletin 1968."""
    observed = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for one, other in zip(first, second, strict=True):
        observed[int(one), int(other)] += 1
    observed /= max(1.0, observed.sum())
    places = np.arange(HIGHEST + 1)
    weights = (places[:, None] - places[None, :]) ** 2 / HIGHEST**2
    by_chance = float((weights * np.outer(observed.sum(1), observed.sum(0))).sum())
    return 1.0 - float((weights * observed).sum()) / by_chance if by_chance else 1.0


def share(hits: int, count: int) -> Figure | None:
    """`hits / count` with Wilson's interval; None when `count` is 0."""
    if not count:
        return None
    low, high = wilson(hits, count)
    return Figure(value=hits / count, low=low, high=high, count=count)


def _share_of(hits: NDArray[np.bool_]) -> Figure:
    figure = share(int(hits.sum()), len(hits))
    return figure or Figure(value=0.0, low=0.0, high=1.0, count=0)


def _mean(values: Scores) -> Figure:
    low, high = bootstrap_mean(values)
    return Figure(value=float(values.mean()), low=low, high=high, count=len(values))


def _confusion(pairs: Sequence[tuple[bool, bool]]) -> Confusion:
    """`pairs`: (person, judge)."""
    return Confusion(
        true_positive=sum(person and judge for person, judge in pairs),
        false_negative=sum(person and not judge for person, judge in pairs),
        true_negative=sum(not person and not judge for person, judge in pairs),
        false_positive=sum(not person and judge for person, judge in pairs),
    )


def _over(
    people: Scores, judge: Scores, figure: Callable[[Scores, Scores], float]
) -> Figure | None:
    """`figure` with a bootstrap interval over answers; None for constant or too few scores.

    Resamples with constant scores are ignored."""
    varied = len(set(people.tolist())) > 1 and len(set(judge.tolist())) > 1
    if len(people) < _FEWEST or not varied:
        return None

    def of_draw(places: np.ndarray) -> float:
        first, second = people[places], judge[places]
        return figure(first, second) if np.ptp(first) and np.ptp(second) else math.nan

    low, high = bootstrap(len(people), of_draw, resamples=_RESAMPLES)
    return Figure(value=figure(people, judge), low=low, high=high, count=len(people))


FEWEST = 5
"""Minimum answers with yes, and with no, by people before a share is corrected."""
_DRAWS = 20_000
_LEAST = 0.1
"""Minimum of sensitivity + specificity - 1."""


def corrected(hits: int, count: int, judged: Confusion) -> Figure | str:
    """Correct a share of the judge, `hits / count`, by its error rates; or the reason why not.

    The interval covers both samples, the run and the people's scores (Jeffreys' priors).
    Source: Rogan & Gladen, American Journal of Epidemiology 1978."""
    positive = judged.true_positive + judged.false_negative
    negative = judged.true_negative + judged.false_positive
    if not count:
        return "nothing was judged"
    if min(positive, negative) < FEWEST:
        few = "yes" if positive < negative else "no"
        return (
            f"people said {few} to only {min(positive, negative)} of the answers that they scored; "
            f"it takes {FEWEST}"
        )
    sensitivity, specificity = judged.true_positive / positive, judged.true_negative / negative
    if sensitivity + specificity - 1 < _LEAST:
        return "the judge hardly tells the two apart"
    chance = np.random.default_rng(0)
    drawn = _rate(
        chance.beta(hits + 0.5, count - hits + 0.5, _DRAWS),
        chance.beta(judged.true_positive + 0.5, judged.false_negative + 0.5, _DRAWS),
        chance.beta(judged.true_negative + 0.5, judged.false_positive + 0.5, _DRAWS),
    )
    low, high = np.quantile(drawn, [0.025, 0.975])
    value = _rate(np.asarray(hits / count), np.asarray(sensitivity), np.asarray(specificity))
    return Figure(value=float(value), low=float(low), high=float(high), count=count)


def _rate(apparent: np.ndarray, sensitivity: np.ndarray, specificity: np.ndarray) -> np.ndarray:
    tells = np.maximum(sensitivity + specificity - 1, 1e-3)
    return np.asarray(np.clip((apparent + specificity - 1) / tells, 0.0, 1.0))


class _Base(DeclarativeBase):
    pass


class JudgeCardRow(_Base):
    __tablename__ = "judge_cards"

    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    judge: Mapped[str] = mapped_column(String(200), primary_key=True, comment="its model")
    card: Mapped[str] = mapped_column(Text, comment="JSON")


_agreement = TypeAdapter(Agreement)
NEVER_CHECKED = (
    "Nobody has scored answers beside this judge yet, so its figures are its own word. "
    "`oncall evaluate sheet` makes a page to score on, `oncall evaluate agreement` compares."
)


class JudgeCardStore:
    """Stores the agreement of each judge with people, by domain. Creates its table at the first
    write."""

    def __init__(self, engine: Engine) -> None:
        self._rows = KeyValueTable(engine, JudgeCardRow)

    def keep(self, domain: str, judge: str, result: Agreement) -> None:
        card = _agreement.dump_json(result).decode()
        self._rows.keep(domain=domain, judge=judge[:200], card=card)

    def of(self, domain: str, judge: str) -> Agreement | None:
        """None when the judge was never checked."""
        row = self._rows.find(domain=domain, judge=judge[:200])
        return None if row is None else _agreement.validate_json(row.card)


def judge_card(result: Agreement | None, questions: list[ReportQuestion]) -> JudgeCard:
    """The judge card of a report. `questions`: those of the report; unjudged ones do not count."""
    if result is None:
        return JudgeCard(checked=False)
    judged_as = {"acceptable": result.acceptable, "incorrect": result.incorrect}
    judged = [one.judge for one in questions if one.judge and one.kind != "proposed"]
    after: dict[str, Rate] = {}
    why: dict[str, str] = {}
    for name, confusion in judged_as.items():
        hits = sum(bool(getattr(one, name)) for one in judged)
        figure = corrected(hits, len(judged), confusion)
        if isinstance(figure, str):
            why[name] = figure
        else:
            after[name] = _as_rate(figure)
    return JudgeCard(
        checked=True,
        scores=result.count,
        true_positive_rate={
            name: _as_rate(rate)
            for name, one in judged_as.items()
            if (rate := one.true_positive_rate)
        },
        true_negative_rate={
            name: _as_rate(rate)
            for name, one in judged_as.items()
            if (rate := one.true_negative_rate)
        },
        kappa=_as_rate(result.kappa) if result.kappa else None,
        corrected=after,
        not_corrected=why,
    )


def _as_rate(figure: Figure) -> Rate:
    return Rate.model_validate(asdict(figure))
