"""What processes may open, against the limits of the server, the role and the database."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from cli.setup.checks import check_storage
from config.settings import Settings
from durable.connection_limits import ConnectionSum, connection_sum, free_connections
from durable.connections import end, postgres_engine
from durable.heartbeat import Heartbeat, last_signs
from tests.databases import postgresql_database

GUEST = "oncall guest"
PASSWORD = "p@ss/w:rd%23 #?&é"


@pytest.fixture(scope="module")
def owners() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(scope="module")
def url(owners: str) -> Iterator[str]:
    """As a role that is no superuser would write it."""
    with psycopg.connect(owners, autocommit=True) as owner:
        owner.execute(f'CREATE ROLE "{GUEST}" LOGIN')
        owner.execute(f'GRANT ALL ON SCHEMA public TO "{GUEST}"')
    guests = make_url(owners).set(username=GUEST, password=PASSWORD)
    yield guests.render_as_string(hide_password=False)
    with psycopg.connect(owners, autocommit=True) as owner:
        owner.execute(f'DROP OWNED BY "{GUEST}"')
        owner.execute(f'DROP ROLE "{GUEST}"')


@contextmanager
def limited(owners: str, what: str, limit: int) -> Iterator[None]:
    with psycopg.connect(owners, autocommit=True) as owner:
        name = f'ROLE "{GUEST}"' if what == "role" else f"DATABASE {owner.info.dbname}"
        owner.execute(f"ALTER {name} CONNECTION LIMIT {limit}")
        try:
            yield
        finally:
            owner.execute(f"ALTER {name} CONNECTION LIMIT -1")


def sum_of(url: str) -> ConnectionSum:
    engine = postgres_engine(url)
    try:
        total = connection_sum(engine)
    finally:
        end(engine)
    assert total is not None
    return total


def as_guest(owners: str, name: str) -> psycopg.Connection:
    return psycopg.connect(owners, user=GUEST, application_name=name)


def doctor(url: str, folder: Path) -> Mapping[str, str]:
    """Check → what it says."""
    findings = check_storage(Settings(_env_file=None, database_url=url, data_dir=folder))
    return {one.check: f"{one.state}: {one}" for one in findings}


def test_processes_that_need_more_than_the_server_allows_are_told_what_to_set(owners: str) -> None:
    alone = sum_of(owners)
    assert alone.problem() is None
    with (
        psycopg.connect(owners, application_name=f"oncall jobs 0a1b2c/{alone.allowed}"),
        psycopg.connect(owners, application_name="psql"),
    ):
        both = sum_of(owners)
    assert both.processes["jobs 0a1b2c"] == alone.allowed
    assert both.others == alone.others + 1
    assert both.free == alone.free - 2
    assert both.problem() is not None


def test_the_remedy_names_both_settings_where_both_help() -> None:
    six = ConnectionSum(
        allowed=97, processes={f"bot {number:06x}": 20 for number in range(6)}, others=7, free=9
    )
    problem, remedy = six.problem() or ("", "")
    assert problem == (
        "the database allows 97 connections, and 6 processes may open 120, besides 7 of other "
        "programs"
    )
    assert remedy == "raise max_connections by 30 or more, or set ONCALL_DATABASE_CONNECTIONS to 15"
    many = ConnectionSum(allowed=20, processes={f"bot {n}": 5 for n in range(6)}, others=0, free=0)
    assert (many.problem() or ("", ""))[1] == "raise max_connections by 10 or more"


def test_a_server_that_others_fill_is_told_before_any_process_runs() -> None:
    full = ConnectionSum(allowed=10, processes={}, others=12, free=0)
    assert full.problem() == (
        "the database allows 10 connections, and 0 processes may open 0, besides 12 of other "
        "programs",
        "raise max_connections by 2 or more",
    )


@pytest.mark.parametrize("what", ["role", "database"])
def test_a_limit_of_the_role_or_the_database_is_compared_with_its_own_connections(
    owners: str, url: str, what: str
) -> None:
    with ExitStack() as stack:
        for _ in range(4):  # not of the role, nor of the database
            stack.enter_context(psycopg.connect(owners, dbname="postgres"))
        bot = stack.enter_context(as_guest(owners, "oncall bot 0a1b2c/10"))
        stack.enter_context(limited(owners, what, 8))
        total = sum_of(url)
        limit = (
            f"the CONNECTION LIMIT of {what} {bot.info.user if what == 'role' else bot.info.dbname}"
        )
        assert (total.limit, total.allowed, total.processes) == (limit, 8, {"bot 0a1b2c": 10})
        others = total.others
        assert others == (1 if what == "role" else 2)  # who asks; and who set the limit
        assert (total.problem() or ("", ""))[1] == (
            f"raise {limit} by {2 + others} or more, or set ONCALL_DATABASE_CONNECTIONS to "
            f"{8 - others}"
        )
        assert sum_of(owners).limit == "max_connections"  # neither holds for a superuser


@pytest.mark.parametrize("what", ["role", "database"])
def test_who_finds_no_connection_left_is_told_which_limit_to_raise(
    owners: str, url: str, what: str, tmp_path: Path
) -> None:
    with limited(owners, what, 0):
        assert doctor(url, tmp_path)["database"] == (
            "wrong: the database has no connection or memory left; raise the "
            f"{what}'s CONNECTION LIMIT, or set ONCALL_DATABASE_CONNECTIONS lower"
        )


@pytest.mark.parametrize(
    "hidden",
    [
        "EXECUTE ON FUNCTION current_setting(text), current_setting(text, boolean)",
        "SELECT ON pg_stat_activity",
        "SELECT ON pg_roles",
    ],
)
def test_a_server_that_hides_its_limits_is_not_compared_and_nothing_else_suffers(
    owners: str, url: str, hidden: str, tmp_path: Path
) -> None:
    with psycopg.connect(owners, autocommit=True) as owner:
        owner.execute(f"REVOKE {hidden} FROM PUBLIC")
        try:
            engine = postgres_engine(url)
            assert connection_sum(engine) is None
            with engine.connect() as connection:
                assert math.isnan(free_connections(connection))
            heartbeat = Heartbeat(engine, "bot")
            heartbeat.prepare()
            heartbeat.beat()
            assert len(last_signs(engine, "bot")) == 1
            end(engine)
            assert doctor(url, tmp_path)["database connections"] == (
                "ok: not compared with the server's limit, which it or its pooler does not show"
            )
        finally:
            owner.execute(f"GRANT {hidden} TO PUBLIC")
