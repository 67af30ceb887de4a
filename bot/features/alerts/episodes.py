"""Alerts that a bot's Slack message names, and the episodes that their occurrences form. Pure."""

from __future__ import annotations

import colorsys
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from agents.alerts.alert import Alert, AlertStatus
from agents.alerts.reader import alerts_in
from bot.slack.events import IncomingMessage
from bot.slack.messages import plain, words_of

REOPENED_WITHIN = timedelta(minutes=30)
"""An alert that fires again within this time after its end continues the same episode."""
OVER_AFTER = timedelta(hours=12)
"""Silence that ends an episode: many tools never send an end. Alertmanager repeats every 4 h."""
NOTICE_VALID_FOR = timedelta(days=7)
"""A channel gets one notice within this time that a kind has no runbook."""
WITHOUT_RUNBOOK = ("none", "other_scope")
"""Outcomes of `agents.runbooks.matching`."""


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One kind of alert in one message."""

    message: str
    """channel:ts"""
    kind: str
    named: str
    """Key of channel and name alone: the message that ends it may name fewer labels."""
    name: str
    domain: str
    channel: str
    outcome: str
    status: str
    """firing | resolved"""
    places: tuple[str, ...]
    severities: tuple[str, ...] = ()
    at: datetime
    """UTC without a zone, as everywhere here."""
    edited: bool = False
    """By an edit, which may bring back a status that the message had before."""
    returned: str = ""
    """Of a status that an edit brought back: when."""

    @property
    def id(self) -> str:
        return f"{self.message}:{self.kind[:24]}:{self.status}{self.returned}"

    @property
    def pending(self) -> str:
        """Stands for an episode's id until the episode begins. Labels that leave its row open may
        be those of any row of its name."""
        return f"?{self.kind if self.outcome == 'found' else self.named}"


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
    quiet: int = 0
    """1: it has no answer, as a feature kept it quiet."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Episode:
        return cls(**{name: row.get(name) for name in cls.__dataclass_fields__})  # type: ignore[arg-type]  # as the table has them

    def is_past(self, occurrence: Occurrence) -> bool:
        """Whether an occurrence begins another episode."""
        silent = occurrence.at - self.last_at
        if self.question_id == occurrence.message:
            return False
        if occurrence.status == "resolved":
            return silent > NOTICE_VALID_FOR
        if self.outcome in WITHOUT_RUNBOOK:
            return silent > NOTICE_VALID_FOR
        if self.resolved_at is not None:
            return occurrence.at - self.resolved_at > REOPENED_WITHIN
        return silent > OVER_AFTER


@dataclass(frozen=True, kw_only=True)
class EpisodeUpdate:
    """The result of counting an occurrence."""

    episode: Episode | None
    """None: it is over, and its beginning is not on record yet."""
    is_new: bool
    """The occurrence was not counted before."""
    changes: bool = True
    """The line above the answer changes."""
    stays_quiet: bool = False
    """It is counted, and not answered."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """An episode, counted."""

    fired: int
    last_at: datetime
    firing: tuple[str, ...]
    """Places where it still fires, as far as the alerts name them."""
    over: tuple[str, ...]
    resolved_at: datetime | None
    """When its last place was resolved; None while one fires."""


def tally_of(rows: Sequence[Any]) -> Tally | None:
    """`rows`: status, places and at of each occurrence, oldest first."""
    state: dict[str, str] = {}
    ended: datetime | None = None
    fired = [row for row in rows if row.status == "firing"]
    if not fired:
        return None
    for row in rows:
        places = json.loads(row.places) or [""]
        if row.status == "resolved" and not set(places) & set(state):
            places = list(state)  # it names no place: all are resolved
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


_HEX = re.compile(r"#?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
_NAMED: Mapping[str, AlertStatus] = {"good": "resolved", "warning": "firing", "danger": "firing"}
"""Slack's names of colors."""
_OVER = re.compile(r"\W*(?:\[|status:\s*)?(?:resolved|recovered|closed)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class AlertMessage:
    message: IncomingMessage
    alerts: tuple[Alert, ...]
    """Empty where an edit no longer names any; then `status` belongs to the earlier ones."""
    status: AlertStatus
    at: datetime
    """When it was posted or last edited; aware."""


def alert_message(message: IncomingMessage, event: Mapping[str, Any]) -> AlertMessage | None:
    """None for a message that isn't a bot's, or names no alert. `event`: Slack's event of it."""
    if not message.bot:
        return None
    edited = event.get("subtype") == "message_changed"
    status = status_by_color(event["message"] if edited else event)
    alerts = alerts_in(message.text, by_bot=True)
    if edited:
        # Any text may take the place of an alert.
        before = alerts_in(plain(words_of(event.get("previous_message") or {})), by_bot=True)
        names = {one.name for one in before}
        alerts = tuple(one for one in alerts if one.certain or one.name in names)
    if status and not any(one.status for one in alerts) and (alerts or not edited):
        message, alerts = _with_status(message, alerts, status)
    if not alerts and not edited:
        return None
    if not alerts and _OVER.match(message.text):
        status = "resolved"
    latest = replace(message, ts=str(event.get("event_ts"))) if edited else message
    return AlertMessage(message=message, alerts=alerts, status=status, at=latest.sent_at)


def _with_status(
    message: IncomingMessage, alerts: tuple[Alert, ...], status: AlertStatus
) -> tuple[IncomingMessage, tuple[Alert, ...]]:
    """Some tools mark only by the color of a bar that an alert fires, or that it is over. The words
    say so from then on, as they are what is stored."""
    text = f"[{status.upper()}] {message.text}"
    labeled = alerts_in(text, by_bot=True)
    is_read = any(one.status for one in labeled)
    if is_read and (not alerts or [one.name for one in labeled] == [one.name for one in alerts]):
        return replace(message, text=text), labeled
    return message, tuple(replace(one, status=status) for one in alerts)


def status_by_color(message: Mapping[str, Any]) -> AlertStatus:
    """By the attachments' color bars: green, or yellow to red; '' without a color, or with both."""
    statuses = {
        status_of_color(str(one.get("color") or ""))
        for one in message.get("attachments") or ()
        if isinstance(one, Mapping) and one.get("color")
    }
    return statuses.pop() if len(statuses) == 1 else ""


def status_of_color(color: str) -> AlertStatus:
    """Status by hue, as each product has its own green; '' for gray, blue and invalid colors."""
    color = color.strip().lower()
    match = _HEX.fullmatch(color)
    if not match:
        return _NAMED.get(color, "")
    red, green, blue = (int(part, 16) / 255 for part in match.groups())
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if min(saturation, value) < 0.25:
        return ""
    degrees = hue * 360
    if 80 <= degrees <= 170:
        return "resolved"
    return "firing" if degrees <= 60 or degrees >= 330 else ""
