"""Connections to PostgreSQL come to an end with the engine that made them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from config.errors import DatabaseAway, NothingPublished
from durable.connections import end, postgres_engine
from durable.failures import passing_failure, storage_failure
from durable.lease import PostgresLease
from index.open_generations import OpenGenerations
from index.store.database import create_index_tables
from index.store.documents import Store
from tests.databases import postgresql_database


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


def test_what_comes_back_after_the_end_is_closed(url: str) -> None:
    engine = postgres_engine(url)
    late, early = engine.connect(), engine.connect()
    connections = [one.connection.dbapi_connection for one in (early, late)]
    early.close()
    engine.dispose()
    late.close()
    assert all(connection and connection.closed for connection in connections)


def test_what_is_begun_after_the_end_leaves_nothing_open(url: str) -> None:
    engine = postgres_engine(url)
    end(engine)
    for _ in range(2):
        with engine.connect() as connection:
            late = connection.connection.dbapi_connection
        assert late is not None
        assert late.closed


def test_a_disposed_engine_begins_anew(url: str) -> None:
    engine = postgres_engine(url)
    engine.dispose()
    with engine.connect() as connection:
        first = connection.connection.dbapi_connection
    with engine.connect() as connection:
        assert connection.connection.dbapi_connection is first, "it is pooled again"
    engine.dispose()


def test_a_lease_that_was_released_is_not_taken_again(url: str) -> None:
    lease = PostgresLease(url)
    lease.acquire()
    lease.release()
    assert not lease.keep(), "a look that was on its way when it was released"
    lease.acquire()
    assert lease.keep()
    lease.release()


def statement_timeout(url: str, engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("SET statement_timeout = 10"))
        connection.execute(text("SELECT pg_sleep(5)"))


def killed(url: str, engine: Engine) -> None:
    with engine.connect() as connection:
        pid = connection.scalar(text("SELECT pg_backend_pid()"))
        with psycopg.connect(url) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
        connection.execute(text("SELECT 1"))


def refused(url: str, engine: Engine) -> None:
    create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing").connect()


def no_connection_left(url: str, engine: Engine) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute("CREATE ROLE guest LOGIN")
        owner.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
        try:
            psycopg.connect(url, user="guest")
        finally:
            owner.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")
            owner.execute("DROP ROLE guest")


def none_free(url: str, engine: Engine) -> None:
    address = make_url(url).set(drivername="postgresql+psycopg")
    own = create_engine(address, pool_size=1, max_overflow=0, pool_timeout=0.01)
    try:
        with own.connect():
            own.connect()
    finally:
        end(own)


def locked(url: str, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE held (word TEXT)"))
    with engine.begin() as one, engine.begin() as other:
        one.execute(text("LOCK TABLE held"))
        other.execute(text("SET lock_timeout = 10"))
        other.execute(text("LOCK TABLE held"))


@pytest.mark.parametrize(
    "falter", [statement_timeout, killed, refused, no_connection_left, none_free, locked]
)
def test_a_database_that_cannot_be_asked_is_away_and_says_nothing_about_the_index(
    url: str, falter: Callable[[str, Engine], None]
) -> None:
    engine = postgres_engine(url)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the drivers' own
        falter(url, engine)
    assert isinstance(storage_failure(caught.value), DatabaseAway), caught.value
    engine.dispose()


def test_only_a_database_that_answers_tells_that_nothing_is_published(url: str) -> None:
    engine = postgres_engine(url)
    create_index_tables(engine)
    away = Store(create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing"))
    for store, error in ((Store(engine), NothingPublished), (away, DatabaseAway)):
        opened = OpenGenerations(
            store, lambda *_: pytest.fail("opened"), most_bytes=1, most_domains=1
        )
        with pytest.raises(error):
            opened.current("security")
    engine.dispose()


def test_an_error_of_ours_in_a_statement_is_no_outage(url: str) -> None:
    engine = postgres_engine(url)
    for statement in ("SELECT * FROM nowhere", "SELEC", "SELECT 1/0"):
        with engine.connect() as connection, pytest.raises(Exception) as caught:  # noqa: PT011
            connection.execute(text(statement))
        assert passing_failure(caught.value) is None
    engine.dispose()
