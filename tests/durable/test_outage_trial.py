"""Two bots are asked while their database is full, restarted and stalled, one is killed and Slack
falters: each mention gets one right last word, nothing false is ever shown, and `/readyz` says what
is going on."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import insert

from durable.connections import postgres_engine
from index.store.database import CurrentRow, create_index_tables
from playground.slack_stand_in import SlackStandIn
from tests.bot.features.answering.test_bot_crash import kill, up, worker
from tests.databases import breakable_postgresql
from tests.outage_trial import Crowd, Readiness, exhausted, free_port, limit_connections

pytestmark = pytest.mark.outage

CONNECTIONS = 100


def published(url: str) -> None:
    """Nothing but the row that says so; it is read for each answer."""
    engine = postgres_engine(url)
    create_index_tables(engine)
    with engine.begin() as connection:
        connection.execute(insert(CurrentRow).values(domain="security", number=1))
    engine.dispose()


def test_a_faltering_database_delays_answers_and_changes_none(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(breakable_postgresql())
        limit_connections(server, CONNECTIONS)
        published(server.url)
        slack = stack.enter_context(SlackStandIn(enforce_rate_limits=False))
        slack.retry_delays = (0.5, *[1.0] * 60)
        ports = [free_port(), free_port()]
        settings = {"DATABASE_URL": server.url, "READS_INDEX": "yes", "THINK_SECONDS": "0.5"}

        def started(port: int) -> subprocess.Popen[str]:
            folder = tmp_path / str(port)
            bot = stack.enter_context(worker(slack, folder, HEALTH_PORT=str(port), **settings))
            up(bot)
            return bot

        bots = [started(port) for port in ports]
        crowd, ready = Crowd(slack), stack.enter_context(Readiness(ports))
        ready.wait_until_ready()
        crowd.ask_for(2)

        with exhausted(server.url):
            began = time.monotonic()
            crowd.ask_for(4)
            kill(bots[1])
            crowd.ask_for(4)
            full = began, time.monotonic()
        started(ports[1])
        crowd.wait_until_answered(120)

        server.stop()
        began = time.monotonic()
        crowd.ask_for(5)
        stopped = began, time.monotonic()
        server.start()
        crowd.wait_until_answered(120)

        server.freeze()
        began = time.monotonic()
        crowd.ask_for(6)
        frozen = began, time.monotonic()
        server.thaw()
        crowd.ask_for(2)

        slack.faults.add("*", status=429, retry_after=1, count=10**9, every=4)
        slack.faults.add("*", status=500, count=10**9, every=5)
        slack.drop_sockets()
        crowd.ask_for(3)
        slack.faults.clear()
        crowd.wait_until_answered(120)
        ready.wait_until_ready()

        time.sleep(1)  # what would come twice comes now
        verdict = crowd.verdict(lambda text: "every 90 days" in text)
        assert verdict.faults == {}, crowd.shown
        outages = {"full": full, "stopped": stopped, "frozen": frozen}
        assert {
            name: looks for name in outages if (looks := ready.ready_within(*outages[name]))
        } == {}
