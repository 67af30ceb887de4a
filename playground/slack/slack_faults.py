"""Things that go wrong on demand, and Slack's rate limits."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

METHOD_RATES = {
    # Requests a minute, from Slack's published tiers.
    "chat.postMessage": 60,  # one a second in each channel
    "chat.postEphemeral": 100,
    "chat.update": 50,
    "chat.delete": 50,
    "chat.startStream": 20,
    "chat.appendStream": 100,
    "chat.stopStream": 20,
    "conversations.list": 20,
    "users.list": 20,
    "usergroups.list": 20,
    "apps.connections.open": 20,
    "reactions.add": 50,
    "users.info": 100,
    "views.open": 100,
    "views.update": 100,
    "views.push": 100,
    "views.publish": 100,
    "assistant.search.context": 10,  # of most teams; a larger one has up to 180
    "assistant.search.info": 20,
    "assistant.threads.setStatus": 600,
    "assistant.threads.setSuggestedPrompts": 100,
    "auth.test": 600,
}
OTHER_RATE = 50
POST_BURST = 10
"""Posts to one channel that may come at once before the second-by-second pace holds."""


class RateLimits:
    """A token bucket for each method, and for each channel where Slack counts by channel."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, method: str, channel: str) -> int:
        """Seconds to wait, 0 when the call may go ahead."""
        rate = METHOD_RATES.get(method, OTHER_RATE)
        by_channel = method == "chat.postMessage"
        capacity = POST_BURST if by_channel else rate
        key = (method, channel if by_channel else "")
        with self._lock:
            now = self._clock()
            tokens, since = self._buckets.get(key, (float(capacity), now))
            tokens = min(capacity, tokens + (now - since) * rate / 60)
            allowed = tokens >= 1
            self._buckets[key] = (tokens - allowed, now)
        return 0 if allowed else math.ceil((1 - tokens) * 60 / rate)


@dataclass
class SlackFault:
    """One way in which calls of a method fail; `count` calls, then never again."""

    method: str
    """A Web API method, or `*`."""
    error: str = ""
    """Answered with `ok: false` and this code."""
    status: int = 0
    """An HTTP status: 429 (with `retry_after`), 500, 503."""
    retry_after: int = 1
    """Seconds."""
    drop: bool = False
    """Close the connection unanswered, the call not carried out."""
    drop_response: bool = False
    """Close the connection unanswered, after the call was carried out."""
    delay: float = 0.0
    """Seconds before anything else."""
    count: int = 1
    every: int = 1
    """Only every n-th call fails, from the n-th on."""
    seen: int = 0


class SlackFaults:
    """What goes wrong next. All fields may change while the stand-in runs."""

    def __init__(self) -> None:
        self._faults: list[SlackFault] = []
        self._lock = threading.Lock()
        self.drop_acks = 0
        """This many acknowledgements from the app are lost on their way."""
        self.deliver_times = 1
        """Every event arrives this often, with one `event_id`."""
        self.scatter = 0.0
        """Seconds over which deliveries are spread at random, so that they overtake each other."""

    def add(
        self,
        method: str,
        *,
        error: str = "",
        status: int = 0,
        retry_after: int = 1,
        drop: bool = False,
        drop_response: bool = False,
        delay: float = 0.0,
        count: int = 1,
        every: int = 1,
    ) -> None:
        """Make `count` calls of `method` (`*`: any) fail or wait: the next, or every n-th."""
        fault = SlackFault(
            method, error, status, retry_after, drop, drop_response, delay, count, every
        )
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()
            self.drop_acks, self.deliver_times, self.scatter = 0, 1, 0.0

    def take(self, method: str) -> SlackFault | None:
        with self._lock:
            for fault in self._faults:
                if fault.method in (method, "*") and fault.count > 0:
                    fault.seen += 1
                    if fault.seen % fault.every == 0:
                        fault.count -= 1
                        return fault
        return None

    def take_ack(self) -> bool:
        """True when this acknowledgement gets lost."""
        with self._lock:
            lost = self.drop_acks > 0
            self.drop_acks -= lost
        return lost
