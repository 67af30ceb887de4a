"""Leases that allow processing the inbox: one process on SQLite, any number on PostgreSQL.

A lease is a file lock or a PostgreSQL session lock. It ends when its process dies, so no clock is
needed."""

from __future__ import annotations

import fcntl
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from config.errors import ConfigError
from durable.connections import autocommit, end, postgres_engine, session_engine
from durable.links import takes_writes

log = structlog.get_logger()

CHANNEL = "oncall_work"
"""Workers notify each other of stored work here; the payload is the queue's name."""
_PREPARING = "preparing tables"
_SLICE_SECONDS = 0.5


class LeaseLost(Exception):
    """This worker has no session. Others may take it for dead, so it must not take over work."""


class Lease(Protocol):
    @property
    def executor_id(self) -> str:
        """Unique among live workers."""
        ...

    @property
    def engine(self) -> Engine | None:
        """The process's PostgreSQL; None on SQLite, where each part has its own file."""
        ...

    @property
    def sessions(self) -> int:
        """How many sessions it has opened."""
        ...

    def acquire(self) -> None: ...

    def keep(self) -> bool:
        """Whether the lease is held; a lost lease is acquired again. Called after each `wait`.
        Never raises."""
        ...

    def listen(self, announce: Callable[[str], None]) -> None:
        """`announce` is called with the queue of work that another process stored; with an empty
        name when some may have been missed. Called before `acquire`."""
        ...

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        """Returns after `seconds`, when `stopping` is set, or as soon as the session receives
        something, be it its end."""
        ...

    def takeover(self, executor_id: str) -> AbstractContextManager[bool]:
        """True when that worker holds no lock. Its lock stays taken until the block ends."""
        ...

    def preparing(self) -> AbstractContextManager[None]:
        """Held while tables are created: two processes must not do that at once."""
        ...

    def release(self) -> None: ...


class FileLease:
    """SQLite: one worker process per data folder."""

    executor_id = "worker"
    engine = None
    sessions = 1

    def __init__(self, path: Path, kind: str = "bot") -> None:
        """`kind`: name of the program, for error messages."""
        self._path = path
        self._kind = kind
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            self._file = None
            raise ConfigError(
                f"another {self._kind} is already working from {self._path.parent}, and SQLite is "
                "for one worker process: a second one would do the same work twice",
                remedy="stop the other one, or set DATABASE_URL to PostgreSQL to run several",
            ) from error

    def keep(self) -> bool:
        """A file lock needs no renewal."""
        return self._file is not None

    def listen(self, announce: Callable[[str], None]) -> None:
        """There is no other process."""

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        stopping.wait(seconds)

    def takeover(self, executor_id: str) -> AbstractContextManager[bool]:
        # Only one worker can be alive, and it is this one.
        return nullcontext(executor_id != self.executor_id)

    def preparing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


class PostgresLease:
    """PostgreSQL: any number of workers; each holds a session's advisory lock on its own name.

    Each start has a new name, so no worker mistakes another's work for its own. The session also
    listens for stored work."""

    def __init__(self, database: str | Engine, host: str = "") -> None:
        """`database`: the engine of this process, or the address for one of the lease's own."""
        self.executor_id = f"{host or socket.gethostname()}-{secrets.token_hex(4)}"
        self._is_own = isinstance(database, str)
        self.engine = postgres_engine(database) if isinstance(database, str) else database
        self._sessions = autocommit(session_engine(self.engine))
        self._announce: Callable[[str], None] = lambda queue: None
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._released = False
        self.sessions = 0

    def acquire(self) -> None:
        with self._lock:
            self._released = False
            self._take()

    def keep(self) -> bool:
        with self._lock:
            if self._released:  # while this check waited for the lock
                return False
            try:
                if self._connection is not None and self._holds():
                    return True
                return self._take()
            except (SQLAlchemyError, OSError) as error:
                log.debug("lease lost", cause=type(error).__name__)
                self._drop()
                return False

    def listen(self, announce: Callable[[str], None]) -> None:
        self._announce = announce

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        until = time.monotonic() + seconds
        while not stopping.is_set() and (left := until - time.monotonic()) > 0:
            if (number := self._socket()) is None:
                stopping.wait(left)
                return
            watched = select.poll()
            watched.register(number, select.POLLIN)
            if watched.poll(1_000 * min(left, _SLICE_SECONDS)):
                return

    @contextmanager
    def takeover(self, executor_id: str) -> Iterator[bool]:
        with self._lock:
            free = self._try_lock(executor_id)
            try:
                yield free
            finally:
                if free:
                    self._unlock(executor_id)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        with self._lock:
            # Polls instead of waiting inside PostgreSQL: a waiting session would block the other
            # process's CREATE INDEX CONCURRENTLY.
            while not self._try_lock(_PREPARING):
                time.sleep(0.2)
            try:
                yield
            finally:
                self._unlock(_PREPARING)

    def release(self) -> None:
        with self._lock:
            with suppress(SQLAlchemyError, OSError, LeaseLost):
                self._run("SELECT pg_advisory_unlock_all()")
            self._drop()
            self._released = True
            if self._is_own:
                end(self.engine)

    def _take(self) -> bool:
        """Acquire the lock in a new session: whether a failed session holds it is unknown.

        False: the server still keeps the old session, another worker is taking over from it, or
        the server takes no writes."""
        self._drop()
        self._connection = self._sessions.connect()
        self.sessions += 1
        session = self._session()
        session.add_notify_handler(lambda notice: self._announce(notice.payload))
        if not takes_writes(session):
            self._drop()
            return False
        self._run(f"LISTEN {CHANNEL}")
        self._announce("")
        return self._try_lock(self.executor_id)

    def _session(self) -> Any:
        """The driver's connection."""
        if self._connection is None:
            raise LeaseLost("this worker holds no session")
        return self._connection.connection.driver_connection

    def _socket(self) -> int | None:
        try:
            return int(self._session().fileno())
        except (LeaseLost, SQLAlchemyError, self._sessions.dialect.loaded_dbapi.Error):
            return None  # another thread has dropped it

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError, OSError):
                connection.invalidate()
                connection.close()

    def _holds(self) -> bool:
        """Asks the server: a pooler may have replaced the session. A server that takes no more
        writes is left: after a fail-over another one has the work."""
        held = self._run(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
            "AND pid = pg_backend_pid()"
        )
        return bool(held) and takes_writes(self._session())

    def _try_lock(self, name: str) -> bool:
        return bool(self._run("SELECT pg_try_advisory_lock(hashtextextended(:name, 5051))", name))

    def _unlock(self, name: str) -> None:
        self._run("SELECT pg_advisory_unlock(hashtextextended(:name, 5051))", name)

    def _run(self, statement: str, name: str = "") -> Any:
        if self._connection is None:
            raise LeaseLost("this worker holds no session")
        values = {"name": name} if ":name" in statement else {}
        result = self._connection.execute(text(statement), values)
        return result.scalar() if result.returns_rows else None
