"""Connections to PostgreSQL: a budget for each process, and few statements while it is idle."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import ValidationError
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from bot.bus.inbox import QUEUE, WORK, Inbox
from bot.bus.stored_items import INBOX
from config.errors import ConfigError, DatabaseAway
from config.settings import Settings
from durable.connection_limits import Blocker, blockers
from durable.connections import (
    DEFAULT_CONNECTIONS,
    MIN_CONNECTIONS,
    autocommit,
    end,
    postgres_engine,
)
from durable.failures import storage_failure
from durable.heartbeat import Heartbeat
from durable.lease import CHANNEL, PostgresLease
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


@contextmanager
def inbox_of(
    url: str,
    handle: Callable[[Engine, str], None],
    *,
    poll_seconds: float = 0.2,
    **options: Any,
) -> Iterator[Inbox]:
    engine = postgres_engine(url, **options)
    inbox = Inbox(
        database_url=url,
        lease=PostgresLease(engine),
        handler=lambda event_id, item: handle(engine, event_id),
        poll_seconds=poll_seconds,
    )
    inbox.start()
    try:
        yield inbox
    finally:
        inbox.stop(0)
        end(engine)


def test_a_worker_does_everything_within_the_smallest_budget(url: str) -> None:
    done: list[str] = []
    most, stopping = [0], threading.Event()

    def handle(engine: Engine, event_id: str) -> None:
        for _ in range(3):
            with engine.begin() as connection:
                connection.execute(text("SELECT pg_sleep(0.01)"))
        done.append(event_id)

    def watch() -> None:
        count = (
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        with psycopg.connect(url, autocommit=True) as connection:
            while not stopping.wait(0.02):
                row = connection.execute(count + " AND pid <> pg_backend_pid()").fetchone()
                most[0] = max(most[0], row[0] if row else 0)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with inbox_of(url, handle, connections=MIN_CONNECTIONS) as inbox:
            for number in range(80):
                inbox.put(f"within-{number}", {})
            until(lambda: len(done) == 80)
            until(lambda: not inbox.backlog())
    finally:
        stopping.set()
        watching.join()
    assert 0 < most[0] <= MIN_CONNECTIONS


def test_work_that_another_process_announces_is_taken_at_once(url: str) -> None:
    done: list[str] = []
    with inbox_of(url, lambda _, event_id: done.append(event_id), poll_seconds=300):
        client = INBOX.client(url)
        options = {"workflow_name": WORK, "queue_name": QUEUE, "app_version": INBOX.format}
        client.enqueue({**options, "workflow_id": "theirs"}, "theirs", {})
        client.destroy()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, QUEUE])
        until(lambda: done == ["theirs"])


def test_work_that_nobody_announced_is_found_within_seconds(url: str) -> None:
    done: list[str] = []
    with inbox_of(url, lambda _, event_id: done.append(event_id), poll_seconds=300):
        client = INBOX.client(url)
        options = {"workflow_name": WORK, "queue_name": QUEUE, "app_version": INBOX.format}
        client.enqueue({**options, "workflow_id": "silent"}, "silent", {})
        client.destroy()
        until(lambda: done == ["silent"])


@contextmanager
def statements_of(url: str) -> Iterator[list[str]]:
    """The statements that sessions of this time send to this database, as its server logs them;
    filled at the end."""
    sent: list[str] = []
    with psycopg.connect(url, autocommit=True) as owner:
        name = owner.info.dbname
        row = owner.execute("SHOW data_directory").fetchone()
        owner.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
        log = Path(row[0] if row else "") / "log"
        begin = log.stat().st_size
        try:
            yield sent
        finally:
            owner.execute(f"ALTER DATABASE {name} RESET log_statement")
    with log.open() as lines:
        lines.seek(begin)
        sent += [line for line in lines if re.search("LOG:  (statement|execute [^:]*): ", line)]


def test_an_idle_process_asks_the_database_hardly_anything(url: str) -> None:
    with statements_of(url) as sent, inbox_of(url, lambda *_: None):
        engine = postgres_engine(url)
        watch, heartbeat = DatabaseWatch(engine), Heartbeat(engine, "bot")
        watch.start()
        heartbeat.prepare()
        heartbeat.beat()
        time.sleep(4)  # the pauses of its queue grow
        with psycopg.connect(url, autocommit=True) as mark:
            mark.execute("SELECT 'from here'")
            time.sleep(3)
            heartbeat.beat()
            time.sleep(2)
            mark.execute("SELECT 'to here'")
        watch.stop()
        end(engine)
    begin, finish = (
        next(number for number, line in enumerate(sent) if f"'{words}'" in line)
        for words in ("from here", "to here")
    )
    assert finish - begin <= 16, sent[begin:finish]  # once it was 22


def test_a_connection_that_was_just_used_is_not_asked_whether_it_works(url: str) -> None:
    with statements_of(url) as sent:
        engine = postgres_engine(url)
        for number in range(3):
            with autocommit(engine).connect() as connection:
                connection.execute(text(f"SELECT {number}"))
        end(engine)
    begin = next(number for number, line in enumerate(sent) if line.endswith("SELECT 0\n"))
    assert [line[-9:-1] for line in sent[begin:]] == ["SELECT 0", "SELECT 1", "SELECT 2"]


def test_connections_that_the_server_broke_off_are_replaced_unnoticed(url: str) -> None:
    engine = postgres_engine(url)
    pid = text("SELECT pg_backend_pid()")
    with engine.connect() as one, engine.connect() as other:
        pids = [one.scalar(pid), other.scalar(pid)]
    with psycopg.connect(url, autocommit=True) as owner:
        for broken in pids:
            owner.execute("SELECT pg_terminate_backend(%s, 60000)", [broken])
    with engine.connect() as one, engine.connect() as other:
        assert {one.scalar(pid), other.scalar(pid)}.isdisjoint(pids)
    end(engine)


def test_the_setting_and_the_engine_agree_on_the_default_and_the_least() -> None:
    assert Settings(_env_file=None).database_connections == DEFAULT_CONNECTIONS
    Settings(_env_file=None, database_connections=MIN_CONNECTIONS)
    with pytest.raises(ValidationError):
        Settings(_env_file=None, database_connections=MIN_CONNECTIONS - 1)


def test_a_process_asks_a_stalled_server_for_one_connection_at_a_time() -> None:
    accepted: list[socket.socket] = []
    failures: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        engine = postgres_engine(f"postgresql://somebody@127.0.0.1:{port}/none")

        def accept() -> None:
            with suppress(OSError):
                while True:
                    accepted.append(server.accept()[0])

        def connect() -> None:
            try:
                engine.connect().close()
            except SQLAlchemyError as error:
                failures.append(error)

        threading.Thread(target=accept, daemon=True).start()
        threads = [threading.Thread(target=connect) for _ in range(5)]
        for thread in threads:
            thread.start()
        until(lambda: accepted)
        time.sleep(0.5)
        assert len(accepted) == 1
        server.shutdown(socket.SHUT_RDWR)
    while any(thread.is_alive() for thread in threads):
        for connection in accepted:
            connection.close()
        time.sleep(0.02)
    assert {type(storage_failure(one)) for one in failures} == {DatabaseAway}
    assert len(failures) == 5


@contextmanager
def transaction_pooler(url: str, **more: str) -> Iterator[str]:
    """PgBouncer, which may give each transaction another session."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    server = make_url(url)
    # Not below pytest's own folder: PgBouncer won't run as root, and others may not look there.
    folder = Path(tempfile.mkdtemp(prefix="pgb"))
    folder.chmod(0o777)
    settings = {
        "listen_addr": "",
        "unix_socket_dir": folder,
        "listen_port": 6432,
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": 3,
        "user": Path(str(server.query["host"])).owner(),  # who may look into its folder
        "pidfile": folder / "pid",
        "logfile": folder / "log",
        **more,
    }
    where = f"host={server.query['host']} user={server.username} dbname={server.database}"
    lines = [f"{name} = {value}" for name, value in settings.items()]
    config = folder / "pgbouncer.ini"
    config.write_text("\n".join(["[databases]", f"* = {where}", "[pgbouncer]", *lines]))
    process = subprocess.Popen([program, config], stderr=subprocess.DEVNULL)
    try:
        until((folder / ".s.PGSQL.6432").exists)
        pooled = server.set(host=None, query={"host": str(folder), "port": "6432"})
        yield pooled.render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def test_behind_a_transaction_pooler_locks_and_notifications_go_to_the_server(url: str) -> None:
    done: list[str] = []

    def handle(engine: Engine, event_id: str) -> None:
        for number in range(8):  # a driver prepares what it sends often
            with engine.begin() as connection:
                connection.execute(text("SELECT pg_sleep(0.005), :number"), {"number": number})
        done.append(event_id)

    with transaction_pooler(url) as pooled:
        with pytest.raises(ConfigError, match="DATABASE_DIRECT_URL"):
            open_database(Settings(_env_file=None, database_url=pooled))
        with inbox_of(pooled, handle, direct_url=url) as inbox:
            for number in range(40):
                inbox.put(f"pooled-{number}", {})
            until(lambda: len(done) == 40)
            until(lambda: not inbox.backlog())


