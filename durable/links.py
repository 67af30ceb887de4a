"""What a connection to PostgreSQL says of its server, and connections that are dead though nobody
has closed them.

A proxy or sidecar acknowledges what it can't pass on, so TCP notices nothing and a statement waits
for good. The server says over a new connection what it works on."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import structlog
from sqlalchemy.engine.interfaces import Dialect

log = structlog.get_logger()

SILENT_SECONDS = 20.0
"""A statement that waits longer is asked about."""
_WORKED_ON = """
SELECT pid FROM pg_stat_activity
WHERE pid = ANY(%s) AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'
"""


class Links:
    """The connections of one process, and since when their statements wait."""

    def __init__(self) -> None:
        self._waiting: dict[Any, float] = {}
        self._suspects: dict[Any, float] = {}

    def connect(self, dialect: Dialect, arguments: Any, options: Any) -> Any:
        """A connection of the driver, as the event `do_connect` of SQLAlchemy returns it."""
        driver: Any = dialect.loaded_dbapi
        connection = _class_of(driver).connect(*arguments, **options)
        connection.waiting = self._waiting
        return connection

    def break_dead(self, fresh: Any) -> None:
        """Break connections off whose statement the server doesn't work on, at two looks in a row:
        the threads that wait get an error. `fresh`: of the driver, autocommit, past any pooler."""
        late = time.monotonic() - SILENT_SECONDS
        silent = {one: since for one, since in list(self._waiting.items()) if since < late}
        if not silent:
            self._suspects = {}
            return
        numbers = [one.info.backend_pid for one in silent]
        worked_on = {number for (number,) in fresh.execute(_WORKED_ON, [numbers]).fetchall()}
        dead = {one: at for one, at in silent.items() if one.info.backend_pid not in worked_on}
        for one, since in dead.items():
            if self._suspects.get(one) == since == self._waiting.get(one):
                log.warning(
                    "the database doesn't know of a statement; its connection is broken off",
                    waited=round(time.monotonic() - since),
                )
                break_off(one)
        self._suspects = dead


def break_off(connection: Any) -> None:
    """Whoever waits for it gets the driver's error. `connection`: of the driver, in any thread."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


@contextmanager
def within(seconds: float, connection: Any) -> Iterator[None]:
    """The connection is broken off when the block takes longer."""
    timer = threading.Timer(seconds, break_off, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def takes_writes(connection: Any) -> bool:
    """By what PostgreSQL reports from release 14 on without being asked. `connection`: of the
    driver."""
    reported = "in_hot_standby", "default_transaction_read_only"
    return "on" not in map(connection.info.parameter_status, reported)


def is_of_the_server(connection: Any) -> bool:
    """Whether no pooler stands between. Asks the server for its process, which a pooler replaces by
    a number of its own. `connection`: of the driver, autocommit."""
    (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
    return bool(process == connection.info.backend_pid)


@cache
def _class_of(driver: Any) -> Any:
    """psycopg's connections, with a note of since when a statement waits."""

    class Link(driver.Connection):  # type: ignore[misc]
        waiting: dict[Any, float] | None = None

        def wait(self, *arguments: Any, **options: Any) -> Any:
            if self.waiting is None:  # it is being set up
                return super().wait(*arguments, **options)
            self.waiting[self] = time.monotonic()
            try:
                return super().wait(*arguments, **options)
            finally:
                self.waiting.pop(self, None)

    return Link
