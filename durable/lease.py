"""Who may work off the inbox: one process on SQLite; on PostgreSQL, any number that are told apart.

A lease is held by something the operating system lets go of when the process dies, so it says
who is alive without clocks: a file lock, or a session lock of PostgreSQL."""

from __future__ import annotations

import fcntl
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Protocol

import structlog
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from config.errors import ConfigError

log = structlog.get_logger()

_PREPARING = "preparing tables"


class Lease(Protocol):
    @property
    def executor_id(self) -> str:
        """The same after a restart, never the same for two live workers."""
        ...

    def acquire(self) -> None: ...

    def keep(self) -> None:
        """Called every few seconds while working."""
        ...

    def takeover(self, executor_id: str) -> AbstractContextManager[bool]:
        """True when that worker is dead; nobody can take its place until the block ends."""
        ...

    def preparing(self) -> AbstractContextManager[None]:
        """Held while tables are made, which two processes must not do at once."""
        ...

    def release(self) -> None: ...


class FileLease:
    """SQLite: one worker process per data folder."""

    executor_id = "worker"

    def __init__(self, path: Path) -> None:
        self._path = path
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
                f"another bot is already working from {self._path.parent}, and SQLite is for "
                "one worker process: a second one would answer questions twice",
                remedy="stop the other one, or set DATABASE_URL to PostgreSQL to run several",
            ) from error

    def keep(self) -> None:
        """A file lock stays by itself."""

    def takeover(self, executor_id: str) -> AbstractContextManager[bool]:
        # Only one may live here, and it is this one.
        return nullcontext(executor_id != self.executor_id)

    def preparing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


class PostgresLease:
    """PostgreSQL: a numbered place per host, each held by a session's advisory lock."""

    PLACES = 64

    def __init__(self, url: str, host: str = "") -> None:
        self._host = host or socket.gethostname()
        # A host that vanished without closing its connections is noticed within half a minute,
        # instead of PostgreSQL's two hours.
        alive = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
        self._engine = create_engine(
            make_url(url).set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            pool_size=1,
            connect_args={"options": alive},
        )
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self.executor_id = ""

    def acquire(self) -> None:
        with self._lock:
            self._connection = self._engine.connect()
            for place in range(self.PLACES):
                name = f"{self._host}-{place}"
                if self._try_lock(name):
                    self.executor_id = name
                    return
        raise ConfigError(
            f"{self.PLACES} bots already run on {self._host}", remedy="stop some of them"
        )

    def keep(self) -> None:
        """Take the place again after a lost connection; another may not have it by then."""
        with self._lock:
            try:
                self._run("SELECT 1")
            except DBAPIError:
                log.warning("lost the database; taking the worker's place again")
                if self._connection:
                    self._connection.invalidate()
                self._connection = self._engine.connect()
                self._try_lock(self.executor_id)

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
            # Asked for again and again: a session that waits inside PostgreSQL would in turn
            # keep the other one's CREATE INDEX CONCURRENTLY waiting.
            while not self._try_lock(_PREPARING):
                time.sleep(0.2)
            try:
                yield
            finally:
                self._unlock(_PREPARING)

    def release(self) -> None:
        with self._lock:
            if self._connection:
                self._run("SELECT pg_advisory_unlock_all()")
                self._connection.close()
                self._connection = None
            self._engine.dispose()

    def _try_lock(self, name: str) -> bool:
        return bool(self._run("SELECT pg_try_advisory_lock(hashtextextended(:name, 5051))", name))

    def _unlock(self, name: str) -> None:
        self._run("SELECT pg_advisory_unlock(hashtextextended(:name, 5051))", name)

    def _run(self, statement: str, name: str = "") -> Any:
        if self._connection is None:
            raise RuntimeError("the lease was never acquired")
        values = {"name": name} if ":name" in statement else {}
        return self._connection.execute(text(statement), values).scalar()
