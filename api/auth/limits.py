"""How much at a time, and how often: counted in this process, each caller for itself."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from api.auth.routes import RequestRejected
from api.auth.tokens import Caller


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    per_minute: int = 120
    """Requests of one caller; as many may come at once after a quiet minute."""
    at_once: int = 32
    """Below the server's 40 threads: a prober finds one free."""
    each_at_once: int = 8
    body_seconds: float = 20.0
    """For a request's body to arrive."""
    send_seconds: float = 30.0
    """For each piece of an answer to be taken, once the connection holds all it can."""
    url_bytes: int = 4_000
    header_bytes: int = 16_000


class RequestLimiter:
    def __init__(self, bounds: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        """Caller → requests it may still make, as of when."""
        self._running: Counter[str] = Counter()

    @contextmanager
    def of(self, caller: Caller) -> Iterator[None]:
        """A request on its way. Raises Refused when it is one too many."""
        if not caller.local:
            self._take(caller.name)
            if self._running[caller.name] >= self._bounds.each_at_once:
                raise RequestRejected(
                    429, "too many requests of yours are being answered", retry_after=1
                )
        if self._running.total() >= self._bounds.at_once:
            raise RequestRejected(503, "too many requests are being answered", retry_after=1)
        self._running[caller.name] += 1
        try:
            yield
        finally:
            self._running[caller.name] -= 1

    def _take(self, name: str) -> None:
        now, most = self._clock(), float(self._bounds.per_minute)
        left, before = self._left.get(name, (most, now))
        left = min(most, left + (now - before) * most / 60)
        if left < 1:
            self._left[name] = left, now
            wait = int((1 - left) * 60 / most) + 1
            raise RequestRejected(
                429, f"more than {most:.0f} requests in a minute", retry_after=wait
            )
        self._left[name] = left - 1, now
