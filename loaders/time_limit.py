"""A time limit for one document, which interrupts whatever runs."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import ParamSpec, TypeVar

from config.errors import LoadError

Params = ParamSpec("Params")
Result = TypeVar("Result")

SECONDS = 120.0
"""Of processor time. A thousand pages take about ten."""
_AGAIN = 1.0
"""Seconds until an interruption that was caught on its way is sent once more."""
_REMEDY = "split it into smaller documents, or give it longer by ONCALL_DOCUMENT_SECONDS"


class _TooLong(BaseException):
    """Raised inside a thread from outside; no `except Exception` of a parser catches it."""


_here = threading.local()
"""`watch`: what counts in this thread."""


@contextmanager
def time_limit(document: str, seconds: float = SECONDS) -> Iterator[None]:
    """Raises LoadError, wherever the block stands by then, once it has computed for that long.

    Counted is this thread's own processor time: waiting for Google, for a model or for other
    threads is free. Where a system can't tell it (macOS), the clock counts. Limits aren't nested.
    """
    watch = _here.watch = _Watch(seconds)
    try:
        try:
            watch.start()
            yield
            watch.check()
        finally:
            _here.watch = None
            watch.stop()
    except _TooLong:
        watch.stop_surely()
        raise LoadError(
            document, f"it took more than {seconds:g} s to work through", remedy=_REMEDY
        ) from None


def outside_time_limit(act: Callable[Params, Result]) -> Callable[Params, Result]:
    """The same function, which no time limit counts or interrupts.

    For what takes a bounded time and must come to its end: a file that is open would stay open,
    and CPython 3.11 may give a thread that is just being started its parent's interruption, for
    which the parent then waits for ever."""

    def apart(*arguments: Params.args, **options: Params.kwargs) -> Result:
        watch: _Watch | None = getattr(_here, "watch", None)
        with watch.paused() if watch else nullcontext():
            return act(*arguments, **options)

    return apart


class _Watch:
    """A thread that interrupts the one that made it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.get_ident()
        self._computed = _clock_of(self._thread)
        self._began = self._computed()
        self._lock = threading.RLock()  # a pause may hold another
        self._over = threading.Event()
        self._sent = False

    def start(self) -> None:
        threading.Thread(target=self._wait, name="time limit", daemon=True).start()

    def stop(self) -> None:
        """After this no interruption comes; raises one that is on its way.

        It is not taken back: CPython 3.11 then stays alert for it, each call is slower from then
        on, and one under a profiler never ends."""
        with self._lock:
            self._over.set()
        self._let_it_come()

    def stop_surely(self) -> None:
        """After one interruption, whatever else is on its way."""
        while True:
            with suppress(_TooLong):
                return self.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No interruption comes in it, and it isn't counted; one that is on its way is raised."""
        with self._lock:  # which whoever interrupts needs
            self._let_it_come()
            counted = self._counted()
            try:
                yield
            finally:
                self._began = self._computed() - counted

    def _let_it_come(self) -> None:
        if self._sent:
            for _ in range(100):  # it comes at the first turn of a loop
                pass

    def check(self) -> None:
        """For what was done before anybody could interrupt it."""
        if self._left() <= 0:
            raise _TooLong

    def _counted(self) -> float:
        return self._computed() - self._began

    def _left(self) -> float:
        return self._seconds - self._counted()

    def _wait(self) -> None:
        seconds = self._seconds
        while not self._over.wait(seconds):
            with self._lock:
                seconds = self._left()
                if seconds <= 0 and not self._over.is_set():
                    self._sent = True
                    _interrupt(self._thread)
                    seconds = _AGAIN


def _clock_of(thread: int) -> Callable[[], float]:
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _interrupt(thread: int) -> None:
    """The exception comes between two steps of Python."""
    raised = ctypes.py_object(_TooLong)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
