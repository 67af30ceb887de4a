"""A parent process that runs several job runners and restarts those that die."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from durable.stop_signal import StopSignal

log = structlog.get_logger()

LOOK_SECONDS = 0.2
DRAIN_SECONDS = 28.0
"""A runner drains for 25 s; container platforms give 30 between SIGTERM and SIGKILL."""
PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before a restart; each early death in a row uses the next pause."""
SOON_SECONDS = 60.0
WRONG_SETUP = 2
"""Exit code for wrong settings. A restart would fail in the same way."""

Command = Callable[[int], list[str]]
"""(runner number, from 0) → its command line."""


@dataclass
class _Place:
    """State of one runner across restarts."""

    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    early_deaths: int = 0
    again_at: float | None = None


class RunnerProcesses:
    """Runs until SIGTERM or Ctrl-C, then drains the runners.

    A pipe from the parent is each runner's standard input. It closes when the parent ends for any
    reason, and the runners then end too."""

    def __init__(self, command: Command, count: int) -> None:
        self._command = command
        self._places = [_Place(self._started(number)) for number in range(count)]
        self._ended = StopSignal()

    def run(self) -> int:
        """Returns the exit code of a runner that stops on wrong settings, else 0."""
        if threading.current_thread() is threading.main_thread():
            self._ended.listen()
        code = 0
        while not code and not self._ended.wait(LOOK_SECONDS):
            code = max(self._look_at(number) for number in range(len(self._places)))
        self._drain()
        return code

    def stop(self) -> None:
        """Make `run` drain the runners and return."""
        self._ended.set()

    def _look_at(self, number: int) -> int:
        """Restart the runner if it died. Returns an exit code that stops all runners, or 0."""
        place = self._places[number]
        if place.again_at is not None:
            if time.monotonic() >= place.again_at:
                place.process, place.started = self._started(number), time.monotonic()
                place.again_at = None
            return 0
        died = place.process.poll()
        if died is None:
            return 0
        if died == WRONG_SETUP:
            return died
        _let_go(place.process)
        early = time.monotonic() - place.started < SOON_SECONDS
        place.early_deaths = place.early_deaths + 1 if early else 0
        pause = PAUSES[min(place.early_deaths, len(PAUSES) - 1)] if early else PAUSES[0]
        log.warning("a runner died; starting another", runner=number, code=died, pause=pause)
        place.again_at = time.monotonic() + pause
        return 0

    def _started(self, number: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own command line
            self._command(number), stdin=subprocess.PIPE
        )

    def _drain(self) -> None:
        alive = [place.process for place in self._places if place.process.poll() is None]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + DRAIN_SECONDS
        for process in alive:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for place in self._places:
            _let_go(place.process)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    if process.stdin:
        process.stdin.close()


def runner_command(number: int, health_port: int) -> list[str]:
    """Runner `number` serves health on `health_port + number`; a port of 0 disables it."""
    port = health_port + number if health_port else 0
    command = [sys.executable, "-m", "cli.main", "jobs", "run"]
    return [*command, "--health-port", str(port), "--under-parent"]
