"""How often each document is cited: a count for each day, of nobody in particular."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import Engine, delete, func, insert, select

from agents.freshness.stale_documents import COUNTED_DAYS
from bot.memory.aging_tables import cited_days
from bot.memory.record import decoded
from bot.memory.state_tables import questions
from config.domain import Domain

_PAGE = 200
_DAY = timedelta(days=1)
_COUNTED = ""
"""Stands for the document in a row that says of its day that it was counted."""


@dataclass(frozen=True, kw_only=True)
class CitationCounts:
    engine: Engine

    def is_done(self, domain: str, today: date) -> bool:
        """Whether all days before this one are counted."""
        return self._last_counted(domain) >= _midnight(today) - _DAY

    def count(self, domain: Domain, today: date) -> None:
        """The days that aren't counted yet, at most 90, up to yesterday. Done again, nothing is
        counted twice."""
        name, end = domain.domain, _midnight(today)
        days = min(COUNTED_DAYS, domain.retention.days)
        first = max(self._last_counted(name) + _DAY, end - timedelta(days=days))
        if first >= end:
            return
        counts = self._cited(name, first, end)
        rows = [
            {"domain": name, "document": document, "day": day, "answers": number}
            for (document, day), number in counts.items()
        ]
        counted = {"domain": name, "document": _COUNTED, "day": end - _DAY, "answers": 0}
        with self.engine.begin() as connection:
            connection.execute(
                delete(cited_days).where(cited_days.c.domain == name, cited_days.c.day >= first)
            )
            connection.execute(insert(cited_days), [*rows, counted])

    def cited(self, domain: str, today: date) -> Mapping[str, int]:
        """Document → answers that cited it in the last 90 days, today's not yet among them."""
        since = _midnight(today) - timedelta(days=COUNTED_DAYS)
        query = (
            select(cited_days.c.document, func.sum(cited_days.c.answers))
            .where(cited_days.c.domain == domain, cited_days.c.document != _COUNTED)
            .where(cited_days.c.day >= since)
            .group_by(cited_days.c.document)
        )
        with self.engine.connect() as connection:
            return {row[0]: int(row[1]) for row in connection.execute(query)}

    def _last_counted(self, domain: str) -> datetime:
        query = select(func.max(cited_days.c.day)).where(
            cited_days.c.domain == domain, cited_days.c.document == _COUNTED
        )
        with self.engine.connect() as connection:
            return connection.execute(query).scalar_one() or datetime.min

    def _cited(self, domain: str, first: datetime, end: datetime) -> Counter[tuple[str, datetime]]:
        """(document, day) → answers, read a page at a time."""
        counts: Counter[tuple[str, datetime]] = Counter()
        after = (first, "")
        columns = questions.c.asked_at, questions.c.id, questions.c.answer
        while True:
            at, last = after
            query = (
                select(*columns)
                .where(questions.c.domain == domain, questions.c.asked_at < end)
                .where(questions.c.asked_at >= at)
                .where((questions.c.asked_at > at) | (questions.c.id > last))
                .where(questions.c.state == "posted", questions.c.answer.is_not(None))
                .order_by(questions.c.asked_at, questions.c.id)
                .limit(_PAGE)
            )
            with self.engine.connect() as connection:
                rows = connection.execute(query).all()
            for row in rows:
                cited = {one.document for one in decoded(row.answer).citations if one.document}
                counts.update((document, _midnight(row.asked_at.date())) for document in cited)
            if len(rows) < _PAGE:
                return counts
            after = (rows[-1].asked_at, rows[-1].id)


def today_utc() -> date:
    return datetime.now(UTC).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())
