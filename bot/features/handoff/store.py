"""Hand-offs and their calls in the database. Each call is made once, by any worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, String, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.questions.personal import PersonalTable
from bot.questions.tables import HandoffRow
from bot.slack.messages import ERASED
from durable.database import insert_once, now, table_of
from durable.migration import expanding, migrate

FIRST = "first"
AGAIN = "again"
LEVEL = "level-"
"""Followed by the level's number, from 1."""
SHIFT = "shift-"
"""Followed by the start of the shift; for a level's rota the level's number comes before the start.
The step calls the person who comes on call after everyone was called."""
FREE = "freed"
"""The person who took it has left."""
NOTICE = "told-"
"""Not a call: a notice of the hand-off's outcome."""
DIRECT = "."
"""Between a step and the number of a person who was called in a direct message of their own."""
NO_MESSAGE = "-"
"""In place of a timestamp where no message is posted."""


class Base(DeclarativeBase):
    """Migration part `calls`; `bot_handoffs` is in `bot/questions/tables.py`."""


class CallRow(Base):
    __tablename__ = "bot_calls"
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    step: Mapped[str] = mapped_column(
        String(40), primary_key=True, comment="first | again | level-2 | … | told-…"
    )
    domain: Mapped[str] = mapped_column(String(64), default="")
    who: Mapped[str] = mapped_column(String(40), default="", comment="person or group; '' nobody")
    label: Mapped[str] = mapped_column(String(80), default="", comment="the level's name")
    why: Mapped[str] = mapped_column(String(200), default="", comment="why somebody else or nobody")
    called_at: Mapped[datetime] = mapped_column(comment="UTC")
    ts: Mapped[str] = mapped_column(String(40), default="", comment="of its message, once posted")
    channel: Mapped[str] = mapped_column(
        String(40), server_default="", comment="of a direct message"
    )


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(CallRow), at="called_at", people=("who",), question="question_id",
        plain="step label why ts channel",
    ),
)  # fmt: skip
_STEPS = (expanding("ALTER TABLE bot_calls ADD COLUMN channel VARCHAR(40) NOT NULL DEFAULT ''"),)


def create_tables(engine: Engine) -> None:
    migrate(engine, Base.metadata, "calls", _STEPS)


@dataclass(frozen=True, kw_only=True)
class Handoff:
    """The hand-off of one question."""

    question_id: str
    channel: str
    card_ts: str
    called: str
    requested_by: str
    taken_by: str
    resolved_by: str
    resolution: str
    requested_at: datetime | None = None
    """UTC, without a zone."""
    taken_at: datetime | None = None
    resolved_at: datetime | None = None

    @property
    def is_taken(self) -> bool:
        """Whether a person has taken it and was not erased since."""
        return self.taken_by not in ("", ERASED)


class HandoffStore:
    """One hand-off for each question."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, question_id: str, channel: str, *, called: str, requested_by: str) -> bool:
        """False where there is one."""
        return insert_once(
            self._engine, HandoffRow, question_id=question_id, channel=channel, called=called,
            requested_by=requested_by, requested_at=now(),
        )  # fmt: skip

    def get(self, question_id: str) -> Handoff | None:
        return next(iter(self._where(HandoffRow.question_id == question_id)), None)

    def of_card(self, channel: str, ts: str) -> Handoff | None:
        handoffs = self._where(HandoffRow.channel == channel, HandoffRow.card_ts == ts)
        return next(iter(handoffs), None)

    def since(self, at: datetime) -> list[Handoff]:
        """Requested since then, oldest first; `at`: UTC, without a zone."""
        return self._where(HandoffRow.requested_at >= at)

    def has_open(self, channel: str) -> bool:
        return bool(self._where(HandoffRow.channel == channel, HandoffRow.resolved_by == ""))

    def set(self, question_id: str, *only_if: ColumnElement[bool], **values: Any) -> bool:
        """False where `only_if` isn't so any more."""
        change = update(HandoffRow).where(HandoffRow.question_id == question_id, *only_if)
        with self._engine.begin() as connection:
            return connection.execute(change.values(**values)).rowcount > 0

    def _where(self, *where: ColumnElement[bool]) -> list[Handoff]:
        query = select(HandoffRow).where(*where).order_by(HandoffRow.requested_at)
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [Handoff(**{one.name: row[one.name] for one in fields(Handoff)}) for row in rows]


@dataclass(frozen=True, kw_only=True)
class HandoffCall:
    question_id: str
    step: str
    domain: str = ""
    who: str = ""
    label: str = ""
    why: str = ""
    called_at: datetime
    """UTC, without a zone."""
    ts: str = ""
    channel: str = ""
    """The direct message's channel, from Slack's reply."""


class CallStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def of(self, question_id: str) -> Sequence[HandoffCall]:
        """One for each step of the escalation, oldest first."""
        calls = self.with_messages(question_id)
        return [one for one in calls if not one.step.startswith(NOTICE) and DIRECT not in one.step]

    def with_messages(self, question_id: str) -> Sequence[HandoffCall]:
        """Calls with messages, each notice, and each person who was called in a direct message."""
        query = select(CallRow).where(CallRow.question_id == question_id)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(CallRow.called_at)).mappings().all()
        return [HandoffCall(**row) for row in rows]

    def get(self, question_id: str, step: str) -> HandoffCall | None:
        calls = self.with_messages(question_id)
        return next((one for one in calls if one.step == step), None)

    def add(
        self, question_id: str, step: str, domain: str, *, who: str, label: str = "", why: str = ""
    ) -> bool:
        """False where the step exists; it stays as it is."""
        return insert_once(
            self._engine, CallRow, question_id=question_id, step=step, domain=domain, who=who,
            label=label[:80], why=why[:200], called_at=now(),
        )  # fmt: skip

    def set(self, question_id: str, step: str, **values: str) -> None:
        """`ts` of its message, `channel` of the conversation that Slack put it into."""
        change = update(CallRow).where(CallRow.question_id == question_id, CallRow.step == step)
        with self._engine.begin() as connection:
            connection.execute(change.values(**values))
