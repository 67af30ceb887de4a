"""Two runners, one of them killed: each planned run is there once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.databases import postgresql_database
from tests.jobs.schedule.runner_process import DOMAINS

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0


@contextmanager
def runner(database: str, notes: Path, now: str) -> Iterator[subprocess.Popen[str]]:
    told = {"DATABASE_URL": database, "NOTES": str(notes), "NOW": now}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.schedule.runner_process"],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **told},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


def lines(notes: Path, word: str) -> list[list[str]]:
    said = notes.read_text().splitlines() if notes.exists() else []
    return [line.split(" ", 2)[1:] for line in said if line.startswith(word)]


def wait_for(notes: Path, word: str, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(lines(notes, word)) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(lines(notes, word)) >= count


def test_a_killed_runners_run_is_finished_by_another_and_none_is_run_twice(
    database: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    now = "2026-11-02T03:00:30+00:00"
    with ExitStack() as stack:
        processes = [stack.enter_context(runner(database, notes, now)) for _ in range(2)]
        by_pid = {str(process.pid): process for process in processes}
        wait_for(notes, "began", 1)
        killed = lines(notes, "began")[0]
        by_pid[killed[0]].kill()
        wait_for(notes, "ended", len(DOMAINS))
        time.sleep(1.0)  # a run that is there twice would begin now
    ended = sorted(run for _, run in lines(notes, "ended"))
    assert ended == sorted(f"{name}@2026-11-02 03:00" for name in DOMAINS)
    began = [run for _, run in lines(notes, "began")]
    assert {run for run in began if began.count(run) > 1} <= {killed[1]}
