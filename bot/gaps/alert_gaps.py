"""Alerts without a runbook: a gap for each kind. What one says is mostly numbers and a form that
all of its product share, so neither its words nor its figures tell kinds apart: its name does."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from agents.alerts.alert import name_key
from agents.alerts.parser import alerts_in

_PREFIX = "alert-"


def alert_name(text: str, by_bot: Callable[[], bool]) -> str:
    """Of the first alert in a message, '' where there is none: that of a person may be words that
    are meant otherwise, see `agents.runbooks.lookup.worth_answering`."""
    found = alerts_in(text)
    if any(one.certain or one.labels for one in found):
        return found[0].name
    told = alerts_in(text, by_bot=True) if by_bot() else ()
    return told[0].name if told else ""


def alert_gap(domain: str, name: str) -> str:
    """Id of the gap of this kind."""
    seed = f"{domain}\0{name_key(name)}".encode()
    return f"{_PREFIX}{hashlib.sha256(seed).hexdigest()[:16]}"


def is_of_alerts(gap: str) -> bool:
    """By its id."""
    return gap.startswith(_PREFIX)


def called(name: str) -> str:
    """What is missing, as the heading of what should be there."""
    return f"Runbook for {name}"[:80]
