"""One run of a domain at a time, each planned time once, whatever else happens meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, NullPool, create_engine, make_url, text

from config.domain import Domain, Refresh
from config.errors import ConfigError
from config.settings import Settings
from durable.lease import FileLease, Lease, PostgresLease
from durable.queues import WorkQueue
from index.store.database import open_database
from jobs.ingest.progress import IngestReport
from jobs.schedule.recorded_run import NoticeStore, RunAttemptStore, Started, recorded
from jobs.schedule.runner import JobRunner, Registration
from jobs.schedule.runs import MAX_RUNS, IngestRun, RunStore, latest
from tests.bot.fakes import domain
from tests.databases import breakable_postgresql

PATIENCE = 120.0
WEEKLY = Refresh(cron="0 3 * * 1")


def at(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert look()


class Works:
    """A job that does what it is told to, and a runner of it."""

    def __init__(self, url: str, lease: Lease, engine: Engine, *, refresh: str) -> None:
        self.now = at("2026-11-05T03:00:10")
        self.engine = engine
        self.runs = RunStore(engine)
        self.began: list[str] = []
        self.told: list[str] = []
        self.slack_is_up = True
        self.does: Callable[[], object] = lambda: None
        self.domains: dict[str, Domain] = {"security": domain(refresh=refresh, admins=["U0INES"])}
        self.runner = JobRunner(
            domains=lambda: self.domains,
            refresh=self._refresh,
            runs=self.runs,
            tell=self._tell,
            database_url=url,
            lease=lease,
            now=lambda: self.now,
            look_seconds=3_600,  # a test looks by itself
        )

    def outcomes(self) -> dict[str, str]:
        return {run.id.partition("@")[2]: run.outcome for run in self.runs.of("security")}

    def _tell(self, person: str, lines: Sequence[str]) -> bool:
        if self.slack_is_up:
            self.told += [f"{person}: {line}" for line in lines]
        return self.slack_is_up

    def _refresh(self, name: str, started: Started) -> None:
        def run() -> IngestReport:
            self.began.append(started.id)
            self.does()
            return IngestReport(domain=name, generation=1)

        recorded(self.runs, name, started, run, generation=lambda: 0)


@contextmanager
def on_sqlite(folder: Path, refresh: str = "0 * * * *") -> Iterator[Works]:
    engine = open_database(Settings(data_dir=folder, database_url=None))
    lease = FileLease(folder / "lock")
    works = Works(f"sqlite:///{folder / 'jobs.sqlite'}", lease, engine, refresh=refresh)
    works.runner.start()
    try:
        yield works
    finally:
        works.runner.stop(5.0)
        engine.dispose()


def test_times_that_pass_during_a_run_are_left_out_and_on_record(tmp_path: Path) -> None:
    may_end = threading.Event()
    with on_sqlite(tmp_path) as works:
        works.does = lambda: may_end.wait(PATIENCE)
        works.runner.plan()
        until(lambda: works.began)
        for hour in (4, 5, 6):
            works.now = at(f"2026-11-05T{hour:02}:00:10")
            works.runner.plan()
        may_end.set()
        until(lambda: works.outcomes()["2026-11-05 03:00"] == "published")
        works.now = at("2026-11-05T07:00:10")
        until(lambda: not works.runner.worker.backlog())
        works.runner.plan()
        until(lambda: works.outcomes().get("2026-11-05 07:00") == "published")
        skipped = [name for name, outcome in works.outcomes().items() if outcome == "skipped"]
    assert len(works.began) == 2
    assert sorted(skipped) == [f"2026-11-05 0{hour}:00" for hour in (4, 5, 6)]


def test_a_run_that_hands_out_work_while_its_runner_ends_is_left_to_another(
    tmp_path: Path,
) -> None:
    has_ended, met = threading.Event(), list[BaseException]()
    with on_sqlite(tmp_path) as works:

        def hand_out() -> None:
            has_ended.wait(PATIENCE)
            try:
                works.runner.enqueue("prepare", "{}", queue="q", workflow_id="w")
            except BaseException as error:
                met.append(error)
                raise

        works.does = hand_out
        works.runner.plan()
        until(lambda: works.began)
        works.runner.stop(0.0)
        has_ended.set()
        until(lambda: met)
        time.sleep(0.3)  # it would be written down at once
        assert works.outcomes() == {"2026-11-05 03:00": "running"}


def test_the_first_look_at_a_new_schedule_raises_no_alarm(tmp_path: Path) -> None:
    with on_sqlite(tmp_path, "0 3 * * *") as works:
        works.now = at("2026-11-05T12:00")
        works.runner.plan()
        until(lambda: works.outcomes().get("2026-11-05 03:00") == "published")
        works.now = at("2026-11-06T03:30")
        works.runner.plan()
    assert works.told == []


def test_a_time_that_was_run_is_not_run_again_when_its_work_is_forgotten(tmp_path: Path) -> None:
    with on_sqlite(tmp_path, "0 3 * * 1") as works:
        planned = latest(WEEKLY, works.now)
        works.runs.end(
            IngestRun(
                id=f"security@{planned.wall}",
                domain="security",
                planned_at=planned.at,
                wall=planned.wall,
                started_at=planned.at,
                outcome="published",
            )
        )
        for number in range(MAX_RUNS + 1):  # by hand, since
            hand = IngestRun(
                id=f"security+{number}",
                domain="security",
                started_at=planned.at + timedelta(minutes=5 * number + 5),
                outcome="unchanged",
            )
            works.runs.leave_out(hand)
        works.runs.end(hand)
        assert len(works.runs.of("security", 2 * MAX_RUNS)) <= MAX_RUNS + 1
        works.runner.plan()
        assert works.runner.worker.backlog() == 0
    assert works.began == []


def test_a_clock_that_was_years_ahead_stops_nothing(tmp_path: Path) -> None:
    with on_sqlite(tmp_path, "0 3 * * *") as works:
        works.now = at("2036-01-01T12:00")
        works.runner.plan()
        until(lambda: works.outcomes().get("2036-01-01 03:00") == "published")
        until(lambda: not works.runner.worker.backlog())
        works.now = at("2026-11-05T12:00")
        works.runner.plan()
        until(lambda: works.outcomes().get("2026-11-05 03:00") == "published")
        works.runner.plan()
        until(lambda: not works.runner.worker.backlog())
    assert len(works.began) == 2


def test_times_that_a_clock_ahead_has_used_up_are_run_when_they_come(tmp_path: Path) -> None:
    """Three days ahead for a week: the three nights after the correction are nights like others."""
    with on_sqlite(tmp_path, "0 3 * * *") as works:
        for day in (8, 9, 10, 11):
            works.now = at(f"2026-11-{day:02}T03:00:10")
            works.runner.plan()
            until(lambda day=day: works.outcomes().get(f"2026-11-{day:02} 03:00") == "published")
            until(lambda: not works.runner.worker.backlog())
        works.now = at("2026-11-08T12:00")
        works.runner.plan()
        assert works.runner.worker.backlog() == 0
        assert max(run.started_at for run in works.runs.of("security")) <= works.now
        for day in (9, 10, 11):
            works.now = at(f"2026-11-{day:02}T03:00:10")
            works.runner.plan()
            until(lambda day=day: works.began.count(f"security@2026-11-{day:02} 03:00") == 2)
            until(lambda: not works.runner.worker.backlog())
            works.runner.plan()
    assert len(works.began) == 7
    assert len(works.runs.of("security")) == 7


def test_a_domain_that_can_not_be_looked_at_is_in_no_others_way(tmp_path: Path) -> None:
    with on_sqlite(tmp_path) as works:
        broken = works.domains["security"].model_copy(update={"domain": "broken"})
        broken = broken.model_copy(update={"refresh": Refresh.model_construct(cron="never")})
        works.domains = {"broken": broken, **works.domains}
        works.runner.plan()
        until(lambda: works.began)


def test_other_rooms_work_is_worked_off_beside_the_schedule(tmp_path: Path) -> None:
    done: list[str] = []
    works = Works(
        f"sqlite:///{tmp_path / 'jobs.sqlite'}",
        FileLease(tmp_path / "lock"),
        create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}"),
        refresh="0 * * * *",
    )

    def register() -> None:
        from dbos import DBOS

        @DBOS.workflow(name="other")
        def other(what: str) -> None:
            with works.runner.worker.working(what):
                done.append(what)

    queue = WorkQueue(name="others", concurrency=1, poll_seconds=0.02)
    works.runner.registrations.append(Registration(register=register, queues=[queue]))
    works.runner.start()
    try:
        works.runner.enqueue("other", "a document", queue="others", workflow_id="a document")
        until(lambda: done == ["a document"])
    finally:
        works.runner.stop(5.0)
        works.engine.dispose()


@pytest.mark.outage
def test_a_run_that_the_database_left_alone_is_done_when_it_is_back() -> None:
    with breakable_postgresql() as server:
        url = make_url(server.url).set(drivername="postgresql+psycopg")
        engine = create_engine(url, poolclass=NullPool)  # pings in an outage leave pieces behind
        works = Works(server.url, PostgresLease(server.url), engine, refresh="0 * * * *")
        left = threading.Event()

        def ask_the_database() -> None:
            while not left.is_set():
                with engine.connect() as connection:
                    connection.execute(text("SELECT 1"))

        works.does = ask_the_database
        works.runner.start()
        try:
            assert abs(works.runs.clock() - datetime.now(UTC)) < timedelta(minutes=1)
            works.runner.plan()
            until(lambda: works.began)
            server.stop()
            left.set()
            until(lambda: works.runner.missing())
            server.start()
            until(lambda: not works.runner.missing())
            until(lambda: works.outcomes().get("2026-11-05 03:00") == "published")
        finally:
            works.runner.stop(5.0)
            engine.dispose()


@pytest.mark.parametrize("outcome", ["published", "skipped"])
def test_a_run_that_is_over_does_not_begin_again(tmp_path: Path, outcome: str) -> None:
    with on_sqlite(tmp_path) as works:
        planned = latest(works.domains["security"].refresh or WEEKLY, works.now)
        works.runs.end(
            IngestRun(
                id=f"security@{planned.wall}",
                domain="security",
                started_at=planned.at,
                outcome="published" if outcome == "published" else "skipped",
            )
        )
        works.runner.plan()
        until(lambda: not works.runner.worker.backlog())
    assert works.began == []


def test_no_reading_of_runs_in_an_outage_is_taken_for_no_runs(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    runs = RunStore(engine)
    assert runs.of("security") == []
    runs.end(IngestRun(id="one", domain="security", started_at=at("2026-11-05T03:00")))
    engine.dispose()
    (tmp_path / "state.sqlite").write_bytes(b"no database, for as long as this lasts" * 100)
    with pytest.raises(Exception, match="database"):
        runs.of("security")
    engine.dispose()


def test_what_slack_did_not_take_is_told_later_and_once(tmp_path: Path) -> None:
    def fail() -> None:
        raise ConfigError("no such folder", remedy="look at `sources`")

    with on_sqlite(tmp_path) as works:
        works.does, works.slack_is_up = fail, False
        works.runner.plan()
        until(lambda: works.outcomes().get("2026-11-05 03:00") == "failed")
        until(lambda: not works.runner.worker.backlog())
        for _ in range(3):
            works.now += timedelta(minutes=2)
            works.runner.plan()
        assert works.told == []
        works.slack_is_up = True
        for _ in range(3):
            works.now += timedelta(minutes=2)
            works.runner.plan()
    assert works.told == ["U0INES: security: the last run failed: no such folder"]


def test_a_notice_waits_for_the_next_try_of_any_runner(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    one, other, now = NoticeStore(engine), NoticeStore(engine), at("2026-11-05T03:00")
    tried: list[str] = []

    def tell_nobody(person: str, lines: Sequence[str]) -> bool:
        tried.append(person)
        other.send(tell_nobody, lambda: now)  # while the first is at it
        return False

    one.create_tables()
    with engine.begin() as connection:
        one.keep(["U0A", "U0B"], ["all is well"], now, connection)
    one.send(tell_nobody, lambda: now)
    other.send(tell_nobody, lambda: now + timedelta(seconds=5))
    first = sorted(tried)
    one.send(tell_nobody, lambda: now + timedelta(minutes=2))
    assert first == ["U0A", "U0B"]
    assert len(tried) > len(first)
    tried.clear()
    earlier = now - timedelta(hours=2)
    one.send(lambda person, lines: bool(tried.append(person)) or True, lambda: earlier)
    assert sorted(tried) == ["U0A", "U0B"]  # of a clock that was put back
    engine.dispose()


def test_a_runner_that_ends_by_intention_is_no_death(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    begun = RunAttemptStore(engine)
    for _ in range(3):
        assert begun.begin("security@2026-11-05 03:00") == 0
        begun.let_go("security@2026-11-05 03:00")
    assert begun.begin("security@2026-11-05 03:00") == 0
    assert begun.begin("security@2026-11-05 03:00") == 1
    begun.end("security@2026-11-05 03:00")
    assert begun.begin("security@2026-11-05 03:00") == 0
    engine.dispose()


def test_work_that_a_stopped_runner_left_is_gone_on_with_and_counts_no_death(
    tmp_path: Path,
) -> None:
    may_end = threading.Event()
    with on_sqlite(tmp_path) as works:
        works.does = lambda: may_end.wait(PATIENCE)
        works.runner.plan()
        until(lambda: works.began)
        works.runner.stop(0.0)
        assert RunAttemptStore(works.engine).begin(works.began[0]) == 0
        may_end.set()
