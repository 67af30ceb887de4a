"""Connections to PostgreSQL come to an end with the engine that made them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable.database import end, postgres_engine
from durable.lease import PostgresLease
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
