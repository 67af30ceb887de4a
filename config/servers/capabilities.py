"""What one model of one server can do, learnt from its refusals and its replies.

A refused feature has a fallback, or several: a schema becomes a JSON object, then an instruction;
the limit of tokens gets its older name, then none. A fallback lasts an hour: servers are updated,
and a gateway asks another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal

from config.servers.thoughts import ThoughtFilter

Feature = Literal["schema", "usage", "temperature", "limit", "system", "whole", "stream"]
"""`schema`: the form of a reply. `usage`: tokens counted in a stream. `limit`: of tokens. `system`:
the role. `stream`, `whole`: a reply in pieces, or at once."""
Fallbacks = Mapping[Feature, int]
"""How many steps each feature was taken back; 0 and missing: none."""

STEPS: Mapping[Feature, int] = {
    "schema": 2, "usage": 1, "temperature": 1, "limit": 2, "system": 1, "whole": 1, "stream": 1,
}  # fmt: skip
"""Most steps of each feature, in the order of suspicion when a refusal is unexplained."""
LIFETIME = 3_600.0
"""Seconds."""
SUSPICION = 300.0
"""Seconds of what helped by chance, perhaps."""


class Capabilities:
    """Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[int, float]] = {}
        """Steps of a feature, 1 for a remark, and when they end."""
        self._lock = threading.Lock()

    def _steps(self, name: str) -> int:
        steps, end = self._entries.get(name, (0, 0.0))
        return steps if self._clock() < end else 0

    def fallbacks(self) -> dict[Feature, int]:
        with self._lock:
            return {one: steps for one in STEPS if (steps := self._steps(one))}

    def learn(self, entries: Mapping[Feature, int] | Mapping[str, int], seconds: float) -> bool:
        """Keeps for `seconds` what is further back than before. Whether anything is."""
        with self._lock:
            news = {one: steps for one, steps in entries.items() if steps > self._steps(one)}
            for name, steps in news.items():
                self._entries[name] = (steps, self._clock() + seconds)
        return bool(news)

    def note(self, remark: str, seconds: float = LIFETIME) -> bool:
        """Whether it is new. Remarks: `lone tag`, `thoughts`, `loose schema`, `no reason`, and for
        which features a refusal stayed unexplained."""
        return self.learn({remark: 1}, seconds)

    def note_thoughts(self, thoughts: ThoughtFilter) -> None:
        if thoughts.has_thoughts:
            self.note("thoughts")
        if thoughts.is_lone:
            self.note("lone tag")

    def has(self, remark: str) -> bool:
        with self._lock:
            return bool(self._steps(remark))


RECORDS: dict[tuple[str, str], Capabilities] = {}
_lock = threading.Lock()


def capabilities_of(server: str, model: str) -> Capabilities:
    """The one record that all objects of a model share. `server`: base URL, or a provider."""
    with _lock:
        return RECORDS.setdefault((server, model), Capabilities())


def used(features: Collection[Feature], fallbacks: Fallbacks) -> list[Feature]:
    """The features that a request with these fallbacks still uses."""
    return [one for one in STEPS if one in features and fallbacks.get(one, 0) < STEPS[one]]


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
