"""How a process waits for its end, and ends."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import time
from contextlib import suppress
from typing import NoReturn

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


def end_at_once(code: int = 0) -> NoReturn:
    """Exit without waiting for threads. One that waits for a server would block the exit; a daemon
    thread inside a native library aborts the process when the interpreter ends below it."""
    from telemetry.tracing import flush_traces

    logging.shutdown()
    flush_traces()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads it any more
            stream.flush()
    os._exit(code)
