"""Runners under one parent: those that die are started again, and all end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from jobs.schedule.processes import RunnerProcesses

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0
RUNNER = (
    "import sys, pathlib, os; pathlib.Path({note!r}).open('a').write(f'{{os.getpid()}}\\n'); {does}"
)
UNTIL_THE_PARENT_ENDS = "sys.stdin.read()"


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert look()


def started(notes: Path) -> list[int]:
    return [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def command(notes: Path, does: str) -> Callable[[int], list[str]]:
    return lambda number: [sys.executable, "-c", RUNNER.format(note=str(notes), does=does)]


def test_a_runner_that_dies_is_started_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    crew = RunnerProcesses(command(notes, UNTIL_THE_PARENT_ENDS), 2)
    running = threading.Thread(target=crew.run)
    running.start()
    until(lambda: len(started(notes)) == 2)
    os.kill(started(notes)[0], signal.SIGKILL)
    until(lambda: len(started(notes)) == 3)
    crew.stop()
    running.join(PATIENCE)
    assert not any(map(psutil.pid_exists, started(notes)))


def test_wrong_settings_end_all_instead_of_starting_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    assert RunnerProcesses(command(notes, "sys.exit(2)"), 2).run() == 2
    assert len(started(notes)) <= 2


def test_runners_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    code = (
        "from pathlib import Path\n"
        "from jobs.schedule.processes import RunnerProcesses\n"
        "from tests.jobs.schedule.test_runner_processes import UNTIL_THE_PARENT_ENDS, command\n"
        f"RunnerProcesses(command(Path({str(notes)!r}), UNTIL_THE_PARENT_ENDS), 2).run()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    until(lambda: len(started(notes)) == 2)
    parent.kill()
    parent.wait()
    until(lambda: not any(map(psutil.pid_exists, started(notes))))
