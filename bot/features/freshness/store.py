"""What the bot remembers of documents that grow old: who was helped by what, what is flagged, what
contradicts what.

How often each document is cited: a count for each day, of nobody in particular."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)

from agents.freshness.stale_documents import COUNTED_DAYS
from bot.db import PersonalTable
from bot.questions.store import decoded
from bot.questions.tables import QuestionRow
from config.domain import Domain
from durable.migration import migrate

_METADATA = MetaData()

helpful_seen = Table(
    "bot_helpful_seen",
    _METADATA,
    Column("question_id", String(80), primary_key=True, comment="its verdict was looked at"),
    Column("domain", String(64), nullable=False),
    Column("given_at", DateTime, nullable=False, comment="when that verdict was given, UTC"),
)

helped_places = Table(
    "bot_helped_places",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("place", String(24), primary_key=True, comment="a mark of document, heading and row"),
    Column("domain", String(64), nullable=False),
    Column("document", String(255), nullable=False),
    Column("kept", Text, nullable=False, comment="what the place said, as JSON"),
    Column("marked_at", DateTime, nullable=False, comment="when it was marked helpful, UTC"),
    Index("bot_helped_places_document", "domain", "document"),
)

cited_days = Table(
    "bot_cited_days",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("document", String(255), primary_key=True, comment="'': the day was counted"),
    Column("day", DateTime, primary_key=True, comment="its midnight, UTC"),
    Column("answers", Integer, nullable=False, comment="answers that cited it"),
)

owners_reminded = Table(
    "bot_owners_reminded",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("document", String(255), primary_key=True, comment="'': the week's reminders are done"),
    Column("reminded_at", DateTime, nullable=False),
)

flags = Table(
    "bot_flags",
    _METADATA,
    Column("id", String(40), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("document", String(255), nullable=False),
    Column("place", String(24), nullable=False),
    Column("kept", Text, nullable=False, comment="what the place said, as JSON"),
    Column("words", Text, nullable=False, comment="what is out of date, in a reader's words"),
    Column("flagged_by", String(40), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("outcome", String(16), nullable=False, default="", comment="'' while it waits"),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("flagged_at", DateTime, nullable=False),
    Index("bot_flags_document", "domain", "document"),
)

contradictions = Table(
    "bot_contradictions",
    _METADATA,
    Column("id", String(40), primary_key=True, comment="of two places: the same in either order"),
    Column("domain", String(64), nullable=False),
    Column("one", Text, nullable=False, comment="a place and marks of what it said, as JSON"),
    Column("other", Text, nullable=False),
    Column("about", Text, nullable=False, comment="on what they differ"),
    Column("state", String(16), nullable=False, comment="open | one | other | none"),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("found_at", DateTime, nullable=False, comment="when it last became open"),
    Column("met_at", DateTime, nullable=False, comment="when it was last met"),
    Index("bot_contradictions_domain", "domain", "state"),
)

contradictions_met = Table(
    "bot_contradictions_met",
    _METADATA,
    Column("contradiction", String(40), primary_key=True),
    Column("question_id", String(80), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("met_at", DateTime, nullable=False),
)

AGING_KEPT = (
    PersonalTable(table=helpful_seen, at="given_at", question="question_id"),
    PersonalTable(table=helped_places, at="marked_at", question="question_id"),
    PersonalTable(table=cited_days, at="day"),
    PersonalTable(
        table=flags,
        at="flagged_at",
        people=("flagged_by", "decided_by"),
        words={"words": "flagged_by"},
        question="question_id",
    ),
    PersonalTable(table=contradictions, at="met_at", people=("decided_by",)),
    PersonalTable(table=contradictions_met, at="met_at", question="question_id"),
)


def create_aging_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "aging")


_PAGE = 200
_DAY = timedelta(days=1)
_COUNTED = ""
"""Stands for the document in a row that says of its day that it was counted."""


@dataclass(frozen=True, kw_only=True)
class CitationCountStore:
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
                cited = {one.document for one in decoded(row.answer).citations if one.document}
                counts.update((document, _midnight(row.asked_at.date())) for document in cited)
            if len(rows) < _PAGE:
                return counts
            after = (rows[-1].asked_at, rows[-1].id)


def today_utc() -> date:
    return datetime.now(UTC).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())
