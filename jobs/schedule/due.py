"""When a domain is due for a refresh. Pure: the clock is an argument.

A planned time is identified by its wall-clock time. So the hour that autumn repeats runs each of
its times once, and a clock that is set back runs nothing again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

from config.domain import Refresh

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, order=True)
class Planned:
    """One time of a schedule."""

    at: datetime
    """UTC."""
    wall: str
    """As a clock in the schedule's zone shows it, e.g. `2026-03-29 03:00`."""


def latest(refresh: Refresh, now: datetime) -> Planned:
    """The last planned time that is not later than `now`, an aware time."""
    # croniter looks strictly before; a time that is just now counts.
    return _planned(_times(refresh, now + timedelta(seconds=1)).get_prev(datetime))


def upcoming(refresh: Refresh, now: datetime) -> Planned:
    """The first planned time after `now`."""
    return _planned(_times(refresh, now).get_next(datetime))


def due(refresh: Refresh, domain: str, handled: Planned | None, now: datetime) -> Planned | None:
    """The planned time to run now: the latest, however many were missed before it.

    `handled`: the last that was run, skipped or missed on purpose; None for a domain that never
    ran, which is due at once. None: nothing is due."""
    planned = latest(refresh, now)
    if handled and (planned.at <= handled.at or _comes_twice(handled, planned)):
        return None
    waits = handled is not None and now < planned.at + jitter(refresh, domain, planned)
    return None if waits else planned


def jitter(refresh: Refresh, domain: str, planned: Planned) -> timedelta:
    """The same for everybody who asks, so that several runners agree."""
    most = refresh.jitter_minutes * 60
    seed = hashlib.sha256(f"{domain}\0{planned.wall}".encode()).digest()
    return timedelta(seconds=int.from_bytes(seed[:4], "big") % most if most else 0)


def is_overdue(refresh: Refresh, fresh_at: datetime | None, now: datetime) -> bool:
    """Whether a run that should have ended well an hour ago did not.

    `fresh_at`: when the last one that did began; None for a domain that never had one."""
    planned = upcoming(refresh, fresh_at) if fresh_at else latest(refresh, now)
    return now > planned.at + timedelta(minutes=refresh.jitter_minutes) + _HOUR


def in_zone(refresh: Refresh, moment: datetime) -> str:
    """For people, e.g. `Tue 03:00 Europe/Berlin`."""
    return f"{moment.astimezone(ZoneInfo(refresh.time_zone)):%a %d %b %H:%M} {refresh.time_zone}"


def _comes_twice(handled: Planned, planned: Planned) -> bool:
    """In the hour after the clocks were put back."""
    return planned.wall <= handled.wall and planned.at - handled.at <= 2 * _HOUR


def _times(refresh: Refresh, around: datetime) -> croniter:
    return croniter(refresh.cron, around.astimezone(ZoneInfo(refresh.time_zone)))


def _planned(local: datetime) -> Planned:
    return Planned(at=local.astimezone(UTC), wall=f"{local:%Y-%m-%d %H:%M}")
