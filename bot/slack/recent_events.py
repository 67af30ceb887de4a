"""Which events were stored a moment ago."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable


class RecentEvents:
    """Keys of the last few thousand stored events. Thread-safe.

    Only saves work: a mention arrives as two events, and Slack repeats itself. What is not
    known here any more is found out by the inbox and the records."""

    def __init__(self, size: int = 5_000) -> None:
        self._size = size
        self._keys: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, key: str, store: Callable[[], None]) -> None:
        """Store what is not known yet. One at a time, so that twins don't pass each other."""
        with self._lock:
            if key in self._keys:
                return
            store()
            self._keys[key] = None
            while len(self._keys) > self._size:
                self._keys.popitem(last=False)
