"""Connections to PostgreSQL: one pool for each process, within its budget, and single sessions.

docs/decisions/138-a-connection-budget.md says who holds which connection."""

from __future__ import annotations

import logging
import secrets
import select
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import (
    URL,
    Engine,
    NullPool,
    QueuePool,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.engine.interfaces import Dialect, ExceptionContext
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from config.errors import ConfigError
from durable.links import Links, is_of_the_server

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
LOCK_WAIT = "30s"
"""A statement of the pool waits this long for a lock: a session of somebody else that holds one on
a table of ours would take the whole pool, and with it all that needs none of that table."""
DEFAULT_CONNECTIONS = 10
MIN_CONNECTIONS = 5
OUTSIDE_THE_POOL = 3
"""Of a process's budget: the session of its lease, the session that locks a domain while it is
published, and the connection of a health check."""
POOL_SECONDS = 10.0
"""A thread waits this long for a connection of the pool."""
_RETRY_SECONDS = 0.5
_READ_ONLY = "25006"
"""SQLSTATE of a write where nothing may be written."""
_FRESH_SECONDS = 10.0
"""A pooled connection that was used within this time is not asked whether it still works.
Keepalives need as long to notice a server that vanished."""
_BUDGET, _DIRECT, _LINKS = "oncall_connections", "oncall_direct_url", "oncall_links"
"""Execution options of an engine, which a session of the same process takes over."""
_PROCESS = secrets.token_hex(3)


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


# Whoever used a connection that broke says so; SQLAlchemy adds a traceback when it is returned.
logging.getLogger(f"{__name__}.{_Pool.__name__}").setLevel(logging.CRITICAL)


def postgres_engine(
    url: str | URL, *, connections: int = DEFAULT_CONNECTIONS, direct_url: str | URL | None = None
) -> Engine:
    """An engine for psycopg, whose pool leaves room for the process's sessions in its budget.

    `direct_url` leads to the server itself, where `url` leads to a pooler that may run each
    transaction in another session."""
    engine = _engine(
        make_url(url),
        connections,
        direct_url,
        connecting=threading.Lock(),
        server_options=f"{SERVER_NOTICES} -c lock_timeout={LOCK_WAIT}",
        poolclass=_Pool,
        pool_size=connections - OUTSIDE_THE_POOL,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        pool_use_lifo=True,
    )
    _check_in_doubt(engine)
    return engine


def _check_in_doubt(engine: Engine) -> None:
    """Ask the server about a pooled connection that was long idle, or whose server has sent
    something, as it does when it breaks the connection off.

    Asking at each use (`pool_pre_ping`) is one more round trip for each transaction."""
    ended = "ended"

    @event.listens_for(engine, "checkin")
    def _note(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info[ended] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _check(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        at = record.info.get(ended)
        if at is None:  # it has just been opened
            return
        try:
            watched = select.poll()
            watched.register(connection.fileno(), select.POLLIN)
            if time.monotonic() - at > _FRESH_SECONDS or watched.poll(0):
                engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error  # the pool opens another


def session_engine(engine: Engine) -> Engine:
    """Connections outside the pool and past any pooler: for locks and notifications, which belong
    to a session."""
    options = engine.get_execution_options()
    direct = options.get(_DIRECT)
    return _engine(
        make_url(direct) if direct else engine.url,
        options.get(_BUDGET, DEFAULT_CONNECTIONS),
        links=options.get(_LINKS),
        poolclass=NullPool,
    )


def links_of(engine: Engine) -> Links:
    """All connections of the process, the engine's and its sessions'. `engine`: made here."""
    links: Links = engine.get_execution_options()[_LINKS]
    return links


def _engine(
    url: URL,
    connections: int,
    direct_url: str | URL | None = None,
    *,
    links: Links | None = None,
    connecting: threading.Lock | None = None,
    server_options: str = SERVER_NOTICES,
    **options: Any,
) -> Engine:
    """Errors hide their parameters: message text must not reach a log. `connecting`: held by the
    thread that connects."""
    links = links or Links()
    # A pooler refuses `options`, and runs a prepared statement where nobody has prepared it.
    notices = " ".join([*url.normalized_query.get("options", ()), server_options])
    more = {"prepare_threshold": None} if direct_url else {"options": notices}
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        hide_parameters=True,
        connect_args={**NOTICES, "application_name": _name_of(connections), **more},
        execution_options={_BUDGET: connections, _DIRECT: direct_url, _LINKS: links},
        **options,
    )

    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Dialect, _record: Any, arguments: Any, options: Any) -> Any:
        # A server that stalls answers all attempts of that time when it goes on, also those that
        # were given up: with one attempt at a time, they don't take all of its connections.
        if connecting and not connecting.acquire(timeout=NOTICES["connect_timeout"]):
            raise dialect.loaded_dbapi.OperationalError("another thread waits for it")
        try:
            return links.connect(dialect, arguments, options)
        finally:
            if connecting:
                connecting.release()

    # After a fail-over the connections still lead to what is a standby now: new ones are opened.
    @event.listens_for(engine, "handle_error")
    def _leave_standby(context: ExceptionContext) -> None:
        if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
            context.is_disconnect = True

    return engine


def _name_of(connections: int) -> str:
    command = next((f"{one} " for one in sys.argv[1:2] if one.isalpha()), "")
    return f"oncall {command[:20]}{_PROCESS}/{connections}"


def fresh_connection(engine: Engine, seconds: int) -> Any:
    """A connection of the driver, past the pool, to where the pool's lead. Raises its errors, after
    `seconds` at the latest."""
    _, options = engine.dialect.create_connect_args(engine.url)
    name = _name_of(engine.get_execution_options().get(_BUDGET, DEFAULT_CONNECTIONS))
    own = {**NOTICES, "connect_timeout": seconds, "application_name": name, "autocommit": True}
    return engine.dialect.connect(**{**options, **own})


def is_behind_pooler(engine: Engine) -> bool:
    """Whether the settings name a pooler in front of the server."""
    return engine.get_execution_options().get(_DIRECT) is not None


def refuse_shared_sessions(engine: Engine) -> None:
    """Raises ConfigError where a pooler runs each transaction in another session.

    It would run another's transaction in an idle session, or the session's next statement in
    another one. Only behind a pooler are two connections needed at once."""
    direct = is_behind_pooler(engine)
    sessions = session_engine(engine) if direct else engine
    pid = text("SELECT pg_backend_pid()")
    with autocommit(sessions).connect() as mine:
        if is_of_the_server(mine.connection.driver_connection):
            return
        before = mine.scalar(pid)
        with sessions.begin() as other:
            if other.scalar(pid) != before and mine.scalar(pid) == before:
                return
    raise ConfigError(
        f"{'DATABASE_DIRECT_URL' if direct else 'DATABASE_URL'} leads to a pooler that shares "
        "sessions between transactions, where no lock can be held",
        remedy="set DATABASE_DIRECT_URL to PostgreSQL itself: each process opens a session or two "
        "there",
    )


def autocommit(engine: Engine) -> Engine:
    """The same pool for single reads, which need no transaction."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def end(engine: Engine) -> None:
    """Dispose of an engine for good. A thread can still use it; its connection is closed when it
    is returned."""
    engine.dispose()
    if isinstance(engine.pool, _Pool):
        engine.pool.over = True


class _PatientPool:
    """Another engine's pool, for work without a deadline."""

    def __init__(self, engine: Engine, stopping: threading.Event, seconds: float) -> None:
        self._engine = engine
        self._stopping = stopping
        self._seconds = seconds

    def connect(self) -> PoolProxiedConnection:
        """Waits for an unreachable database and for a free connection."""
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                return self._engine.raw_connection()
            except Exception:
                if self._stopping.wait(_RETRY_SECONDS) or time.monotonic() > deadline:
                    raise

    def _invalidate(self, *arguments: Any) -> None:
        """SQLAlchemy calls it when a connection breaks."""
        self._engine.pool._invalidate(*arguments)

    def size(self) -> int:
        return cast("QueuePool", self._engine.pool).size()

    def dispose(self) -> None:
        """The pool belongs to the other engine."""


def patient(engine: Engine, stopping: threading.Event, seconds: float) -> Engine:
    """The same engine for work without a deadline: it waits for a connection until `stopping`, at
    most `seconds`.

    A caller that fails at once retries after growing pauses, and may sleep for another minute
    after the database is back."""
    pool: Any = _PatientPool(engine, stopping, seconds)
    return Engine(pool, engine.dialect, engine.url, hide_parameters=True)
