"""A time limit for one document, which interrupts the running code."""

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
"""Seconds of processor time. A thousand pages take about ten."""
_AGAIN = 5.0
"""Seconds until the interruption is sent again, in case code caught the first one. Longer than the
first one takes to free the memory of what it ends."""
_REMEDY = "split it into smaller documents, or give it longer by ONCALL_DOCUMENT_SECONDS"


class _TooLong(BaseException):
    """Raised in a thread by another one. An `except Exception` in a parser doesn't catch it."""


_here = threading.local()
"""`watch`: the active _Watch of this thread."""


@contextmanager
def time_limit(document: str, seconds: float = SECONDS) -> Iterator[None]:
    """Interrupts the block and raises LoadError after `seconds` of processor time.

    Only this thread's processor time counts; waiting for Google, a model or other threads doesn't.
    On systems without a thread clock (macOS), elapsed time counts. Limits can't be nested."""
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
    """Wraps a function so that no time limit counts or interrupts it.

    Use it for functions that take a bounded time and must finish. An interruption could leave a
    file open. CPython 3.11 may also deliver it to a thread that is just starting; then the parent
    thread waits forever."""

    def apart(*arguments: Params.args, **options: Params.kwargs) -> Result:
        watch: _Watch | None = getattr(_here, "watch", None)
        with watch.paused() if watch else nullcontext():
            return act(*arguments, **options)

    return apart


class _Watch:
    """Starts a thread that interrupts the creating thread when its time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.get_ident()
        self._computed = _clock_of(self._thread)
        self._began = self._computed()
        self._lock = threading.RLock()  # pauses can be nested
        self._over = threading.Event()
        self._sent = False

    def start(self) -> None:
        threading.Thread(target=self._wait, name="time limit", daemon=True).start()

    def stop(self) -> None:
        """Stops the watch. Raises an interruption that was already sent.

        A sent interruption is not canceled: CPython 3.11 would keep checking for it, which makes
        each call slower, and a call under a profiler would never end."""
        with self._lock:
            self._over.set()
        self._let_it_come()

    def stop_surely(self) -> None:
        """Stops the watch and ignores interruptions that were already sent."""
        while True:
            with suppress(_TooLong):
                return self.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pauses the watch: the block is neither counted nor interrupted.

        Raises an interruption that was already sent, before the block."""
        with self._lock:  # the interrupting thread needs this lock
            self._let_it_come()
            counted = self._counted()
            try:
                yield
            finally:
                self._began = self._computed() - counted

    def _let_it_come(self) -> None:
        if self._sent:
            for _ in range(100):  # CPython raises it at a loop's first turn
                pass

    def check(self) -> None:
        """Raises _TooLong when the time is over but no interruption was sent yet."""
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
    """Raises _TooLong in a thread, between two bytecode instructions."""
    raised = ctypes.py_object(_TooLong)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
