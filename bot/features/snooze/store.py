"""Snoozes, and the alert threads in which people wrote, in the shared database."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Index, Select, String, Text, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.features.snooze.waking import End, Snooze
from bot.questions.personal import Authors, PersonalTable
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow
from durable.database import batches, insert_once, table_of
from durable.migration import migrate


class _Base(DeclarativeBase):
    pass


class SnoozeRow(_Base):
    __tablename__ = "bot_snoozes"
    __table_args__ = (
        Index("bot_snoozes_kind", "kind", "until"),
        Index("bot_snoozes_domain", "domain", "until"),
        Index("bot_snoozes_question", "question_id"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True, comment="of the form")
    kind: Mapped[str] = mapped_column(String(40), comment="as in bot_alert_episodes")
    name: Mapped[str] = mapped_column(Text, comment="of the alert")
    domain: Mapped[str] = mapped_column(String(64))
    channel: Mapped[str] = mapped_column(String(40))
    question_id: Mapped[str] = mapped_column(String(80))
    by: Mapped[str] = mapped_column(String(40))
    reason: Mapped[str] = mapped_column(Text)
    severities: Mapped[str] = mapped_column(Text, comment="before it, as a JSON list")
    places: Mapped[str] = mapped_column(Text, comment="before it, as a JSON list")
    rate: Mapped[float] = mapped_column(comment="firings an hour before it")
    since: Mapped[datetime]
    until: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    end: Mapped[str] = mapped_column(
        String(16),
        default="",
        comment="severity | place | rate | time | person | replaced | deleted",
    )
    ts: Mapped[str] = mapped_column(String(40), default="", comment="of its line in the thread")


class TalkRow(_Base):
    __tablename__ = "bot_alert_talks"

    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(comment="when a person first wrote in its thread")


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(SnoozeRow), at="since", question="question_id", people=("by",),
        words={"reason": Authors(by=("by",))},
        plain="id kind name channel severities places end ts",
    ),
    PersonalTable(table=table_of(TalkRow), at="at", question="question_id"),
)  # fmt: skip


_LISTS = ("severities", "places")


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _Base.metadata, "snoozes")


class SnoozeStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def add(self, snooze: Snooze) -> None:
        """A second time it changes nothing."""
        lists = {name: json.dumps(getattr(snooze, name)) for name in _LISTS}
        insert_once(self._engine, SnoozeRow, **{**vars(snooze), **lists})

    def get(self, snooze_id: str) -> Snooze | None:
        return next(iter(self._all(select(SnoozeRow).where(SnoozeRow.id == snooze_id))), None)

    def running(self, kind: str, at: datetime) -> list[Snooze]:
        """The latest first: only that one counts."""
        query = select(SnoozeRow).where(
            SnoozeRow.kind == kind, SnoozeRow.until > at, SnoozeRow.ended_at.is_(None)
        )
        return self._all(query.order_by(SnoozeRow.since.desc(), SnoozeRow.id))

    def running_in(self, domain: str, at: datetime) -> list[Snooze]:
        """Of a domain; what ends first comes first."""
        query = select(SnoozeRow).where(
            SnoozeRow.domain == domain, SnoozeRow.until > at, SnoozeRow.ended_at.is_(None)
        )
        return self._all(query.order_by(SnoozeRow.until, SnoozeRow.id))

    def of_questions(self, questions: Collection[str]) -> list[Snooze]:
        return self._all(select(SnoozeRow).where(SnoozeRow.question_id.in_(questions)))

    def end(self, snooze: Snooze, end: End, at: datetime) -> bool:
        """False where it has ended already."""
        change = update(SnoozeRow).where(SnoozeRow.id == snooze.id, SnoozeRow.ended_at.is_(None))
        with self._engine.begin() as connection:
            values = {"ended_at": at, "end": end}
            return connection.execute(change.values(**values)).rowcount > 0

    def place(self, snooze: Snooze, ts: str) -> None:
        """Record its line in the thread."""
        with self._engine.begin() as connection:
            change = update(SnoozeRow).where(SnoozeRow.id == snooze.id)
            connection.execute(change.values(ts=ts))

    def add_talk(self, question_id: str, domain: str, at: datetime) -> None:
        insert_once(self._engine, TalkRow, question_id=question_id, domain=domain, at=at)

    def acted_on(self, questions: Collection[str]) -> set[str]:
        """Those with a snooze, feedback, a hand-off, a tick or a person's message."""
        columns = (
            SnoozeRow.question_id, TalkRow.question_id, FeedbackRow.question_id,
            HandoffRow.question_id,
        )  # fmt: skip
        acted: set[str] = set()
        for batch in batches(questions):
            queries = [select(one).where(one.in_(batch)) for one in columns]
            ticked = select(QuestionRow.id).where(QuestionRow.resolved_by != "")
            queries.append(ticked.where(QuestionRow.id.in_(batch)))
            with self._engine.connect() as connection:
                for query in queries:
                    acted |= set(connection.scalars(query))
        return acted

    def _all(self, query: Select[Any]) -> list[Snooze]:
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [
            Snooze(**{**row, **{name: tuple(json.loads(row[name])) for name in _LISTS}})
            for row in rows
        ]
