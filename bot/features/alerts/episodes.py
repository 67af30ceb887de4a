"""When an alert fired and when it was over, and what belongs together. Pure.

A Slack message of a bot, read: of which alerts, and whether they fire. Pure."""

from __future__ import annotations

import colorsys
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.alerts.alert import Alert, AlertStatus
from agents.alerts.parser import alerts_in
from bot.slack.events import IncomingMessage, read

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


_HEX = re.compile(r"#?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
_NAMED: Mapping[str, AlertStatus] = {"good": "resolved", "warning": "firing", "danger": "firing"}
"""Colours that Slack has names for."""
_OVER = re.compile(r"\W*(?:\[|status:\s*)?(?:resolved|recovered|closed)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class AlertMessage:
    asked: IncomingMessage
    alerts: tuple[Alert, ...]
    """None where it was rewritten to words that name none any more; then `status` is of those that
    it named before."""
    status: AlertStatus
    at: datetime
    """When it was said, which of what was rewritten is later than when it was posted. Aware."""


def alert_message(event: Mapping[str, Any], *, bot_user: str, team: str) -> AlertMessage | None:
    """None for every message that isn't of a bot, or tells of no alert."""
    asked = read(event, bot_user=bot_user, team=team)
    if not isinstance(asked, IncomingMessage) or not asked.bot:
        return None
    rewritten = event.get("subtype") == "message_changed"
    status = status_by_colour(event["message"] if rewritten else event)
    alerts = alerts_in(asked.text, by_bot=True)
    if rewritten:
        # Words of any kind may take the place of an alert.
        alerts = tuple(one for one in alerts if not one.only_if_known)
    if status and not any(one.status for one in alerts) and (alerts or not rewritten):
        # Some say only by the colour of a bar that it is over.
        words = "[RESOLVED]" if status == "resolved" else "[FIRING]"
        text = f"{words} {asked.text}"
        if coloured := alerts_in(text, by_bot=True):
            asked, alerts = replace(asked, text=text), coloured
    if not alerts and not rewritten:
        return None
    if not alerts and _OVER.match(asked.text):
        status = "resolved"
    said = replace(asked, ts=str(event.get("event_ts"))) if rewritten else asked
    return AlertMessage(asked=asked, alerts=alerts, status=status, at=said.sent_at)


def status_by_colour(message: Mapping[str, Any]) -> AlertStatus:
    """Of the bars beside its attachments: green, or yellow to red; '' where they say nothing, or
    different things."""
    told = {
        status_of_colour(str(one.get("color") or ""))
        for one in message.get("attachments") or ()
        if isinstance(one, Mapping) and one.get("color")
    }
    return told.pop() if len(told) == 1 else ""


def status_of_colour(colour: str) -> AlertStatus:
    """By its hue, as every product has another green; '' for grey, blue and what is no colour."""
    colour = colour.strip().lower()
    found = _HEX.fullmatch(colour)
    if not found:
        return _NAMED.get(colour, "")
    red, green, blue = (int(part, 16) / 255 for part in found.groups())
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if min(saturation, value) < 0.25:
        return ""
    degrees = hue * 360
    if 80 <= degrees <= 170:
        return "resolved"
    return "firing" if degrees <= 60 or degrees >= 330 else ""
