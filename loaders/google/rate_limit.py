"""Stays below a per-minute quota, however many threads ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Lets at most nine tenths of `per_minute` calls through in any minute.

    A sixth of them may go at once, the rest are spaced evenly: so a small run does not wait, and
    a long one never meets the quota. Thread-safe."""

    def __init__(
        self,
        per_minute: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 60 / (0.75 * per_minute)
        self._slack = 0.15 * per_minute * self._interval
        """Seconds of evenly spaced calls that may be drawn in advance."""
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock() - self._slack
        """When the next call would be due if all had been spaced evenly."""

    def wait(self) -> None:
        """Return when this call may go."""
        with self._lock:
            now = self._clock()
            due = max(self._next, now - self._slack)
            self._next = due + self._interval
        if due > now:
            self._sleep(due - now)

    def hold(self, seconds: float) -> None:
        """Google asked for a pause: no call goes before it is over."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)
