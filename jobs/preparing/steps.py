"""When a long run publishes what it has so far."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST_SECONDS = 60.0
SHARE = 0.1
"""Of a run's time that its steps take at most, as a publication takes longer the larger it is."""


class Steps:
    """The first after a minute, the next when all of them together cost little."""

    def __init__(
        self, seconds: float = FIRST_SECONDS, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`seconds`: at least, between two."""
        self._seconds = seconds
        self._clock = clock
        self._next = clock() + seconds

    def due(self, something: bool) -> bool:
        """Whether it is time, where there is something to publish."""
        return something and self._clock() >= self._next

    def took(self, publish: Callable[[], None]) -> None:
        """Publish, and measure it."""
        began = self._clock()
        publish()
        now = self._clock()
        self._next = max(self._next, now + max(self._seconds, (now - began) / SHARE))

    def stop(self) -> None:
        """The rest is published at the end."""
        self._next = float("inf")
