"""A Slack message of an alert bot, read: what it asks, and of which alerts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.alerts.alert import Alert, AlertStatus
from agents.alerts.alert_text import alerts_in
from bot.slack.event import Asked, read

_GOOD = frozenset(("good", "2eb886", "2fa44f", "36a64f", "25ad5f", "00ff00", "008000", "7ed321"))
_BAD = frozenset(("danger", "warning", "a30200", "d63232", "ff0000", "e01e5a", "d00000", "cc0000",
                  "daa038", "ecb22e", "ffa500"))  # fmt: skip
_SAID: Mapping[str, str] = {"resolved": "[RESOLVED]", "firing": "[FIRING]"}


@dataclass(frozen=True, kw_only=True)
class AlertMessage:
    asked: Asked
    alerts: tuple[Alert, ...]


def alert_message(event: Mapping[str, Any], *, bot_user: str, team: str) -> AlertMessage | None:
    """None for every message that isn't of a bot, or holds no alert."""
    inner = event.get("message") or event
    if not isinstance(inner, Mapping) or not inner.get("bot_id"):
        return None
    asked = read(event, bot_user=bot_user, team=team)
    if not isinstance(asked, Asked) or not asked.bot or not asked.starts_thread:
        return None
    alerts = alerts_in(asked.text)
    coloured = status_by_colour(inner)
    if coloured and not any(one.status for one in alerts):
        # Some say only by the colour of a bar that it is over.
        text = f"{_SAID[coloured]} {asked.text}"
        if coloured_alerts := alerts_in(text):
            asked, alerts = replace(asked, text=text), coloured_alerts
    return AlertMessage(asked=asked, alerts=alerts) if alerts else None


def status_by_colour(message: Mapping[str, Any]) -> AlertStatus:
    """Of the bars beside its attachments; '' where they say nothing, or different things."""
    bars = {
        str(one.get("color") or "").lower().lstrip("#")
        for one in message.get("attachments") or ()
        if isinstance(one, Mapping)
    } - {""}
    if bars and bars <= _GOOD:
        return "resolved"
    return "firing" if bars and bars <= _BAD else ""
