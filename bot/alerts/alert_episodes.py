"""When an alert fired and when it was over, and what belongs together. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

REOPENED_WITHIN = timedelta(minutes=30)
"""Fired again so soon after it was over, it is the same episode, in the same thread."""
OVER_AFTER = timedelta(hours=12)
"""Of silence: many tools never say that an alert is over. Alertmanager repeats every 4 hours."""
SAID_ONCE_FOR = timedelta(days=7)
"""That there is no runbook for a kind."""
WITHOUT_RUNBOOK = ("none", "other_scope")
"""Outcomes of a match; see `agents.alerts.runbook_match`."""


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One kind of alert in one message."""

    message: str
    """channel:ts"""
    kind: str
    named: str
    """Of channel and name alone: the message that ends it may name fewer labels."""
    name: str
    domain: str
    channel: str
    outcome: str
    status: str
    """firing | resolved"""
    places: tuple[str, ...]
    at: datetime
    """UTC without a zone, as everywhere here."""

    @property
    def id(self) -> str:
        return f"{self.message}:{self.kind[:24]}:{self.status}"


@dataclass(frozen=True, kw_only=True)
class Episode:
    id: str
    kind: str
    domain: str
    channel: str
    name: str
    outcome: str
    elsewhere: str
    """A channel that has a runbook for it, where this one has none."""
    question_id: str
    """The message that is answered."""
    began_at: datetime
    last_at: datetime
    resolved_at: datetime | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Episode:
        return cls(**{name: row.get(name) for name in cls.__dataclass_fields__})  # type: ignore[arg-type]  # as the table has them

    def is_past(self, seen: Occurrence) -> bool:
        """Whether what is seen now is something new."""
        silent = seen.at - self.last_at
        if seen.status == "resolved":
            return silent > SAID_ONCE_FOR
        if self.outcome in WITHOUT_RUNBOOK:
            return silent > SAID_ONCE_FOR
        if self.resolved_at is not None:
            return seen.at - self.resolved_at > REOPENED_WITHIN
        return silent > OVER_AFTER


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What became of an occurrence."""

    episode: Episode | None
    """None: it is over, and nobody has heard of its beginning yet."""
    is_new: bool
    """This message was not counted before."""
    changes: bool = True
    """There is more to tell than that it fired."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """All that is known of an episode's course."""

    fired: int
    last_at: datetime
    firing: tuple[str, ...]
    """What it still fires on, as far as the alerts name it."""
    over: tuple[str, ...]
    resolved_at: datetime | None
    """When the last of it was over; None while some of it fires."""


def tally_of(rows: Sequence[Any]) -> Tally | None:
    """`rows`: status, places and at of each occurrence, in the order of their time."""
    state: dict[str, str] = {}
    ended: datetime | None = None
    fired = [row for row in rows if row.status == "firing"]
    if not fired:
        return None
    for row in rows:
        places = json.loads(row.places) or [""]
        if row.status == "resolved" and not set(places) & set(state):
            places = list(state)  # it says that it is over, and not of what
        for place in places:
            state[place] = row.status
        if row.status == "resolved":
            ended = row.at
    firing = tuple(place for place, status in state.items() if status == "firing")
    return Tally(
        fired=len(fired),
        last_at=fired[-1].at,
        firing=tuple(filter(None, firing)),
        over=tuple(place for place, status in state.items() if place and status == "resolved"),
        resolved_at=None if firing else ended,
    )


def key_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def utc(moment: datetime) -> datetime:
    """As the tables keep it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
