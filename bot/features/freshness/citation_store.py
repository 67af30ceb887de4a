"""Stored data of cited places: their text when an answer was helpful, and how often each document
is cited, a count for each day, of nobody in particular."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Engine, and_, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from agents.freshness.stale_documents import COUNTED_DAYS
from bot.features.freshness.store import CitedDayRow, HelpedPlaceRow, HelpfulSeenRow
from bot.questions.store import decode_answer
from bot.questions.tables import FeedbackRow, QuestionRow
from config.domain import Domain

_PAGE = 200
_DAY = timedelta(days=1)
_DAY_DONE = ""
"""In place of the document: the row says that its day was counted."""


@dataclass(frozen=True, kw_only=True)
class CitationCountStore:
    engine: Engine

    def is_done(self, domain: str, today: date) -> bool:
        """Whether all days before this one are counted."""
        return self._last_counted(domain) >= _midnight(today) - _DAY

    def count(self, domain: Domain, today: date) -> None:
        """Count the days that aren't counted yet, at most 90, up to yesterday. Safe to repeat."""
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
        day_done = {"domain": name, "document": _DAY_DONE, "day": end - _DAY, "answers": 0}
        with self.engine.begin() as connection:
            connection.execute(
                delete(CitedDayRow).where(CitedDayRow.domain == name, CitedDayRow.day >= first)
            )
            connection.execute(insert(CitedDayRow), [*rows, day_done])

    def totals(self, domain: str, today: date) -> Mapping[str, int]:
        """Document → answers that cited it in the last 90 days, without today."""
        since = _midnight(today) - timedelta(days=COUNTED_DAYS)
        query = (
            select(CitedDayRow.document, func.sum(CitedDayRow.answers))
            .where(CitedDayRow.domain == domain, CitedDayRow.document != _DAY_DONE)
            .where(CitedDayRow.day >= since)
            .group_by(CitedDayRow.document)
        )
        with self.engine.connect() as connection:
            return {row[0]: int(row[1]) for row in connection.execute(query)}

    def _last_counted(self, domain: str) -> datetime:
        query = select(func.max(CitedDayRow.day)).where(
            CitedDayRow.domain == domain, CitedDayRow.document == _DAY_DONE
        )
        with self.engine.connect() as connection:
            return connection.execute(query).scalar_one() or datetime.min

    def _cited(self, domain: str, first: datetime, end: datetime) -> Counter[tuple[str, datetime]]:
        """(document, day) → answers, read a page at a time."""
        counts: Counter[tuple[str, datetime]] = Counter()
        after = (first, "")
        columns = QuestionRow.asked_at, QuestionRow.id, QuestionRow.answer
        while True:
            at, last = after
            query = (
                select(*columns)
                .where(QuestionRow.domain == domain, QuestionRow.asked_at < end)
                .where(QuestionRow.asked_at >= at)
                .where((QuestionRow.asked_at > at) | (QuestionRow.id > last))
                .where(QuestionRow.state == "posted", QuestionRow.answer.is_not(None))
                .order_by(QuestionRow.asked_at, QuestionRow.id)
                .limit(_PAGE)
            )
            with self.engine.connect() as connection:
                rows = connection.execute(query).all()
            for row in rows:
                documents = {
                    one.document for one in decode_answer(row.answer).citations if one.document
                }
                counts.update((document, _midnight(row.asked_at.date())) for document in documents)
            if len(rows) < _PAGE:
                return counts
            after = (rows[-1].asked_at, rows[-1].id)


def today_utc() -> date:
    return datetime.now(UTC).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())


class HelpfulPlaceStore:
    """The text of cited places when a user marked an answer helpful."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def new_verdicts(self, since: datetime) -> list[tuple[str, datetime]]:
        """(question id, time) of *Helpful* verdicts that were not processed yet."""
        processed = and_(
            HelpfulSeenRow.question_id == FeedbackRow.question_id,
            HelpfulSeenRow.given_at >= FeedbackRow.given_at,
        )
        query = (
            select(FeedbackRow.question_id, func.max(FeedbackRow.given_at))
            .outerjoin(HelpfulSeenRow, processed)
            .where(FeedbackRow.verdict == "helpful", HelpfulSeenRow.question_id.is_(None))
            .where(FeedbackRow.given_at >= since)
            .group_by(FeedbackRow.question_id)
        )
        with self._engine.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(query)]

    def replace(
        self, question_id: str, domain: str, given_at: datetime, places: Sequence[Mapping[str, Any]]
    ) -> None:
        """Store the places of a verdict's answer. `places`: place, document and kept of each."""
        common = {"question_id": question_id, "domain": domain}
        rows = [{**common, **place, "marked_at": given_at} for place in places]
        try:
            with self._engine.begin() as connection:
                for row in (HelpedPlaceRow, HelpfulSeenRow):
                    connection.execute(delete(row).where(row.question_id == question_id))
                if rows:
                    connection.execute(insert(HelpedPlaceRow), rows)
                connection.execute(insert(HelpfulSeenRow).values(**common, given_at=given_at))
        except IntegrityError:
            return  # another worker has just done it

    def places(self, domain: str, documents: Collection[str]) -> list[tuple[str, datetime]]:
        """(place as JSON, when it was marked helpful), newest first."""
        helpful = select(FeedbackRow.question_id).where(FeedbackRow.verdict == "helpful")
        query = (
            select(HelpedPlaceRow.kept, HelpedPlaceRow.marked_at)
            .where(HelpedPlaceRow.domain == domain, HelpedPlaceRow.document.in_(documents))
            .where(HelpedPlaceRow.question_id.in_(helpful))
            .order_by(HelpedPlaceRow.marked_at.desc())
            .limit(1_000)
        )
        with self._engine.connect() as connection:
            return [(row.kept, row.marked_at) for row in connection.execute(query)]
