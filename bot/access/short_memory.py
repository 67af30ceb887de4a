"""What Slack said a moment ago, for as long as that may be relied on."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bot.slack.web import SlackBusy, SlackUnsure

FRESH_SECONDS = 300.0
STALE_SECONDS = 900.0
"""How old an answer may be while Slack can't be reached; after that there is none."""
REFUSED_SECONDS = 30.0
FAILED_SECONDS = 5.0
"""Nobody waits again so soon after Slack could not be reached: dozens may stand in line."""
PATIENCE = 30.0
"""Seconds that a question waits for Slack; then the inbox takes it up again later."""
MOST = 20_000
"""Keys; the least recently asked for is forgotten first."""

Value = TypeVar("Value")


@dataclass
class _Kept(Generic[Value]):
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    value: Value | None = None
    known_at: float = float("-inf")
    trouble: Exception | None = None
    """Why the last look-up failed."""
    failed_at: float = float("-inf")


class ShortMemory(Generic[Value]):
    """Looks a key up once, however many threads ask, and again when the answer has aged.

    `look_up`: key and the seconds it may wait for Slack → value; None when Slack refuses to say,
    which is not remembered as long. Raises SlackBusy or SlackUnsure when Slack can't be reached."""

    def __init__(
        self,
        look_up: Callable[[str, float], Value | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._clock = clock
        self._kept: OrderedDict[str, _Kept[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, key: str, *, within: float = FRESH_SECONDS, patience: float = PATIENCE
    ) -> Value | None:
        """At most `within` seconds old, or `STALE_SECONDS` while Slack can't be reached, for which
        it waits `patience` seconds when there is nothing that recent.

        Raises SlackBusy or SlackUnsure then."""
        kept = self._of(key)
        with kept.one_at_a_time:
            age = self._clock() - kept.known_at
            if age <= (within if kept.value is not None else min(within, REFUSED_SECONDS)):
                return kept.value
            usable = kept.value is not None and age <= STALE_SECONDS
            if self._clock() - kept.failed_at > FAILED_SECONDS:
                self._ask(key, kept, 0.0 if usable else patience)
            if kept.trouble and not usable:
                raise kept.trouble
            return kept.value

    def _ask(self, key: str, kept: _Kept[Value], patience: float) -> None:
        try:
            kept.value = self._look_up(key, patience)
        except (SlackBusy, SlackUnsure) as error:
            kept.trouble, kept.failed_at = error, self._clock()
        else:
            kept.trouble, kept.known_at = None, self._clock()
            kept.failed_at = float("-inf")

    def _of(self, key: str) -> _Kept[Value]:
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
            return kept
