"""Whether the database takes a new connection, looked at outside all pools.

What a pool holds goes on working while a database that is full, or starting, refuses everybody
else: it says nothing about the next question."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import structlog
from sqlalchemy import Engine

from durable.connections import fresh_connection, is_of_the_server
from durable.failures import storage_failure

log = structlog.get_logger()

PAUSE_SECONDS = 1.0
"""Between two looks."""
SLOW_SECONDS = 1.0
"""A look that takes longer counts as failed, while it lasts and until the next one."""


class DatabaseWatch:
    """Opens a connection of its own again and again; a `telemetry.health.HealthSource`.

    `start` and `stop` belong to the life of a process."""

    def __init__(self, engine: Engine) -> None:
        """`engine`: for its address; no connection of its pool is used."""
        self._engine = engine
        self._is_past_poolers = False
        self._stopping = threading.Event()
        self._began: float | None = None
        """When the running look began."""
        self._problem = ""

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
        if waited > SLOW_SECONDS:
            return {"database": f"the database has not answered for {waited:.0f} s"}
        return {"database": self._problem} if self._problem else {}

    def observe(self) -> None:
        """It has no gauges."""

    def _run(self) -> None:
        while True:
            self._began = time.monotonic()
            problem = self._look()
            took = time.monotonic() - self._began
            if not problem and took > SLOW_SECONDS:
                problem = f"the database is slow: a new connection took {took:.1f} s"
            if problem and not self._problem:
                log.warning("lost the database", cause=problem)
            if self._problem and not problem:
                log.warning("the database is back")
            self._problem, self._began = problem, None
            if self._stopping.wait(PAUSE_SECONDS):
                return

    def _look(self) -> str:
        """Why there is no connection; empty where there is one."""
        try:
            self._connect()
        except Exception as error:  # whatever keeps this process from the database
            failure = storage_failure(error)
            return failure.problem if failure else f"the database failed: {type(error).__name__}"
        return ""

    def _connect(self) -> None:
        """Raises what the driver raises."""
        if self._engine.dialect.name == "postgresql":
            # psycopg takes no shorter timeout.
            with closing(fresh_connection(self._engine, seconds=2)) as connection:
                # A server that gives a connection is able. A pooler gives them on its own, so
                # behind one each look asks the server something.
                self._is_past_poolers = self._is_past_poolers or is_of_the_server(connection)
            return
        arguments, options = self._engine.dialect.create_connect_args(self._engine.url)
        options = {**options, "timeout": SLOW_SECONDS}
        with closing(self._engine.dialect.connect(*arguments, **options)) as connection:
            connection.execute("PRAGMA schema_version")
