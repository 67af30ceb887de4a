"""What admins are to be told, kept until they can be: one message to each of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    DateTime,
    Delete,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.engine import Connection

from durable.migration import migrate

Tell = Callable[[str, Sequence[str]], bool]
"""Tells a person (a Slack user id) something in lines. False: not now, and worth another try."""
TRIED_FOR = timedelta(days=1)
"""After that it is old news, and the run's record says the same."""
PAUSE = timedelta(seconds=60)
"""Between two tries, and for whoever is trying: one that died in it is followed by another."""

_METADATA = MetaData()
_NOTICES = Table(
    "ingest_notices",
    _METADATA,
    Column("id", String(32), primary_key=True),
    Column("person", String(64), nullable=False, comment="a Slack user id"),
    Column("lines", Text, nullable=False, comment="JSON"),
    Column("kept_at", DateTime, nullable=False, comment="UTC"),
    Column("try_at", DateTime, nullable=False, comment="UTC"),
)


class KeptNotices:
    """Thread-safe, for any number of runners; raises what the database raises."""

    def __init__(self, engine: Engine, pause: timedelta = PAUSE) -> None:
        self._engine = engine
        self._pause = pause
        self._migrated = False

    def keep(
        self, people: Iterable[str], lines: Sequence[str], now: datetime, connection: Connection
    ) -> None:
        """In the caller's transaction; `make_room` comes before it."""
        moment, rows = _stored(now), []
        for person in sorted(set(people)):
            row = {"id": uuid.uuid4().hex, "person": person, "lines": json.dumps(list(lines))}
            rows.append({**row, "kept_at": moment, "try_at": moment})
        if rows:
            connection.execute(_too_old(moment))
            connection.execute(insert(_NOTICES), rows)

    def send(self, tell: Tell, now: Callable[[], datetime]) -> None:
        """Tell what is due, the oldest first. After one that could not be told all wait: the way
        to everybody is the same, and an attempt may take half a minute."""
        self.make_room()
        for row in self._due(_stored(now())):
            if not self._is_mine(row, now()):
                continue
            told = tell(row.person, json.loads(row.lines))
            with self._engine.begin() as connection:
                if told:
                    connection.execute(delete(_NOTICES).where(_NOTICES.c.id == row.id))
                    continue
                connection.execute(update(_NOTICES).values(try_at=_stored(now() + self._pause)))
                return

    def _due(self, now: datetime) -> Sequence[Any]:
        # One kept by a clock that was ahead is due as well.
        is_due = or_(_NOTICES.c.try_at <= now, _NOTICES.c.kept_at > now)
        with self._engine.begin() as connection:
            connection.execute(_too_old(now))
            return connection.execute(
                select(_NOTICES).where(is_due).order_by(_NOTICES.c.kept_at)
            ).all()

    def _is_mine(self, row: Any, now: datetime) -> bool:
        """No other runner tries while this one does."""
        same = (_NOTICES.c.id == row.id) & (_NOTICES.c.try_at == row.try_at)
        later = {"try_at": _stored(now + self._pause), "kept_at": min(row.kept_at, _stored(now))}
        with self._engine.begin() as connection:
            return bool(connection.execute(update(_NOTICES).where(same).values(later)).rowcount)

    def make_room(self) -> None:
        if not self._migrated:
            migrate(self._engine, _METADATA, "ingest-notices")
            self._migrated = True


def _too_old(now: datetime) -> Delete:
    return delete(_NOTICES).where(_NOTICES.c.kept_at < now - TRIED_FOR)


def _stored(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
