"""Statements that all stores use, and a health check."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar, cast

import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Engine, Table, delete, insert, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase

from config.errors import StorageFailed

log = structlog.get_logger()

LOOK_SECONDS = 2.0
LATE_LOOKS = 4
"""A check that hangs for this many intervals counts as failed."""


_T = TypeVar("_T")


def now() -> datetime:
    """UTC without a zone: SQLite and PostgreSQL store it the same."""
    return naive_utc(datetime.now(UTC))


def naive_utc(moment: datetime) -> datetime:
    """An aware time as `now` gives it."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def table_of(mapped: type[DeclarativeBase]) -> Table:
    return cast("Table", mapped.__table__)


def batches(values: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """Lists short enough for one statement of any database, which limits its bound values."""
    remaining = list(values)
    for first in range(0, len(remaining), size):
        yield remaining[first : first + size]


def insert_once(engine: Engine, row: type[DeclarativeBase], /, **values: object) -> bool:
    """Insert a row in a transaction of its own. False, and no change, where its key exists."""
    try:
        with engine.begin() as connection:
            connection.execute(insert(row).values(**values))
    except IntegrityError:
        return False
    return True


def replace_row(
    connection: Connection, table: Table | type[DeclarativeBase], /, **values: object
) -> None:
    """Insert a row in place of the one with the same primary key, within a transaction."""
    core = table if isinstance(table, Table) else table_of(table)
    same = [column == values[column.name] for column in core.primary_key]
    connection.execute(delete(core).where(*same))
    connection.execute(insert(core).values(**values))


def read_stored(adapter: TypeAdapter[_T], text: str, what: str) -> _T:
    """A value from its stored JSON. Raises StorageFailed, which quotes none of it: pydantic's error
    would carry people's words into the log."""
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        problem = f"a stored {what} can't be read: {error.error_count()} wrong fields"
    raise StorageFailed(problem, remedy="it may be of another release")


class DatabaseWatch:
    """Checks in a thread whether the database answers; a `telemetry.health.HealthSource`.

    `start` and `stop` belong to a server's lifespan."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopping = threading.Event()
        self._answered_at = time.monotonic()
        self._answers = True

    def start(self) -> None:
        """Returns at once."""
        threading.Thread(target=self._run, name="database-watch", daemon=True).start()

    def stop(self) -> None:
        """Does not wait: a check that hangs ends with the process."""
        self._stopping.set()

    def missing(self) -> dict[str, str]:
        """Makes no query."""
        late = time.monotonic() - self._answered_at > LATE_LOOKS * LOOK_SECONDS
        return {} if self._answers and not late else {"database": "the database is away"}

    def observe(self) -> None:
        """It has no gauges."""

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            answered = self._ask()
            if answered != self._answers:
                log.warning("the database is back" if answered else "lost the database")
            self._answers = answered
            if answered:
                self._answered_at = time.monotonic()

    def _ask(self) -> bool:
        try:
            with self._engine.connect() as connection:
                connection.execute(text("SELECT 1"))
        except (SQLAlchemyError, OSError):
            return False
        return True
