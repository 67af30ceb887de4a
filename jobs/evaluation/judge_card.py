"""The judge's report card, kept for every report that it judges afterwards."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import TypeAdapter
from sqlalchemy import Column, Engine, MetaData, String, Table, Text

from index.store.vectors import KeyValueTable
from jobs.evaluation.agreement import Agreement, Figure, corrected
from jobs.evaluation.report import JudgeCard, Rate, ReportQuestion

_CARDS = Table(
    "judge_cards",
    MetaData(),
    Column("domain", String(64), primary_key=True),
    Column("judge", String(200), primary_key=True, comment="its model"),
    Column("card", Text, nullable=False, comment="JSON"),
)
_agreement = TypeAdapter(Agreement)
NEVER_CHECKED = (
    "Nobody has scored answers beside this judge yet, so its figures are its own word. "
    "`oncall evaluate sheet` makes a page to score on, `oncall evaluate agreement` compares."
)


class JudgeCardStore:
    """Of all domains and judges. Creates its table when something is kept."""

    def __init__(self, engine: Engine) -> None:
        self._rows = KeyValueTable(engine, _CARDS)

    def keep(self, domain: str, judge: str, found: Agreement) -> None:
        card = _agreement.dump_json(found).decode()
        self._rows.keep(domain=domain, judge=judge[:200], card=card)

    def of(self, domain: str, judge: str) -> Agreement | None:
        """None where nobody checked it."""
        row = self._rows.find(domain=domain, judge=judge[:200])
        return None if row is None else _agreement.validate_json(row.card)


def judge_card(found: Agreement | None, questions: list[ReportQuestion]) -> JudgeCard:
    """What a report says of its judge; `questions` are those that it judged."""
    if found is None:
        return JudgeCard(checked=False)
    told = {"acceptable": found.acceptable, "incorrect": found.incorrect}
    rates = {
        name: _rates(confusion.true_positive_rate, confusion.true_negative_rate)
        for name, confusion in told.items()
    }
    card = JudgeCard(
        checked=True,
        scores=found.count,
        kappa=_rate(found.kappa) if found.kappa else None,
        true_positive_rate={name: yes for name, (yes, _) in rates.items() if yes},
        true_negative_rate={name: no for name, (_, no) in rates.items() if no},
    )
    judged = [one.judge for one in questions if one.judge and one.kind != "proposed"]
    after: dict[str, Rate] = {}
    why: dict[str, str] = {}
    for name, confusion in told.items():
        hits = sum(bool(getattr(one, name)) for one in judged)
        figure = corrected(hits, len(judged), confusion)
        if isinstance(figure, str):
            why[name] = figure
        else:
            after[name] = _rate(figure)
    return card.model_copy(update={"corrected": after, "not_corrected": why})


def _rates(yes: Figure | None, no: Figure | None) -> tuple[Rate | None, Rate | None]:
    return (_rate(yes) if yes else None, _rate(no) if no else None)


def _rate(figure: Figure) -> Rate:
    return Rate.model_validate(asdict(figure))
