"""When a domain is refreshed: under clocks that jump, zones that change, and several runners."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine

from config.domain import Refresh
from jobs.schedule.freshness import freshness
from jobs.schedule.recorded_run import died
from jobs.schedule.runs import (
    MAX_RUNS,
    IngestRun,
    Outcome,
    Planned,
    RunStore,
    due,
    is_overdue,
    latest,
    upcoming,
)
from tests.bot.fakes import domain

NIGHTLY = Refresh(cron="0 3 * * *")
BERLIN = Refresh(cron="30 2 * * *", time_zone="Europe/Berlin")
HALF_HOURLY = Refresh(cron="*/30 * * * *", time_zone="Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def walk(refresh: Refresh, moments: Sequence[datetime]) -> list[str]:
    """The wall times that are run when a runner looks at these moments."""
    handled: Planned | None = latest(refresh, moments[0])
    ran = []
    for now in moments[1:]:
        if planned := due(refresh, "security", handled, now):
            ran.append(planned.wall)
            handled = planned
    return ran


def every(minutes: int, first: str, last: str) -> list[datetime]:
    start, end = at(first), at(last)
    count = int((end - start) / timedelta(minutes=minutes))
    return [start + timedelta(minutes=minutes * place) for place in range(count + 1)]


def test_each_planned_time_is_run_once() -> None:
    ran = walk(NIGHTLY, every(7, "2026-11-01T12:00", "2026-11-04T12:00"))
    assert ran == ["2026-11-02 03:00", "2026-11-03 03:00", "2026-11-04 03:00"]


def test_what_was_missed_is_caught_up_with_once() -> None:
    looks = [at("2026-11-01T12:00"), at("2026-11-09T12:00"), at("2026-11-09T12:05")]
    assert walk(NIGHTLY, looks) == [
        "2026-11-09 03:00"
    ]  # fmt: skip


def test_a_clock_that_is_put_back_runs_nothing_again() -> None:
    looks = [at("2026-11-02T02:00"), at("2026-11-02T03:01"), at("2026-11-02T02:00"),
             at("2026-11-02T03:00"), at("2026-11-02T03:05")]  # fmt: skip
    assert walk(NIGHTLY, looks) == ["2026-11-02 03:00"]


def test_the_hour_that_comes_twice_has_its_times_once() -> None:
    assert walk(BERLIN, every(5, "2026-10-24T12:00", "2026-10-25T12:00")) == ["2026-10-25 02:30"]
    twice = walk(HALF_HOURLY, every(5, "2026-10-25T00:05", "2026-10-25T02:10"))
    assert twice == ["2026-10-25 02:30", "2026-10-25 03:00"]


def test_a_time_that_is_skipped_in_spring_is_run_when_the_clock_has_jumped() -> None:
    assert walk(BERLIN, every(5, "2026-03-28T12:00", "2026-03-29T12:00")) == ["2026-03-29 03:00"]


def test_a_domain_that_never_ran_is_due_at_once() -> None:
    planned = due(NIGHTLY, "security", None, at("2026-11-02T12:00"))
    assert planned == Planned(at=at("2026-11-02T03:00"), wall="2026-11-02 03:00")


def test_jitter_delays_by_as_much_for_everybody() -> None:
    late = Refresh(cron="0 3 * * *", jitter_minutes=60)
    handled = latest(late, at("2026-11-01T12:00"))
    looks = every(1, "2026-11-02T03:00", "2026-11-02T04:00")
    starts = {
        name: next(now for now in looks if due(late, name, handled, now))
        for name in ("security", "privacy", "platform", "identity")
    }
    assert len(set(starts.values())) > 1
    assert starts["security"] == next(now for now in looks if due(late, "security", handled, now))


@pytest.mark.parametrize(
    ("fresh_at", "now", "overdue"),
    [
        ("2026-11-02T03:00", "2026-11-03T03:59", False),
        ("2026-11-02T03:00", "2026-11-03T04:01", True),
        ("2026-11-02T09:00", "2026-11-03T02:00", False),
        ("", "2026-11-03T03:30", False),
        ("", "2026-11-03T05:00", True),
    ],
)
def test_an_index_is_overdue_an_hour_after_its_run_should_have_been(
    fresh_at: str, now: str, overdue: bool
) -> None:
    assert is_overdue(NIGHTLY, at(fresh_at) if fresh_at else None, at(now)) is overdue


def test_the_next_time_is_told_in_the_schedules_own_zone() -> None:
    assert upcoming(BERLIN, at("2026-07-01T12:00")).wall == "2026-07-02 02:30"
    assert upcoming(BERLIN, at("2026-07-01T12:00")).at == at("2026-07-02T00:30")


def run(day: int, outcome: Outcome = "published", **more: Any) -> IngestRun:
    planned = latest(NIGHTLY, at(f"2026-11-{day:02}T12:00"))
    return IngestRun(
        id=f"security@{planned.wall}",
        domain="security",
        planned_at=planned.at,
        wall=planned.wall,
        started_at=planned.at,
        finished_at=planned.at + timedelta(minutes=1),
        outcome=outcome,
        **more,
    )


def test_a_document_is_named_after_its_third_failure_in_a_row() -> None:
    bad = {"keys": "403"}
    nightly = domain(refresh={"cron": "0 3 * * *"})
    two = [run(3, failures=bad), run(2, failures=bad), run(1)]
    three = [run(4, failures=bad), *two[:2]]
    assert freshness(nightly, two, at("2026-11-03T12:00")).complaints() == ()
    (told,) = freshness(nightly, three, at("2026-11-04T12:00")).complaints()
    assert "keys could not be read 3 times in a row: 403" in told


def test_a_failed_run_and_an_old_index_are_told() -> None:
    nightly = domain(refresh={"cron": "0 3 * * *"})
    runs = [run(4, "failed", problem="Google said no"), run(3, "skipped"), run(2)]
    failed, overdue = freshness(nightly, runs, at("2026-11-05T12:00")).complaints()
    assert "Google said no" in failed
    assert "no run ended well since 2026-11-02 03:00" in overdue


def test_a_failure_is_no_less_while_the_next_run_goes_on() -> None:
    nightly = domain(refresh={"cron": "0 3 * * *"})
    runs = [run(3, "running"), run(2, "failed", problem="Google said no"), run(1)]
    fresh = freshness(nightly, runs, at("2026-11-03T03:01"))
    assert any("Google said no" in line for line in fresh.complaints())
    assert fresh.sentence().startswith("failed")
    assert "running now" in fresh.sentence()


def test_a_run_that_was_killed_is_interrupted_though_nobody_recorded_it(tmp_path: Any) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as killed:
        killed.wait()
    here, locked = socket.gethostname(), {"security"}
    engine = create_engine(f"sqlite:///{tmp_path}/state.sqlite")
    store = RunStore(engine, lambda run: died(run, locked.__contains__))

    def seen(runner: str) -> str:
        store.begin(run(3, "running", runner=runner))
        return freshness(domain(), store.of("security"), at("2026-11-03T03:01")).sentence()

    for runner in (f"{here}:{os.getpid()}", "elsewhere:7"):
        assert seen(runner) == "being refreshed for the first time"
    assert seen(f"{here}:{killed.pid}").startswith("never refreshed; the run of 2026-11-03 03:00")
    locked.clear()
    assert seen("elsewhere:7").endswith("UTC was interrupted")
    assert [one.outcome for one in store.of("security")] == ["broken"]
    engine.dispose()


def test_runs_are_kept_and_a_change_of_complaints_is_told_once(tmp_path: Any) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/state.sqlite")
    kept, other = RunStore(engine), RunStore(engine)
    assert kept.of("security") == []
    kept.begin(run(1, "running"))
    kept.begin(run(2, "running"))
    kept.end(run(2, failures={"keys": "403"}))
    assert [one.outcome for one in other.of("security")] == ["published", "broken"]
    assert other.last_planned("security", at("2026-11-03T00:00")) == Planned(
        at=at("2026-11-02T03:00"), wall="2026-11-02 03:00"
    )
    assert kept.told_anew("security", []) is None
    assert kept.told_anew("security", ["it failed"]) == ()
    assert other.told_anew("security", ["it failed"]) is None
    assert other.told_anew("security", []) == ("it failed",)
    assert kept.told_anew("security", []) is None
    for number in range(MAX_RUNS + 5):
        started = at("2026-12-01T03:00") + timedelta(minutes=number)
        kept.end(IngestRun(id=str(number), domain="security", started_at=started, outcome="failed"))
    *newest, oldest = kept.of("security", 2 * MAX_RUNS)
    assert len(newest) == MAX_RUNS
    assert oldest.planned_at == at("2026-11-02T03:00")  # or that time would be run again
    engine.dispose()
