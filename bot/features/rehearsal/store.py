"""Rehearsals that go on: which alerts, how far, and the counts of their summary.

A row lives as long as its rehearsal, and holds nobody's words: neither those of the alert nor those
of the person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter
from sqlalchemy import Engine, String, Text, delete, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.questions.personal import PersonalTable
from durable.database import insert_once, read_stored, table_of
from durable.migration import migrate

Stage = Literal["asked", "answered"]


class _Base(DeclarativeBase):
    pass


class RehearsalRow(_Base):
    __tablename__ = "bot_rehearsals"

    id: Mapped[str] = mapped_column(String(80), primary_key=True, comment="channel:thread")
    domain: Mapped[str] = mapped_column(String(64), comment="of the present alert")
    user: Mapped[str] = mapped_column(String(40))
    items: Mapped[str] = mapped_column(Text, comment="domain, question and name of each, as JSON")
    position: Mapped[int] = mapped_column(comment="of the present alert, from 0")
    stage: Mapped[Stage] = mapped_column(String(16), comment="asked | answered")
    event: Mapped[str] = mapped_column(String(160), comment="the message or press that led here")
    asked_ts: Mapped[str] = mapped_column(String(40), comment="of the alert's message")
    done: Mapped[int]
    entries: Mapped[int] = mapped_column(comment="that were named")
    named: Mapped[int] = mapped_column(comment="of the steps")
    steps: Mapped[int]
    started_at: Mapped[datetime]


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(RehearsalRow), owner="user", plain="id items stage event asked_ts",
        until="the end of the rehearsal, at most a day",
    ),
)  # fmt: skip


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _Base.metadata, "rehearsals")


@dataclass(frozen=True, kw_only=True)
class RehearsedAlert:
    """Field names are JSON keys."""

    domain: str
    name: str
    question: str = ""
    """Id of the alert's message; empty for an alert that is made up."""


_items = TypeAdapter(tuple[RehearsedAlert, ...])


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    id: str
    user: str
    items: tuple[RehearsedAlert, ...]
    event: str
    started_at: datetime
    """UTC without a zone."""
    position: int = 0
    stage: Stage = "asked"
    asked_ts: str = ""
    """Empty until the alert's message is on record."""
    done: int = 0
    """Alerts that were answered or shown."""
    entries: int = 0
    """That were named."""
    named: int = 0
    steps: int = 0
    """Steps of the alerts so far; `named`: those that the answers had."""

    @property
    def item(self) -> RehearsedAlert:
        return self.items[self.position]

    @property
    def is_last(self) -> bool:
        return self.position + 1 == len(self.items)


class RehearsalStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def begin(self, rehearsal: Rehearsal) -> bool:
        """False where one goes on in the thread."""
        return insert_once(self._engine, RehearsalRow, **_values(rehearsal))

    def get(self, rehearsal_id: str) -> Rehearsal | None:
        query = select(RehearsalRow).where(RehearsalRow.id == rehearsal_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        values = {name: row[name] for name in Rehearsal.__dataclass_fields__}
        values["items"] = read_stored(_items, row["items"], "rehearsal")
        return Rehearsal(**values)

    def move(self, before: Rehearsal, after: Rehearsal) -> bool:
        """False where another message or press was first."""
        change = update(RehearsalRow).where(
            RehearsalRow.id == before.id,
            RehearsalRow.position == before.position,
            RehearsalRow.stage == before.stage,
        )
        with self._engine.begin() as connection:
            return connection.execute(change.values(**_values(after))).rowcount > 0

    def delete(self, rehearsal_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(RehearsalRow).where(RehearsalRow.id == rehearsal_id))

    def delete_before(self, moment: datetime) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(RehearsalRow).where(RehearsalRow.started_at < moment))


def _values(rehearsal: Rehearsal) -> dict[str, object]:
    values = asdict(rehearsal)
    items = _items.dump_json(rehearsal.items).decode()
    return {**values, "items": items, "domain": rehearsal.item.domain}
