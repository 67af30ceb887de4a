"""When and where a question was asked, as its asker's clock shows it."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.answer import Question


def said_at(question: Question) -> str:
    """E.g. `Sunday 22 November 2026, 18:05 (Asia/Singapore)`; in UTC where the zone is unknown."""
    zone = question.time_zone if is_zone(question.time_zone) else "UTC"
    at = question.asked_at.astimezone(ZoneInfo(zone))
    return f"{at:%A} {at.day} {at:%B %Y, %H:%M} ({zone})"


def zone_notes(question: Question) -> tuple[str, ...]:
    """For the trace."""
    return () if is_zone(question.time_zone) else ("the asker's time zone is unknown: UTC",)


def is_zone(name: str) -> bool:
    """Whether it names a time zone that this machine knows."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: a folder of zones
        return False
    return True


def zone_of_this_machine(link: Path = Path("/etc/localtime")) -> str:
    """By `TZ`, or by where the system's own zone points to; UTC when neither says."""
    by_link = str(link.resolve()).partition("/zoneinfo/")[2]
    names = (os.environ.get("TZ", "").removeprefix(":"), by_link)
    return next((name for name in names if name and is_zone(name)), "UTC")