@pytest.mark.parametrize("variable", ["database_url", "database_direct_url"])
def test_sessions_that_a_pooler_shares_are_refused_by_every_command(
    url: str, variable: str
) -> None:
    with transaction_pooler(url, ignore_startup_parameters="options") as pooled:
        settings = Settings(_env_file=None, **{"database_url": url, variable: pooled})
        with pytest.raises(ConfigError, match=f"{variable.upper()} leads to a pooler"):
            open_database(settings)


def test_a_pooler_that_leaves_sessions_alone_needs_no_other_address(url: str) -> None:
    more = {"ignore_startup_parameters": "options", "pool_mode": "session"}
    done: list[str] = []
    with transaction_pooler(url, **more, default_pool_size="10") as pooled:
        end(open_database(Settings(_env_file=None, database_url=pooled)))
        with inbox_of(pooled, lambda _, event_id: done.append(event_id)) as inbox:
            inbox.put("by-session", {})
            until(lambda: done == ["by-session"])


def test_options_of_the_address_are_kept(url: str) -> None:
    more = {"options": "-c statement_timeout=7s", "sslmode": "disable"}
    address = make_url(url).update_query_dict(more).render_as_string(hide_password=False)
    engine = open_database(Settings(_env_file=None, database_url=address))
    with engine.connect() as connection:
        assert connection.scalar(text("SHOW statement_timeout")) == "7s"
    end(engine)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("postgresql://oncall:pa@secret@host/name", "has an @ in its name or password"),
        ("postgresql://host:port/name", "is not a database URL"),
        ("postgresql://one:1,two:2/name", "is not a database URL"),
        ("postgresql", "is not a database URL"),
        ("mysql://host/name", "names 'mysql'"),
    ],
)
@pytest.mark.parametrize("variable", ["DATABASE_URL", "DATABASE_DIRECT_URL"])
def test_an_address_that_is_none_is_told_in_one_line_without_its_password(
    url: str, variable: str, address: str, problem: str
) -> None:
    settings = Settings(_env_file=None, **{"database_url": url, variable.lower(): address})
    with pytest.raises(ConfigError) as refused:
        open_database(settings)
    assert str(refused.value).startswith(f"{variable} {problem}")
    assert "secret" not in str(refused.value)


def test_a_lock_of_somebody_else_is_waited_for_only_so_long_and_its_holder_is_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("durable.connections.LOCK_WAIT", "3s")
    engine = postgres_engine(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE contested (id int)")
    failures: list[Exception] = []

    def write() -> None:
        try:
            with engine.begin() as connection:
                connection.execute(text("INSERT INTO contested VALUES (1)"))
        except SQLAlchemyError as error:
            failures.append(error)

    with psycopg.connect(url, application_name="psql") as holder:
        pid = holder.info.backend_pid
        holder.execute("LOCK TABLE contested")
        writing = threading.Thread(target=write)
        writing.start()
        seen: list[Blocker] = []
        until(lambda: seen or seen.extend(blockers(engine, seconds=0.0)))
        writing.join()
    holding = seen[0]
    assert (holding.pid, holding.waiting) == (pid, 1)
    assert f"psql (pid {pid}) holds a lock that others wait for (1): idle in" in str(holding)
    failure = storage_failure(failures[0])
    assert failure
    assert failure.problem == "the database is kept busy by others"
    assert failure.passes
    assert not blockers(engine)
    engine.dispose()
