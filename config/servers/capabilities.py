"""What one model of one server can do, learnt from its refusals and its replies.

A refused feature has a fallback, or several: a schema becomes a JSON object, then an instruction;
the limit of tokens gets its older name, then none. A fallback lasts an hour: servers are updated,
and a gateway asks another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping

from config.servers.refusals import Feature, Refusal
from config.servers.thoughts import ThoughtFilter

Fallbacks = Mapping[Feature, int]
"""How many steps each feature was taken back; 0 and missing: none."""

STEPS: Mapping[Feature, int] = {
    "schema": 2, "usage": 1, "temperature": 1, "limit": 2, "system": 1, "whole": 1, "stream": 1,
}  # fmt: skip
"""Most steps of each feature, in the order of suspicion when a refusal is unexplained."""
LIFETIME = 3_600.0
"""Seconds."""
SUSPICION = 300.0
"""Seconds of what helped after server errors, perhaps by chance."""


class Capabilities:
    """Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._fallbacks: dict[Feature, tuple[int, float]] = {}
        """Steps, and when they end."""
        self._notes: dict[str, float] = {}
        self._lock = threading.Lock()

    def fallbacks(self) -> dict[Feature, int]:
        now = self._clock()
        with self._lock:
            return {one: steps for one, (steps, end) in self._fallbacks.items() if now < end}

    def learn(self, fallbacks: Fallbacks, seconds: float = LIFETIME) -> None:
        """Keeps for `seconds` what is further back than before."""
        before, end = self.fallbacks(), self._clock() + seconds
        with self._lock:
            for feature, steps in fallbacks.items():
                if steps > before.get(feature, 0):
                    self._fallbacks[feature] = (steps, end)

    def note(self, remark: str, seconds: float = LIFETIME) -> bool:
        """Whether it is new. Remarks: `lone tag`, `thoughts`, `loose schema`, `no reason`, and for
        which features a refusal stayed unexplained."""
        is_new = not self.has(remark)
        with self._lock:
            self._notes[remark] = self._clock() + seconds
        return is_new

    def has(self, remark: str) -> bool:
        with self._lock:
            return self._clock() < self._notes.get(remark, float("-inf"))


def note_thoughts(record: Capabilities, thoughts: ThoughtFilter) -> None:
    if thoughts.has_thoughts:
        record.note("thoughts")
    if thoughts.is_lone:
        record.note("lone tag")


def used(features: Collection[Feature], fallbacks: Fallbacks) -> list[Feature]:
    """The features that a request with these fallbacks still uses."""
    return [one for one in STEPS if one in features and fallbacks.get(one, 0) < STEPS[one]]


def stepped_back(fallbacks: Fallbacks, refusal: Refusal) -> dict[Feature, int]:
    """One step for each feature that was named; all steps for a value."""
    steps = {
        one: STEPS[one] if refusal.is_of_value else fallbacks.get(one, 0) + 1
        for one in refusal.features
    }
    return {**fallbacks, **steps}


def suspects(features: Collection[Feature], fallbacks: Fallbacks) -> Iterator[dict[Feature, int]]:
    """What to try when the server doesn't say what it refuses: each feature one step back, then
    further, then more and more of them together."""
    remaining = used(features, fallbacks)
    for step in (1, 2):
        for feature in remaining:
            if fallbacks.get(feature, 0) < step <= STEPS[feature]:
                yield {**fallbacks, feature: step}
    for count in range(2, len(remaining) + 1):
        yield all_back(remaining[:count], fallbacks)


def all_back(features: Collection[Feature], fallbacks: Fallbacks) -> dict[Feature, int]:
    return {**fallbacks, **{one: STEPS[one] for one in used(features, fallbacks)}}
