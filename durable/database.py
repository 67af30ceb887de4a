"""Connections to PostgreSQL, statements that all stores use, and a health check."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    QueuePool,
    Table,
    create_engine,
    delete,
    event,
    insert,
    make_url,
    text,
)
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.pool import ConnectionPoolEntry, Pool

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


NOTICES: Mapping[str, int] = {
    # Waiting and new statements notice a server that vanished without closing its connections
    # within about ten seconds, instead of the system's two hours.
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""libpq's parameters. `tcp_user_timeout` is in milliseconds, the times before it in seconds."""
SERVER_NOTICES = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""The server releases a worker's locks within half a minute after its machine vanished."""
_RETRY_SECONDS = 0.5


class _Pool(QueuePool):
    """Closes connections that a thread returns after the pool was disposed. Otherwise they stay
    open until garbage collection."""

    over = False

    def dispose(self) -> None:
        self.over = True
        super().dispose()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        if self.over:
            super().dispose()


def postgres_engine(url: str | URL, poolclass: type[Pool] = _Pool, **options: Any) -> Engine:
    """An engine for psycopg; `options` as for SQLAlchemy's `create_engine`.

    Errors hide their parameters: message text must not reach a log."""
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        hide_parameters=True,
        pool_pre_ping=True,
        connect_args={**NOTICES, "options": SERVER_NOTICES},
        poolclass=poolclass,
        **options,
    )


def end(engine: Engine) -> None:
    """Dispose of an engine for good. A thread can still use it; its connection is closed when it
    is returned."""
    engine.dispose()
    if isinstance(engine.pool, _Pool):
        engine.pool.over = True


def wait_for_the_database(engine: Engine, stopping: threading.Event, seconds: float) -> None:
    """New connections of this engine wait for an unreachable database, at most `seconds`.

    For work without a deadline: a caller that fails at once retries after growing pauses, and may
    sleep for another minute after the database is back."""

    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Dialect, _record: Any, arguments: Any, options: Any) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            try:
                return dialect.connect(*arguments, **options)
            except Exception:
                if stopping.wait(_RETRY_SECONDS) or time.monotonic() > deadline:
                    raise
