"""Documents due for review: listed for admins, suggested to their owners, named below answers; and
how often each document is cited, a count for each day, of nobody in particular."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import Engine, delete, func, insert, select

from agents.answer import Answer
from agents.freshness.stale_documents import (
    COUNTED_DAYS,
    StaleDocument,
    on_day,
    passed_at,
    review_overdue,
    stale_documents,
)
from bot.blocks.kit import Json, header, link, section, short
from bot.blocks.sanitize.text import sanitize_plain
from bot.bus.events import Suggestion
from bot.features.freshness.places import SnapshotOf
from bot.features.freshness.store import CitedDayRow, ReminderStore
from bot.questions.store import decode_answer
from bot.questions.tables import QuestionRow
from config.domain import Domain
from durable.database import now

MAX_REMINDERS = 3
"""Documents of a domain in a week."""
_WEEK, _QUARTER = timedelta(days=7), timedelta(days=90)
_MAX_LINES = 3


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


@dataclass(frozen=True, kw_only=True)
class OverdueDocuments:
    reminders: ReminderStore
    counts: CitationCountStore
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]
    clock: Callable[[], datetime] = now
    """UTC, without a zone."""

    def of(self, domain: Domain) -> list[StaleDocument]:
        """Most important first."""
        snapshot = self.snapshot_of(domain.domain)
        if snapshot is None:
            return []
        return stale_documents(
            snapshot.documents.values(),
            self.counts.totals(domain.domain, today_utc()),
            review_months=domain.aging.review_months,
            now=self._now(),
        )

    def due_since(self, domain: Domain, since: datetime) -> Iterator[StaleDocument]:
        """Those whose own review date has passed since `since`, aware."""
        return (
            one for one in self.of(domain) if one.review_by and passed_at(one.review_by) > since
        )

    def remind(self, domain: Domain) -> None:
        """Remind the owners of a few documents once a week, of each once a quarter at most."""
        reminders = self.reminders.last(domain.domain)
        last = reminders.get("")
        moment = self.clock()
        if not domain.aging.remind or (last and moment - last < _WEEK):
            return
        recent = {one for one, at in reminders.items() if one and moment - at < _QUARTER}
        due = [one for one in self.of(domain) if one.id not in recent][:MAX_REMINDERS]
        for one in due:
            self.suggest(_suggestion(domain.domain, one, reminders.get(one.id)))
        self.reminders.set(domain.domain, [one.id for one in due], moment)

    def notes(self, domain: str, answer: Answer) -> Iterator[str]:
        """About the first cited document that is past its own review date."""
        snapshot = self.snapshot_of(domain)
        cited = dict.fromkeys(one.document for one in answer.citations if one.document)
        for card in snapshot.cards(cited) if snapshot else ():
            if day := review_overdue(card, self._now()):
                title = short(card.title, 150)
                yield f"{title} says that it was to be reviewed by {on_day(day)}, which is past."
                return

    def home(self, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            lines = [
                f"• {link(one.url, short(one.title, 120))}: {one.reason()}"
                for one in self.of(domain)
            ]
            if not lines:
                continue
            more = len(lines) - _MAX_LINES
            if more > 0:
                command = f"`oncall docs stale {domain.domain}`"
                lines[_MAX_LINES:] = [f"and {more} more: {command} lists them"]
            yield header(f"{sanitize_plain(domain.title)}: documents to look over")
            yield section("\n".join(lines), block_id=f"aging_stale_{domain.domain}")

    def _now(self) -> datetime:
        return self.clock().replace(tzinfo=UTC)


def _suggestion(domain: str, one: StaleDocument, last: datetime | None) -> Suggestion:
    """`last`: when its owner was last reminded; the same suggestion until that changes."""
    mark = hashlib.sha256(f"{domain}\x1f{one.id}".encode()).hexdigest()[:16]
    return Suggestion(
        id=f"aging-{mark}-{last:%Y%m%d}" if last else f"aging-{mark}",
        kind="review",
        domain=domain,
        document=one.id,
        question=f"{one.reason()}."[:1].upper() + f"{one.reason()}."[1:],
    )
