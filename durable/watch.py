"""Whether the database takes a new connection and writes, looked at outside all pools.

What a pool holds goes on working while a database that is full, or starting, refuses everybody
else: it says nothing about the next question."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import structlog
from sqlalchemy import Engine

from config.errors import DatabaseAway, DatabaseRefused, StorageFailed
from durable.connections import fresh_connection, links_of
from durable.failures import READ_ONLY, REMEDY, storage_failure
from durable.links import is_of_the_server, takes_writes, within

log = structlog.get_logger()

PAUSE_SECONDS = 1.0
"""Between two looks."""
SLOW_SECONDS = 1.0
"""A look that takes longer counts as failed, while it lasts and until the next one."""
BUSY_SECONDS = 5.0
"""The same for SQLite, whose writers wait for each other."""
GIVE_UP_SECONDS = 5.0
"""A new connection that falls silent is given up."""
REFUSED_SECONDS = 60.0
"""Somebody is told after this time: a password may be replaced on both sides within it."""
_REPLACED = "restart this process; what it has stored since is lost"


class DatabaseWatch:
    """Opens a connection of its own again and again; a `telemetry.health.HealthSource`.

    `start` and `stop` belong to the life of a process."""

    def __init__(self, engine: Engine) -> None:
        """`engine`: for its address; no connection of its pool is used."""
        self._engine = engine
        self._is_past_poolers = False
        self._stopping = threading.Event()
        is_server = engine.dialect.name == "postgresql"
        self._slow_seconds = SLOW_SECONDS if is_server else BUSY_SECONDS
        self._began: float | None = None
        """When the running look began."""
        self._failure: StorageFailed | None = None
        self._refused_at: float | None = None
        """When the database began to refuse; infinity once that was told."""
        self._file: tuple[int, int] | None = None
        """Device and inode of SQLite's file."""
        self.on_refused: Callable[[DatabaseRefused], object] = lambda refused: None
        """Called once in each outage whose cause is the access of this process."""

    def start(self) -> None:
        """Returns at once."""
        self._stopping.clear()
        threading.Thread(target=self._run, name="database-watch", daemon=True).start()

    def stop(self) -> None:
        """Does not wait: a look that hangs ends with the process."""
        self._stopping.set()

    def missing(self) -> dict[str, str]:
        """Asks nobody."""
        began = self._began
        waited = time.monotonic() - began if began is not None else 0.0
        if waited > self._slow_seconds:
            return {"database": f"the database has not answered for {waited:.0f} s"}
        return {"database": self._failure.problem} if self._failure else {}

    def observe(self) -> None:
        """It has no gauges."""

    def _run(self) -> None:
        while True:
            self._began = time.monotonic()
            failure = self._look()
            took = time.monotonic() - self._began
            if failure is None and took > self._slow_seconds:
                failure = StorageFailed(f"the database is slow: a new connection took {took:.1f} s")
            self._report(failure)
            self._failure, self._began = failure, None
            if self._stopping.wait(PAUSE_SECONDS):
                return

    def _report(self, failure: StorageFailed | None) -> None:
        if failure and type(failure) is not type(self._failure):
            words = failure.words if isinstance(failure, DatabaseAway) else ""
            log.warning(
                "lost the database", cause=failure.problem, words=words, remedy=failure.remedy
            )
        if self._failure and not failure:
            log.warning("the database is back")
        if not isinstance(failure, DatabaseRefused):
            self._refused_at = None
        elif self._refused_at is None:
            self._refused_at = time.monotonic()
        elif time.monotonic() - self._refused_at >= REFUSED_SECONDS:
            self._refused_at = float("inf")
            with suppress(Exception):  # the looks go on
                self.on_refused(failure)

    def _look(self) -> StorageFailed | None:
        """Why nobody can work with it now."""
        try:
            if self._engine.dialect.name == "postgresql":
                self._connect()
            else:
                self._lock_file()
        except Exception as error:  # whatever keeps this process from the database
            unknown = f"the database failed: {type(error).__name__}"
            return storage_failure(error) or StorageFailed(unknown)
        return None

    def _connect(self) -> None:
        # psycopg takes no shorter timeout.
        with (
            closing(fresh_connection(self._engine, seconds=2)) as connection,
            within(GIVE_UP_SECONDS, connection),
        ):
            # A server that gives a connection is able. A pooler gives them on its own, so behind
            # one each look asks the server something.
            self._is_past_poolers = self._is_past_poolers or is_of_the_server(connection)
            if self._is_past_poolers:
                links_of(self._engine).break_dead(connection)
            if not takes_writes(connection):
                raise DatabaseAway(READ_ONLY, remedy=REMEDY)

    def _lock_file(self) -> None:
        """For a moment, as a writer does."""
        path = Path(str(self._engine.url.database))
        try:
            file = path.stat()
        except FileNotFoundError as error:
            raise StorageFailed(f"{path} is gone", remedy=_REPLACED) from error
        self._file = self._file or (file.st_dev, file.st_ino)
        if self._file != (file.st_dev, file.st_ino):
            raise StorageFailed(f"{path} is not the file that is in use", remedy=_REPLACED)
        address = f"{path.absolute().as_uri()}?mode=rw"  # makes no file
        connected = sqlite3.connect(address, uri=True, timeout=self._slow_seconds)
        with closing(connected) as connection:
            connection.execute("BEGIN IMMEDIATE")
            # A file that may only be read begins, too; this is undone with the connection.
            connection.execute("PRAGMA user_version = 1")
