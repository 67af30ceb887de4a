"""Timers in the shared database: set by any worker, due once, whoever looks first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Index,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from durable.migration import migrate

_METADATA = MetaData()
_TIMERS = Table(
    "bot_timers",
    _METADATA,
    Column("key", String(160), primary_key=True, comment="one timer for each; set again, it moves"),
    Column("kind", String(40), nullable=False, comment="who acts on it: see bot/feature.py"),
    Column("subject", String(120), nullable=False, comment="an id; never anybody's words"),
    Column("due_at", DateTime, nullable=False, comment="UTC"),
    Index("bot_timers_due", "due_at"),
)


@dataclass(frozen=True, kw_only=True)
class Timer:
    kind: str
    subject: str
    due_at: datetime
    """UTC, aware."""

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.subject}"

    @property
    def event_id(self) -> str:
        """The same for every worker that finds it due, so that the inbox takes it once."""
        return f"timer-{self.key}-{self.due_at:%Y%m%dT%H%M%S.%f}"


class Timers:
    """One timer for each kind and subject."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        migrate(engine, _METADATA, "timers")

    def set(self, kind: str, subject: str, due_at: datetime, *, keep: bool = False) -> None:
        """`due_at`: aware. `keep`: one that is set already stays as it is."""
        due = due_at.astimezone(UTC).replace(tzinfo=None)
        timer = Timer(kind=kind, subject=subject, due_at=due_at)
        values = {"kind": kind, "subject": subject, "due_at": due}
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(_TIMERS).values(key=timer.key, **values))
        except IntegrityError:
            if keep:
                return
            change = update(_TIMERS).where(_TIMERS.c.key == timer.key).values(**values)
            with self._engine.begin() as connection:
                connection.execute(change)

    def cancel(self, kind: str, subject: str) -> None:
        timer = Timer(kind=kind, subject=subject, due_at=datetime.now(UTC))
        with self._engine.begin() as connection:
            connection.execute(delete(_TIMERS).where(_TIMERS.c.key == timer.key))

    def due(self, now: datetime, *, limit: int = 500) -> Sequence[Timer]:
        """Those whose time has come, the longest due first."""
        at = now.astimezone(UTC).replace(tzinfo=None)
        query = select(_TIMERS).where(_TIMERS.c.due_at <= at).order_by(_TIMERS.c.due_at)
        with self._engine.connect() as connection:
            rows = connection.execute(query.limit(limit)).all()
        return [
            Timer(kind=row.kind, subject=row.subject, due_at=row.due_at.replace(tzinfo=UTC))
            for row in rows
        ]

    def handed_over(self, timer: Timer) -> None:
        """Forget it, unless it was set to another time meanwhile."""
        due = timer.due_at.replace(tzinfo=None)
        with self._engine.begin() as connection:
            connection.execute(
                delete(_TIMERS).where(_TIMERS.c.key == timer.key, _TIMERS.c.due_at == due)
            )
