"""Looks every second which timers are due, and stores each in the inbox, where it can't be lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog

from bot.clock.timers import Timers

log = structlog.get_logger()

TICK_SECONDS = 1.0
PLAN_SECONDS = 60.0
LATE_SECONDS = 120.0
"""Without a look for so long, it counts as stopped."""


class Clock:
    """Every worker has one: what several of them find due is stored once, by its id."""

    def __init__(
        self,
        timers: Timers,
        *,
        put: Callable[[str, dict[str, Any]], None],
        plans: Sequence[Callable[[], None]] = (),
        is_able: Callable[[], bool] = lambda: True,
    ) -> None:
        """`plans`: called every minute, to set the timers that a schedule asks for.

        `is_able`: whether the database is there; while it isn't, nobody looks."""
        self._timers = timers
        self._put = put
        self._plans = plans
        self._is_able = is_able
        self._stopping = threading.Event()
        self._looked_at = time.monotonic()
        self._planned_at = float("-inf")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Returns at once; the first look is at once, too, after a night in which nothing ran."""
        self._stopping.clear()
        self._looked_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread:
            self._thread.join(5)
            self._thread = None

    def missing(self) -> dict[str, str]:
        """As in `telemetry.health.Watched`."""
        running = self._thread is not None and self._thread.is_alive()
        late = time.monotonic() - self._looked_at > LATE_SECONDS
        if running and late and self._is_able():
            return {"clock": "the clock has stopped: reminders and digests wait"}
        return {}

    def tick(self) -> None:
        """One look."""
        if time.monotonic() - self._planned_at >= PLAN_SECONDS:
            for plan in self._plans:
                self._planned(plan)
            self._planned_at = time.monotonic()
        for timer in self._timers.due(datetime.now(UTC)):
            about = {"kind": timer.kind, "subject": timer.subject}
            self._put(timer.event_id, {"timer": about})
            self._timers.handed_over(timer)

    def _planned(self, plan: Callable[[], None]) -> None:
        try:
            plan()
        except Exception as error:  # one schedule that is wrong must not stop the others
            log.warning("a schedule could not be planned", cause=type(error).__name__)

    def _run(self) -> None:
        while not self._stopping.wait(TICK_SECONDS):
            if not self._is_able():
                continue
            try:
                self.tick()
                self._looked_at = time.monotonic()
            except Exception as error:  # the next look tries again
                log.warning("the clock could not look", cause=type(error).__name__)
