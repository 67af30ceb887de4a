"""Several runners under one parent, which restarts those that die."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

log = structlog.get_logger()

LOOK_SECONDS = 0.2
DRAIN_SECONDS = 28.0
"""A runner drains for 25 s; container platforms give 30 between SIGTERM and SIGKILL."""
PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before a runner is started again that died soon after its start, again and again."""
SOON_SECONDS = 60.0
WRONG_SETUP = 2
"""The exit code of wrong settings, which the next start has as well."""

Command = Callable[[int], list[str]]
"""The command line of the runner of a number, from 0."""


@dataclass
class _Place:
    """Of one runner, whichever process it is now."""

    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    early_deaths: int = 0
    again_at: float | None = None


class RunnerProcesses:
    """`run` until SIGTERM or Ctrl-C; the runners then drain. They end with their parent, however
    it ends, by the pipe that is their standard input."""

    def __init__(self, command: Command, count: int) -> None:
        self._command = command
        self._places = [_Place(self._started(number)) for number in range(count)]
        self._ended = threading.Event()

    def run(self) -> int:
        """The exit code: that of a runner which its settings stopped, else 0."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        code = 0
        while not code and not self._ended.wait(LOOK_SECONDS):
            code = max(self._look_at(number) for number in range(len(self._places)))
        self._drain()
        return code

    def stop(self) -> None:
        """Makes `run` return, once the runners have drained."""
        self._ended.set()

    def _look_at(self, number: int) -> int:
        """What ends all; 0 goes on."""
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
    """The first on the health port, each after it on the next one."""
    port = health_port + number if health_port else 0
    command = [sys.executable, "-m", "cli.main", "jobs", "run"]
    return [*command, "--health-port", str(port), "--under-parent"]
