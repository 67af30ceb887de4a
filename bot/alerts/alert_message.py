"""A Slack message of a bot, read: of which alerts, and whether they fire. Pure."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from agents.alerts.alert import Alert, AlertStatus
from agents.alerts.parser import alerts_in
from bot.slack.event import Asked, read

_HEX = re.compile(r"#?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
_NAMED: Mapping[str, AlertStatus] = {"good": "resolved", "warning": "firing", "danger": "firing"}
"""Colours that Slack has names for."""
_OVER = re.compile(r"\W*(?:\[|status:\s*)?(?:resolved|recovered|closed)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class AlertMessage:
    asked: Asked
    alerts: tuple[Alert, ...]
    """None where it was rewritten to words that name none any more; then `status` is of those that
    it named before."""
    status: AlertStatus
    at: datetime
    """When it was said, which of what was rewritten is later than when it was posted. Aware."""


def alert_message(event: Mapping[str, Any], *, bot_user: str, team: str) -> AlertMessage | None:
    """None for every message that isn't of a bot, or tells of no alert."""
    asked = read(event, bot_user=bot_user, team=team)
    if not isinstance(asked, Asked) or not asked.bot:
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
