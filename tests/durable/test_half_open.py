"""What a database does to those that hold connections to it, without closing them: it falls silent,
takes no more writes, or refuses new ones."""

from __future__ import annotations

import logging
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from config.errors import ConfigError, DatabaseAway, DatabaseRefused, StorageFailed
from config.settings import Settings
from durable import links, watch
from durable.connections import end, patient, postgres_engine
from durable.dbos_upkeep import tame_logs
from durable.failures import READ_ONLY, REFUSED, storage_failure
from durable.lease import PostgresLease
from durable.watch import DatabaseWatch
from index.store.database import open_database
from tests.databases import postgresql_database

PATIENCE = 60.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert look()


class Sidecar:
    """A proxy that acknowledges everything and can stop passing it on."""

    def __init__(self, listener: socket.socket, server: str) -> None:
        self._listener = listener
        self._server = server
        self._clients: list[socket.socket] = []
        self._servers: list[socket.socket] = []
        self._silent: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def fall_silent(self) -> None:
        """For the connections of now."""
        self._silent |= set(self._clients)

    def close(self) -> None:
        both = [*self._clients, *self._servers]
        for one in both:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in both:
            one.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._clients.append(client)
                self._servers.append(server)
                self._start(self._pass, client, client, server)
                self._start(self._pass, client, server, client)

    def _pass(self, client: socket.socket, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while words := source.recv(65_536):
                if client not in self._silent:
                    target.sendall(words)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def behind_sidecar(url: str) -> Iterator[tuple[str, Sidecar]]:
    server = make_url(url)
    folder = str(server.query["host"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        there = server.set(host="127.0.0.1", port=port, query={"sslmode": "disable"})
        sidecar = Sidecar(listener, f"{folder}/.s.PGSQL.{server.query.get('port', 5432)}")
        try:
            yield there.render_as_string(hide_password=False), sidecar
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            sidecar.close()


@contextmanager
def watching(engine: Engine) -> Iterator[DatabaseWatch]:
    looks = DatabaseWatch(engine)
    looks.start()
    try:
        yield looks
    finally:
        looks.stop()


def outcome_of(engine: Engine, statement: str) -> Callable[[], Any]:
    """Runs it in a thread; what it gave or raised, once it has ended."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            with engine.connect() as connection:
                outcome.append(connection.scalar(text(statement)))
        except DBAPIError as error:
            outcome.append(error)

    threading.Thread(target=run, daemon=True).start()
    return lambda: outcome[0] if outcome else None


def test_a_statement_of_which_the_server_knows_nothing_ends_and_others_go_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0.1)
    with behind_sidecar(url) as (there, sidecar):
        engine = postgres_engine(there)
        lease = PostgresLease(engine)
        lease.acquire()
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
        sidecar.fall_silent()
        lost = outcome_of(engine, "SELECT 'lost'")
        renewed = threading.Thread(target=lease.keep, daemon=True)
        renewed.start()
        with watching(engine):
            time.sleep(0.2)  # the pool's one connection is taken: this one opens another
            slow = outcome_of(engine, "SELECT 'slow' FROM pg_sleep(3)")
            until(lost)
            until(lambda: not renewed.is_alive())
            until(lease.keep)
            until(slow)
        assert isinstance(storage_failure(lost()), DatabaseAway)
        assert slow() == "slow"
        lease.release()
        end(engine)


def test_a_new_connection_that_falls_silent_is_given_up(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "GIVE_UP_SECONDS", 0.5)
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0.1)
    with behind_sidecar(url) as (there, sidecar):
        engine = postgres_engine(there)

        def ask(connection: Any) -> bool:
            sidecar.fall_silent()
            connection.execute("SELECT 1")
            return True

        monkeypatch.setattr(watch, "is_of_the_server", ask)
        with watching(engine) as looks:
            until(looks.missing)
            monkeypatch.undo()
            until(lambda: not looks.missing())
        end(engine)


def test_where_nothing_may_be_written_nobody_is_ready_and_connections_are_left(url: str) -> None:
    name = make_url(url).database
    engine = postgres_engine(url)
    lease = PostgresLease(engine)
    lease.acquire()
    with engine.connect() as connection:  # of a server that has become a standby
        connection.execute(text("SET default_transaction_read_only = on"))
        connection.commit()
    with pytest.raises(DBAPIError) as caught, engine.begin() as connection:
        connection.execute(text("CREATE TABLE written (n int)"))
    assert isinstance(storage_failure(caught.value), DatabaseAway)
    with engine.begin() as connection:  # the next one is of the server that writes now
        connection.execute(text("CREATE TABLE written (n int)"))
    with psycopg.connect(url, autocommit=True) as operator:
        operator.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        try:
            with watching(engine) as looks:
                until(looks.missing)
                assert looks.missing() == {"database": READ_ONLY}
            lease._drop()
            assert not lease.keep()
        finally:
            operator.execute("SET default_transaction_read_only = off")
            operator.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    until(lease.keep)
    lease.release()
    end(engine)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"database": "gone"}, '"gone" does not exist'), ({"username": "nobody"}, "nobody")],
)
def test_a_refusal_is_told_in_the_servers_words_and_to_admins(
    url: str, change: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "REFUSED_SECONDS", 0.2)
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0.1)
    wrong = make_url(url).set(**change).render_as_string(hide_password=False)
    with pytest.raises(ConfigError, match=words):
        open_database(Settings(_env_file=None, database_url=wrong))
    engine = postgres_engine(wrong)
    told: list[DatabaseRefused] = []
    with watching(engine) as looks:
        looks.on_refused = told.append
        until(lambda: told)
        time.sleep(0.5)
        assert looks.missing() == {"database": REFUSED}, "others may read it: no names"
    assert [words in str(one) for one in told] == [True]
    end(engine)


def test_a_connection_that_broke_costs_no_traceback(
    url: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = postgres_engine(url)
    pooled = engine.raw_connection()
    with closing(pooled.cursor()) as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        number = cursor.fetchone()
    with psycopg.connect(url, autocommit=True) as operator:
        operator.execute("SELECT pg_terminate_backend(%s)", number)
    pooled.close()
    assert caplog.records == []
    end(engine)
    tame_logs()
    logging.getLogger("dbos").warning("thread failed: %s", "(Full) no room\n[SQL: SELECT secret]")
    told = capsys.readouterr()
    assert "(Full) no room" in told.out + told.err
    assert "secret" not in told.out + told.err


def test_work_without_a_deadline_meets_the_databases_own_errors(url: str) -> None:
    engine = postgres_engine(url)
    with patient(engine, threading.Event(), 5).connect() as connection:
        number = connection.scalar(text("SELECT pg_backend_pid()"))
        with psycopg.connect(url, autocommit=True) as operator:
            operator.execute("SELECT pg_terminate_backend(%s)", [number])
        with pytest.raises(DBAPIError) as caught:
            connection.execute(text("SELECT 1"))
    assert isinstance(storage_failure(caught.value), DatabaseAway)
    end(engine)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Path, DatabaseWatch]]:
    engine = open_database(Settings(_env_file=None, data_dir=tmp_path))
    with watching(engine) as looks:
        until(lambda: looks._file)
        yield tmp_path / "oncall.db", looks
    engine.dispose()


def test_a_file_that_others_lock_is_not_ready(
    file: tuple[Path, DatabaseWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = file
    looks._slow_seconds = 0.3
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        until(looks.missing)
        other.execute("ROLLBACK")
    until(lambda: not looks.missing())


def test_a_file_that_may_only_be_read_is_not_ready(
    file: tuple[Path, DatabaseWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = file
    opened = sqlite3.connect

    def read_only(address: str, **options: Any) -> sqlite3.Connection:
        # The file's own mode would not hold back root.
        return opened(address.replace("mode=rw", "mode=ro"), **options)

    monkeypatch.setattr(watch.sqlite3, "connect", read_only)
    until(looks.missing)
    assert "readonly" in looks.missing()["database"]
    monkeypatch.undo()
    until(lambda: not looks.missing())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)


def test_a_file_that_is_gone_or_another_is_told_and_none_is_made(
    file: tuple[Path, DatabaseWatch],
) -> None:
    path, looks = file
    away = path.with_name("away")
    path.rename(away)
    until(lambda: f"{path} is gone" in looks.missing().get("database", ""))
    assert not path.exists()
    path.write_bytes(b"")
    until(lambda: "is not the file that is in use" in looks.missing().get("database", ""))
    away.replace(path)
    until(lambda: not looks.missing())


def test_a_failure_says_its_words_to_operators_alone() -> None:
    failure = DatabaseAway("away", remedy="wait", words="of a host")
    assert (failure.problem, str(failure)) == ("away", "away (of a host); wait")
    assert isinstance(failure, StorageFailed)
