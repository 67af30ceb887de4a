"""A process that stands still is reported by the others, and one that stopped in order by none."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, select, update
from structlog.testing import capture_logs

from durable.connections import postgres_engine
from durable.database import insert_once
from durable.heartbeat import (
    BEAT_SECONDS,
    LOST_SECONDS,
    Heartbeat,
    HeartbeatRow,
    clock_ahead,
    last_signs,
)
from telemetry import metrics
from tests.databases import engine_of, postgresql_database


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_of(request, tmp_path, HeartbeatRow.__tablename__) as opened:
        yield opened


class Watcher(Heartbeat):
    """A job runner whose clock the test moves."""

    def __init__(self, engine: Engine) -> None:
        self.seconds = 0.0
        super().__init__(engine, "jobs", clock=lambda: self.seconds)
        self.prepare()

    def silent(self, *, after: float) -> dict[tuple[str, str], float]:
        """(process, host) → seconds, as Prometheus would read them after one more beat."""
        self.seconds += after
        self.beat()
        self.observe()
        (family,) = metrics.SILENT.collect()
        return {(s.labels["process"], s.labels["host"]): s.value for s in family.samples}


def age(engine: Engine, seconds: float, *, process: str = "bot") -> None:
    older = update(HeartbeatRow).where(HeartbeatRow.process == process)
    with engine.begin() as connection:
        connection.execute(older.values(beat_at=HeartbeatRow.beat_at - seconds))


BOT = ("bot", socket.gethostname()[:80])


def test_a_process_that_stands_still_is_reported_until_it_goes_on(engine: Engine) -> None:
    watcher, bot = Watcher(engine), Heartbeat(engine, "bot")
    bot.beat()
    assert watcher.silent(after=0) == {BOT: 0.0}
    for _ in range(8):
        age(engine, BEAT_SECONDS)
        silent = watcher.silent(after=BEAT_SECONDS)
    assert silent[BOT] == pytest.approx(8 * BEAT_SECONDS, abs=5)
    assert [one.is_alive for one in last_signs(engine, "bot")] == [False]
    assert [one.is_alive for one in last_signs(engine, "jobs")] == [True]
    bot.beat()
    assert watcher.silent(after=BEAT_SECONDS) == {BOT: 0.0}


def test_a_process_that_stops_in_order_is_not_missed(engine: Engine) -> None:
    watcher, bot = Watcher(engine), Heartbeat(engine, "bot")
    bot.beat()
    assert watcher.silent(after=BEAT_SECONDS) == {BOT: 0.0}
    bot.stop()
    assert watcher.silent(after=BEAT_SECONDS) == {}
    assert last_signs(engine, "bot") == []


def test_nobody_is_reported_for_a_time_in_which_the_reporter_was_silent_too(
    engine: Engine,
) -> None:
    """An outage of the database, or a machine that slept: all went silent at once."""
    watcher, bot = Watcher(engine), Heartbeat(engine, "bot")
    bot.beat()
    watcher.silent(after=BEAT_SECONDS)
    age(engine, 300)
    assert watcher.silent(after=300) == {BOT: 0.0}
    assert watcher.silent(after=BEAT_SECONDS) == {BOT: 0.0}


def test_killed_processes_of_this_machine_and_lost_machines_are_forgotten(engine: Engine) -> None:
    watcher = Watcher(engine)
    ended = subprocess.Popen(["true"])
    ended.wait()
    here = socket.gethostname()[:80]
    watcher.beat()
    (mine,) = last_signs(engine, "jobs")
    for host, pid, since in ((here, ended.pid, 0.0), ("gone", 1, LOST_SECONDS), ("other", 1, 0.0)):
        insert_once(engine, HeartbeatRow, process="bot", host=host, pid=pid, beat_at=0.0)
        with engine.begin() as connection:
            beat = select(HeartbeatRow.beat_at).where(HeartbeatRow.pid == mine.pid)
            at = connection.scalar(beat)
            row = update(HeartbeatRow).where(HeartbeatRow.host == host, HeartbeatRow.pid == pid)
            connection.execute(row.values(beat_at=at - since))
    assert {one.host for one in last_signs(engine, "bot")} == {here, "other"}
    Heartbeat(engine, "bot").prepare()
    assert {one.host for one in last_signs(engine, "bot")} == {"other"}
    assert {one.pid for one in last_signs(engine, "jobs")} == {os.getpid()}


def test_a_clock_that_is_wrong_is_told(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = postgres_engine(server)
    watcher, now = Watcher(engine), time.time
    with capture_logs() as logs:
        for ahead in (0.0, 1200.0, 1200.0, -90.0, 0.0):
            with monkeypatch.context() as clock:
                clock.setattr(time, "time", lambda ahead=ahead: now() + ahead)
                watcher.silent(after=BEAT_SECONDS)
                assert clock_ahead(engine) == pytest.approx(ahead, abs=5)
            assert metrics.CLOCK_AHEAD._value.get() == pytest.approx(ahead, abs=5)
    engine.dispose()
    assert [one["ahead_seconds"] for one in logs] == [1200]


def test_free_connections_are_those_that_others_could_still_open(server: str) -> None:
    engine = postgres_engine(server)
    watcher = Watcher(engine)

    def free() -> float:
        watcher.beat()
        watcher.observe()
        (family,) = metrics.CONNECTIONS_FREE.collect()
        return family.samples[0].value

    before = free()
    with psycopg.connect(server), psycopg.connect(server):
        assert free() == before - 2
    engine.dispose()


def test_where_no_process_ever_ran_there_are_no_signs(tmp_path: Path) -> None:
    assert last_signs(create_engine(f"sqlite:///{tmp_path / 'new.db'}"), "jobs") == ()
