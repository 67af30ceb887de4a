"""Two workers on one PostgreSQL share the work, and one finishes what the other died with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from durable.connections import postgres_engine
from durable.lease import PostgresLease
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import kill, said, up, worker
from tests.databases import postgresql_database
from tests.newer_release import expand_everything

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


def test_live_workers_have_different_names_and_a_dead_one_is_noticed(database: str) -> None:
    first, second = PostgresLease(database, "host"), PostgresLease(database, "host")
    first.acquire()
    second.acquire()
    assert first.executor_id != second.executor_id
    with second.takeover(first.executor_id) as dead:
        assert not dead
    first.release()
    with second.takeover(first.executor_id) as dead:
        assert dead
    assert second.keep()
    second.release()


def test_workers_that_meet_an_empty_database_at_once_all_start(
    slack: SlackStandIn, tmp_path: Path, database: str
) -> None:
    fresh = make_url(database).set(database="fresh")
    server = create_engine(
        make_url(database).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with server.connect() as connection:
        connection.execute(text("CREATE DATABASE fresh"))
    server.dispose()
    url = fresh.render_as_string(hide_password=False)
    with ExitStack() as workers:
        for process in [
            workers.enter_context(worker(slack, tmp_path / name, DATABASE_URL=url))
            for name in ("a", "b", "c")
        ]:
            up(process)


def test_a_survivor_finishes_the_questions_of_a_killed_worker(
    slack: SlackStandIn, tmp_path: Path, database: str
) -> None:
    slack.api.enforce_rate_limits = False
    shared = {"DATABASE_URL": database, "THINK_SECONDS": "2"}
    with (
        worker(slack, tmp_path / "a", **shared) as first,
        worker(slack, tmp_path / "b", **shared) as second,
    ):
        up(first)
        up(second)
        at = f"<@{slack.bot_user_id}>"
        asked = [slack.post_as_user(CHANNEL, f"{at} question {n}") for n in range(12)]
        slack.wait_for(lambda: all(said(slack, ts) for ts in asked))
        kill(first)
        began = time.monotonic()
        slack.wait_for(
            lambda: all(any(map(answered, said(slack, ts))) for ts in asked), timeout=120
        )
        assert time.monotonic() - began < 60
        time.sleep(1)
    assert [len(said(slack, ts)) for ts in asked] == [1] * len(asked)


def test_a_worker_of_the_last_release_goes_on_beside_one_of_the_next(
    slack: SlackStandIn, tmp_path: Path, database: str
) -> None:
    asked: list[str] = []

    def ask() -> None:
        text = f"<@{slack.bot_user_id}> question {len(asked)}"
        asked.append(slack.post_as_user(CHANNEL, text))

    with worker(slack, tmp_path / "a", DATABASE_URL=database) as running:
        up(running)
        ask()
        slack.wait_for(lambda: said(slack, asked[0]))
        engine = postgres_engine(database)
        expand_everything(engine)
        engine.dispose()
        for _ in range(3):
            ask()
        slack.wait_for(lambda: all(any(map(answered, said(slack, ts))) for ts in asked))
    assert [len(said(slack, ts)) for ts in asked] == [1] * len(asked)
