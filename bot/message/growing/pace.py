"""How often something may be shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

log = structlog.get_logger()


@dataclass
class Pace:
    """What all posts of a process share: when Slack last said it is too much."""

    quiet_until: float = 0.0
    streams_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hush(self, seconds: float) -> None:
        with self.lock:
            self.quiet_until = max(self.quiet_until, time.monotonic() + seconds)

    def quiet(self) -> bool:
        return time.monotonic() < self.quiet_until

    def no_streams(self, seconds: float) -> None:
        with self.lock:
            self.streams_until = max(self.streams_until, time.monotonic() + seconds)

    def may_stream(self) -> bool:
        return time.monotonic() >= self.streams_until


class Latest:
    """Shows the newest of several lines, one every `seconds` at most; the last one is never lost.

    Thread-safe. `show` runs in the caller's thread or a timer's, never in both at once."""

    def __init__(self, show: Callable[[str], None], seconds: float) -> None:
        self._show = show
        self._seconds = seconds
        self._due = time.monotonic() + seconds
        self._waiting = ""
        self._timer: threading.Timer | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def offer(self, line: str) -> None:
        with self._lock:
            if self._stopped:
                return
            self._waiting = line
            wait = self._due - time.monotonic()
            if wait <= 0:
                self._say()
            elif self._timer is None:
                self._timer = threading.Timer(wait, self._late)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        """No more lines: returns when none is being shown."""
        with self._lock:
            self._stopped = True
            if self._timer:
                self._timer.cancel()

    def _late(self) -> None:
        with self._lock:
            self._timer = None
            try:
                if not self._stopped:
                    self._say()
            except Exception as error:  # only decoration, and nobody above to hear of it
                log.warning("progress not shown", reason=str(error))

    def _say(self) -> None:
        self._show(self._waiting)
        self._due = time.monotonic() + self._seconds
