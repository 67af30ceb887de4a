"""Connections to PostgreSQL that notice when it is gone, and some that wait until it is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.pool import ConnectionPoolEntry, Pool

NOTICES: Mapping[str, int] = {
    # A server that vanished without closing its connections is noticed within some ten seconds,
    # by what waits for it and by what it is asked next, instead of the system's two hours.
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""libpq's parameters; all but the last, which is in milliseconds, in seconds."""
SERVER_NOTICES = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""The server lets go of a worker's locks half a minute after its machine vanished."""
_RETRY_SECONDS = 0.5


class _Pool(QueuePool):
    """Closes what a thread gives back after the pool's end; else it stays open until the garbage
    collector finds it."""

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

    People's words are parameters, and no error carries them into a log."""
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        hide_parameters=True,
        pool_pre_ping=True,
        connect_args={**NOTICES, "options": SERVER_NOTICES},
        poolclass=poolclass,
        **options,
    )


def end(engine: Engine) -> None:
    """Dispose of an engine for good: what a thread still begins with it works, on a connection
    that is closed when it is given back."""
    engine.dispose()
    if isinstance(engine.pool, _Pool):
        engine.pool.over = True


def wait_for_the_database(engine: Engine, stopping: threading.Event, seconds: float) -> None:
    """New connections of this engine wait for a database that is away, at most so long.

    For work that has all the time there is: what is refused at once is tried again after pauses
    that grow, and would sleep on for a minute after the database is back."""

    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Dialect, _record: Any, arguments: Any, named: Any) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            try:
                return dialect.connect(*arguments, **named)
            except Exception:
                if stopping.wait(_RETRY_SECONDS) or time.monotonic() > deadline:
                    raise
