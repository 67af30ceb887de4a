"""What a workspace lacks yet, as its refusals tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

REMEMBERED = 600.0
"""Seconds. Slack brings what is new to one workspace after the other: it is tried again."""


class Lacking:
    """Kinds of blocks, chunks and previews that were refused lately. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def note(self, kinds: Iterable[str], seconds: float = REMEMBERED) -> None:
        for kind in kinds:
            self._until[kind] = self._clock() + seconds

    def any_of(self, kinds: Iterable[str]) -> bool:
        return any(self._until.get(kind, 0.0) > self._clock() for kind in kinds)

    def forget(self) -> None:
        self._until.clear()
