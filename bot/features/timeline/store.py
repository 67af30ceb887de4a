"""The Google Docs in which timelines are saved: one for each thread, made by one worker."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Engine, String, Text, and_, delete, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.questions.personal import PersonalTable
from durable.database import insert_once, now, table_of
from durable.migration import migrate

ABANDONED_AFTER = timedelta(minutes=10)
"""The document has a mark by which it is found: whoever takes over makes no second one."""


class _Base(DeclarativeBase):
    pass


class TimelineDocumentRow(_Base):
    __tablename__ = "bot_timeline_documents"

    channel: Mapped[str] = mapped_column(String(40), primary_key=True)
    thread_ts: Mapped[str] = mapped_column(String(40), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    event_id: Mapped[str] = mapped_column(String(120), comment="hash of the press that saves it")
    url: Mapped[str] = mapped_column(Text, default="", comment="empty until it is saved")
    at: Mapped[datetime]


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(TimelineDocumentRow), at="at", plain="channel thread_ts event_id url"
    ),
)


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _Base.metadata, "timelines")


class TimelineStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def claim(
        self, channel: str, thread_ts: str, *, event_id: str, domain: str
    ) -> tuple[bool, str]:
        """(whether this press saves the thread's document, its URL once it is saved)."""
        insert_once(
            self._engine, TimelineDocumentRow, channel=channel, thread_ts=thread_ts,
            event_id=event_id, domain=domain, url="", at=now(),
        )  # fmt: skip
        row = TimelineDocumentRow
        is_ours = and_(row.channel == channel, row.thread_ts == thread_ts)
        is_stale = and_(row.url == "", row.at < now() - ABANDONED_AFTER)
        take_over = update(row).where(is_ours, is_stale).values(event_id=event_id, at=now())
        with self._engine.begin() as connection:
            connection.execute(take_over)
            query = select(row.event_id, row.url).where(is_ours)
            owner, url = connection.execute(query).one()
        return owner == event_id, url

    def saved(self, event_id: str, url: str) -> None:
        change = update(TimelineDocumentRow).where(TimelineDocumentRow.event_id == event_id)
        with self._engine.begin() as connection:
            connection.execute(change.values(url=url))

    def release(self, event_id: str) -> None:
        """After a refusal: the next press tries again."""
        with self._engine.begin() as connection:
            connection.execute(
                delete(TimelineDocumentRow).where(TimelineDocumentRow.event_id == event_id)
            )
