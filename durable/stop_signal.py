"""How a process waits for its end."""

from __future__ import annotations

import math
import signal
import time

LOOK_SECONDS = 0.2


class StopSignal:
    """Set by SIGTERM, by Ctrl-C or by `set`.

    Of a `threading.Event`, `wait` misses a signal that arrives just before it sleeps, and `set` in
    a handler waits for the lock of the `wait` that it interrupts; either is for ever."""

    def __init__(self) -> None:
        self._is_set = False

    def listen(self) -> None:
        """Only the main thread may. Replaces the handlers of both signals."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.set())

    def set(self) -> None:
        """End the wait, from any thread."""
        self._is_set = True

    def wait(self, seconds: float = math.inf) -> bool:
        """False when `seconds` passed before it was set. It is noticed within `LOOK_SECONDS`."""
        deadline = time.monotonic() + seconds
        while not self._is_set and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_SECONDS))
        return self._is_set
