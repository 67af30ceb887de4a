"""Signs of life: each process updates its row, and reports rows of others that stand still.

A frozen process serves no metrics and logs nothing, so the others report it. The rows also say
whether a job runner runs at all."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog
from sqlalchemy import (
    ColumnElement,
    Engine,
    Float,
    Select,
    String,
    cast,
    delete,
    extract,
    func,
    insert,
    inspect,
    literal,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import CopilotError
from durable.connection_limits import free_connections
from durable.connections import autocommit
from durable.migration import migrate
from telemetry import metrics

BEAT_SECONDS = 15.0
SILENT_SECONDS = 45.0
"""Three missed beats."""
LOST_SECONDS = 900.0
"""A row of this age belongs to a machine that is gone for good, and is no longer reported."""

CLOCK_SECONDS = 30.0
"""A clock that differs by more is wrong: times of day, ages and reminders are then."""

log = structlog.get_logger()


class _Base(DeclarativeBase):
    pass


class HeartbeatRow(_Base):
    __tablename__ = "process_heartbeats"

    process: Mapped[str] = mapped_column(String(16), primary_key=True, comment="bot, jobs or api")
    host: Mapped[str] = mapped_column(String(80), primary_key=True)
    pid: Mapped[int] = mapped_column(primary_key=True)
    beat_at: Mapped[float] = mapped_column(Float, comment="seconds since 1970, by the database")


@dataclass(frozen=True, kw_only=True)
class Sign:
    """The last sign of life of one process."""

    process: str
    host: str
    pid: int
    age_seconds: float

    @property
    def is_alive(self) -> bool:
        return self.age_seconds < SILENT_SECONDS


def last_signs(engine: Engine, process: str) -> Sequence[Sign]:
    """Of the processes of this name that did not stop in order; without lost ones.

    Creates nothing. Raises database errors."""
    if not inspect(engine).has_table(HeartbeatRow.__tablename__):
        return ()
    with engine.connect() as connection:
        rows = connection.execute(_ages(engine)).all()
    return [
        Sign(process=name, host=host, pid=pid, age_seconds=age)
        for name, host, pid, age, _ in rows
        if name == process
    ]


class Heartbeat:
    """The signs of life of this process, from `start` to `stop`; a `telemetry.health.HealthSource`.

    While the database is away there are none, and no other process is reported for that time."""

    def __init__(
        self, engine: Engine, process: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._mine = {"process": process, "host": socket.gethostname()[:80], "pid": os.getpid()}
        self._steady_since: float | None = None
        """Since when every beat of this process was in time; None after one that failed."""
        self._beaten_at = float("-inf")
        self._others: Sequence[Sign] = ()
        self._free_connections = self._clock_ahead = float("nan")
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Returns at once."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Delete the row: a process that stops in order is not missed."""
        self._stopping.set()
        if self._thread:
            self._thread.join(5)
            self._thread = None
        if self._steady_since is not None:  # otherwise the database would hold up the stop
            with suppress(SQLAlchemyError, OSError), self._engine.begin() as connection:
                connection.execute(delete(HeartbeatRow).filter_by(**self._mine))

    def missing(self) -> dict[str, str]:
        """Returns nothing: questions don't wait for a sign of life."""
        return {}

    def observe(self) -> None:
        """Set the gauges of silent processes, free connections and the clock, from the last
        beat."""
        metrics.CONNECTIONS_FREE.set(self._free_connections)
        metrics.CLOCK_AHEAD.set(self._clock_ahead)
        metrics.SILENT.clear()
        for one in sorted(self._others, key=lambda sign: sign.age_seconds):
            silent = 0.0 if one.is_alive else one.age_seconds
            metrics.SILENT.labels(one.process, one.host).set(silent)

    def prepare(self) -> None:
        """Create the table. Delete rows of killed processes here, and of lost machines."""
        migrate(self._engine, _Base.metadata, "heartbeats")
        with self._engine.begin() as connection:
            here = select(HeartbeatRow.process, HeartbeatRow.pid).filter_by(host=self._mine["host"])
            for process, pid in connection.execute(here).all():
                if not is_running(pid):
                    dead = {"process": process, "host": self._mine["host"], "pid": pid}
                    connection.execute(delete(HeartbeatRow).filter_by(**dead))
            lost = HeartbeatRow.beat_at < _database_time(self._engine) - LOST_SECONDS
            connection.execute(delete(HeartbeatRow).where(lost))

    def beat(self) -> None:
        """Update this process's row, and read the others'. Raises database errors."""
        now = self._clock()
        late = now - self._beaten_at > 2 * BEAT_SECONDS
        if self._steady_since is None or late:
            self._steady_since = now
        with autocommit(self._engine).connect() as connection:
            at = _database_time(self._engine)
            mine = update(HeartbeatRow).filter_by(**self._mine).values(beat_at=at)
            if not connection.execute(mine).rowcount:
                connection.execute(insert(HeartbeatRow).values(**self._mine, beat_at=at))
            asked_at = time.time()
            rows = connection.execute(_ages(self._engine)).all()
            self._compare_clocks(asked_at, rows[0].now)
            self._free_connections = free_connections(connection)
        self._beaten_at = now
        # Nobody could give a sign while this process could not either.
        steady = now - self._steady_since
        self._others = [
            Sign(process=process, host=host, pid=pid, age_seconds=min(age, steady))
            for process, host, pid, age, _ in rows
            if (process, host, pid) != tuple(self._mine.values())
        ]

    def _compare_clocks(self, asked_at: float, database_time: float) -> None:
        """Both in seconds since 1970. Says once that this machine's clock is wrong."""
        replied_at = time.time()
        if replied_at - asked_at > CLOCK_SECONDS:  # it stood still meanwhile, or was just corrected
            return
        was_wrong = abs(self._clock_ahead) > CLOCK_SECONDS
        self._clock_ahead = (asked_at + replied_at) / 2 - database_time
        if abs(self._clock_ahead) > CLOCK_SECONDS and not was_wrong:
            log.warning(
                "this machine's clock differs from the database's",
                ahead_seconds=round(self._clock_ahead),
            )

    def _run(self) -> None:
        prepared = False
        while True:
            try:
                if not prepared:
                    self.prepare()
                    prepared = True
                self.beat()
            except (
                SQLAlchemyError,
                OSError,
                CopilotError,
            ) as error:  # whoever needs the database reports it
                log.debug("no sign of life: database unavailable", cause=type(error).__name__)
                self._steady_since, self._others = None, ()
                self._free_connections = self._clock_ahead = float("nan")
            if self._stopping.wait(BEAT_SECONDS):
                return


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        pass
    return True


def _database_time(engine: Engine) -> ColumnElement[float]:
    """Seconds since 1970, by the database: the clocks of machines differ."""
    if engine.dialect.name == "postgresql":
        return cast(extract("epoch", func.clock_timestamp()), Float)
    return literal(time.time())


def clock_ahead(engine: Engine) -> float:
    """Seconds that this machine's clock is ahead of the database's."""
    with engine.connect() as connection:
        return time.time() - connection.scalars(select(_database_time(engine))).one()


def _ages(engine: Engine) -> Select[str, str, int, float, float]:
    """Process, host, pid, seconds since its last sign, and the database's time; without lost
    ones."""
    now = _database_time(engine)
    age = now - HeartbeatRow.beat_at
    columns = HeartbeatRow.process, HeartbeatRow.host, HeartbeatRow.pid
    return select(*columns, age.label("age"), now.label("now")).where(age < LOST_SECONDS)
