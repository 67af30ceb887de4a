"""Leases that allow processing the inbox: one process on SQLite, any number on PostgreSQL.

A lease is a file lock or a PostgreSQL session lock. It ends when its process dies, so no clock is
needed."""

from __future__ import annotations

import fcntl
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import structlog
from sqlalchemy import Connection, NullPool, text
from sqlalchemy.exc import SQLAlchemyError

from config.errors import ConfigError
from durable.database import postgres_engine

log = structlog.get_logger()

_PREPARING = "preparing tables"
_LOOKS = 3
"""Checks after acquiring: a pooler that shares sessions may return the same one twice by chance."""


class LeaseLost(Exception):
    """This worker has no session. Others may take it for dead, so it must not take over work."""


class Lease(Protocol):
    @property
    def executor_id(self) -> str:
        """Unique among live workers."""
        ...

    @property
    def sessions(self) -> int:
        """How many sessions it has opened."""
        ...

    def acquire(self) -> None: ...

    def keep(self) -> bool:
        """Whether the lease is held; a lost lease is acquired again. Called every second while
        working. Never raises."""
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

    Each start has a new name, so no worker mistakes another's work for its own."""

    def __init__(self, url: str, host: str = "") -> None:
        self.executor_id = f"{host or socket.gethostname()}-{secrets.token_hex(4)}"
        self._engine = postgres_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._released = False
        self.sessions = 0

    def acquire(self) -> None:
        """Raises ConfigError for a pooler that runs each statement in another session."""
        with self._lock:
            self._released = False
            self._take()
            if not all(self._holds() for _ in range(_LOOKS)):
                self._drop()
                raise ConfigError(
                    "DATABASE_URL leads to a pooler that shares sessions between transactions, "
                    "where nobody can tell which worker is alive",
                    remedy="connect to PostgreSQL itself, or set the pooler to session pooling",
                )

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
            self._engine.dispose()

    def _take(self) -> bool:
        """Acquire the lock in a new session: whether a failed session holds it is unknown.

        False: the server still keeps the old session, or another worker is taking over from it."""
        self._drop()
        self._connection = self._engine.connect()
        self.sessions += 1
        return self._try_lock(self.executor_id)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError, OSError):
                connection.invalidate()
                connection.close()

    def _holds(self) -> bool:
        """Asks the server: a pooler may have replaced the session."""
        return bool(
            self._run(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
                "AND pid = pg_backend_pid()"
            )
        )

    def _try_lock(self, name: str) -> bool:
        return bool(self._run("SELECT pg_try_advisory_lock(hashtextextended(:name, 5051))", name))

    def _unlock(self, name: str) -> None:
        self._run("SELECT pg_advisory_unlock(hashtextextended(:name, 5051))", name)

    def _run(self, statement: str, name: str = "") -> Any:
        if self._connection is None:
            raise LeaseLost("this worker holds no session")
        values = {"name": name} if ":name" in statement else {}
        return self._connection.execute(text(statement), values).scalar()
