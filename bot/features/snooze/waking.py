"""A snooze, and what ends it early: a higher severity, another place, twice the rate. Pure.

Where severities can't be compared, a change ends it: to wake somebody is safer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from bot.feature import AlertFired

End = Literal["severity", "place", "rate", "time", "person", "replaced", "deleted"]
EARLY: tuple[End, ...] = ("severity", "place", "rate")
WINDOW, MIN_WINDOW = timedelta(hours=1), timedelta(minutes=15)
"""The rates before and after are those of the last hour, or of less where less has passed; of a
quarter of an hour at least, as a second firing after a minute says nothing about the hour."""
MIN_FIRINGS = 4
"""Where one was expected, four come by chance in 2 of 100 hours (Poisson), two in 26."""

_SCALES = tuple(
    tuple(words.split())
    for words in (
        "debug info notice warning error critical alert emergency",  # RFC 5424
        "info warning minor major critical",  # ITU-T X.733
        "info warning average high disaster",  # Zabbix
        "info low medium high critical",  # CVSS, and most trackers
        "low medium high urgent",
        "debug info warning error fatal",
        "info ticket page",
        "info warning critical page",
    )
)
"""Words in order, the lowest first. Two words are compared where a scale has both."""
_SAME = {
    "informational": "info", "information": "info", "warn": "warning", "err": "error",
    "crit": "critical", "moderate": "medium", "emerg": "emergency",
}  # fmt: skip
_KNOWN = frozenset(word for scale in _SCALES for word in scale)
_CODE = re.compile(r"\b(p|s|sev|severity|priority)[ _-]?([0-9])\b")
"""`P1`, `SEV-2`: the lower number is the higher severity. A number alone is no code: 1 is the
highest for some tools and the lowest for others."""


@dataclass(frozen=True, kw_only=True)
class Snooze:
    """Times are UTC without a zone."""

    id: str
    kind: str
    name: str
    domain: str
    channel: str
    question_id: str
    """The thread in which it was asked for."""
    by: str
    reason: str
    severities: tuple[str, ...]
    """With which the alert had fired before."""
    places: tuple[str, ...]
    rate: float
    """Firings an hour before it."""
    since: datetime
    until: datetime
    ended_at: datetime | None = None
    end: End | Literal[""] = ""
    ts: str = ""
    """Of its line in the thread."""


@dataclass(frozen=True, kw_only=True)
class Waking:
    """Why a snooze ends early."""

    end: End
    before: str = ""
    after: str = ""
    is_higher: bool = False
    """Of a severity: it is known to be higher."""


def waking_by(snooze: Snooze, fired: AlertFired, recent: int) -> Waking | None:
    """None where the alert stays quiet. `recent`: firings since `recent_since`, with this one."""
    for severity in fired.severities:
        if waking := _by_severity(snooze.severities, severity):
            return waking
    if other := [one for one in fired.places if one not in snooze.places]:
        return Waking(end="place", after=other[0])
    rate = rate_of(recent, fired.at - snooze.since)
    if recent >= MIN_FIRINGS and rate > 2 * snooze.rate:
        minutes = max(1, round(min(fired.at - snooze.since, WINDOW).total_seconds() / 60))
        before = f"{snooze.rate:.0f} times an hour" if snooze.rate else "not at all in an hour"
        return Waking(end="rate", before=before, after=f"{recent} times in {minutes} min")
    return None


def recent_since(snooze: Snooze, at: datetime) -> datetime:
    return max(snooze.since, at - WINDOW)


def rate_of(fired: int, passed: timedelta) -> float:
    """Firings an hour."""
    return fired / (min(max(passed, MIN_WINDOW), WINDOW) / WINDOW)


def _by_severity(before: Sequence[str], severity: str) -> Waking | None:
    word = _word(severity)
    ranks = [_is_higher(_word(one), word) for one in before]
    if False in ranks:
        return None
    return Waking(
        end="severity", before=before[-1] if before else "", after=severity,
        is_higher=bool(ranks) and ranks[-1] is True,
    )  # fmt: skip


def _is_higher(before: str, after: str) -> bool | None:
    """None where they can't be compared."""
    if before == after:
        return False
    codes = [_CODE.fullmatch(one) for one in (before, after)]
    if codes[0] and codes[1]:
        return codes[1][2] < codes[0][2] if codes[0][1][0] == codes[1][1][0] else None
    for scale in _SCALES:
        if before in scale and after in scale:
            return scale.index(after) > scale.index(before)
    return None


def _word(severity: str) -> str:
    """The first code or word of a scale in it, `1 - Critical` → `critical`; else all of it."""
    text = severity[:100].casefold().strip()
    if code := _CODE.search(text):
        return code[0]
    words = [_SAME.get(one, one) for one in re.findall(r"\w+", text)]
    return next((one for one in words if one in _KNOWN), text)
