"""Checks cron schedules and time zones, and has patterns for Slack ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

EXAMPLE = "`0 3 * * *` for three in the morning"
_NAMES = ("minute", "hour", "day of the month", "month", "day of the week")
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WORDS = ((), (), (), _MONTHS, _DAYS)
_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d+))?")
_SAMPLE = 400
"""Number of times compared for the shortest gap; a year of daily ones."""
_ANY = datetime(2024, 1, 1)


def cron_problem(cron: str) -> str:
    """The problem of a schedule and its remedy; empty when it is valid.

    Stricter than croniter, which picks random times for `R`, accepts a sixth field for seconds,
    and reads `*/90` minutes as every hour."""
    fields = cron.split()
    if len(fields) != len(_NAMES):
        return (
            f"has {len(fields)} field{'s' * (len(fields) != 1)}, and a schedule has five: "
            f"{', '.join(_NAMES)}; write {EXAMPLE}"
        )
    for field, name, bounds, words in zip(fields, _NAMES, _BOUNDS, _WORDS, strict=True):
        for part in field.lower().split(","):
            if problem := _part_problem(part, bounds, words):
                return f"is wrong in its {name}: {problem}"
    if next(wall_times(cron, _ANY), None) is None:
        return "names a day that never comes; no such month has that day"
    return ""


def wall_times(cron: str, after: datetime) -> Iterator[datetime]:
    """Yields the local times of a schedule, naive and in order, after `after`."""
    from croniter import CroniterBadDateError, croniter

    iterator = croniter(cron, after)
    while True:
        try:
            yield iterator.get_next(datetime)
        except CroniterBadDateError:
            return


def next_time(cron: str, time_zone: str, after: datetime) -> datetime | None:
    """The first time of a schedule after `after`, aware; in UTC. None where there is none.

    A local time that the clock skips in spring becomes the first after the gap. A local time that
    comes twice in autumn counts the first time."""
    zone = ZoneInfo(time_zone)
    # Starts before any clock change: local time may be behind after one.
    around = after.astimezone(zone).replace(tzinfo=None) - timedelta(hours=3)
    times = (wall.replace(tzinfo=zone).astimezone(UTC) for wall in wall_times(cron, around))
    return next((one for one in times if one > after), None)


def shortest_gap(cron: str) -> timedelta:
    """Shortest time between two runs in a sample of the next ones."""
    times = islice(wall_times(cron, _ANY), _SAMPLE)
    return min((later - one for one, later in pairwise(times)), default=timedelta.max)


def _part_problem(part: str, bounds: tuple[int, int], words: tuple[str, ...]) -> str:
    low, high = bounds
    shape = _PART.fullmatch(part)
    if shape is None:
        return "write a number, `*`, a range `a-b`, a list `a,b` or a step `*/n`"
    first, last, step = shape.groups()
    for value in (first, last):
        if value is None or value in words:
            continue
        if not re.fullmatch("[0-9]{1,4}", value):
            range_of_names = f", or {words[0]} to {words[-1]}" if words else ""
            return f"{value!r} is no number from {low} to {high}{range_of_names}"
        if not low <= int(value) <= high:
            return f"{value} is not from {low} to {high}"
    if step is not None and not 1 <= int(step) <= high:
        return f"a step of {step} is not from 1 to {high}; steps begin anew with each hour or day"
    return ""


def time_zone_problem(name: str) -> str:
    """The problem of a time zone's name, with a suggestion; empty when it is valid."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # also for a path outside the database or a folder
        nearest = _nearest(name)
        hint = f"did you mean {nearest!r}?" if nearest else "write it as in Europe/Berlin"
        return f"is no time zone of the IANA database; {hint}"
    return ""


def _nearest(name: str) -> str:
    """The nearest zone by city or whole name; empty when none is near."""
    key = name.strip().replace(" ", "_").casefold()
    zones = sorted(available_timezones())
    cities = {zone.rpartition("/")[2].casefold(): zone for zone in zones}
    whole = {zone.casefold(): zone for zone in zones}
    for names in (cities, whole):
        if close := get_close_matches(key, names, n=1, cutoff=0.75):
            return names[close[0]]
    return ""


CHANNEL = "[CG][A-Z0-9]{4,}"
"""G: ids of older private channels."""
USER = "[UW][A-Z0-9]{3,}"
"""W: ids of users on Enterprise Grid."""
GROUP = "S[A-Z0-9]{3,}"
BOT = "[BAUW][A-Z0-9]{3,}"

PINGED_IN_PROSE = r"[UWS][A-Z0-9]{6,}\b"
"""Ids that an `@` in prose may mention. Shorter matches are words in capitals."""
ON_CALL = r"[UWS](?:[0-9][A-Z0-9]{2,}|(?=[A-Z]*[0-9])[A-Z0-9]{5,})"
"""A user or group id as a whole field. It needs a digit, which SUPPORT and WEEKEND lack."""
ON_CALL_IN_PROSE = r"\b[UWS][0-9][A-Z0-9]{4,}\b"
"""Slack's current ids, `U0…`; no word in a calendar looks like one."""
MAYBE_ON_CALL_IN_PROSE = r"\b[UWS](?=[A-Z]*[0-9])[A-Z0-9]{6,}\b"
"""Slack's older ids, such as `UG4KX7Q2P`; SPRINT42 matches, too."""
MENTION = r"<(?:@|!subteam\^)([UWS][A-Z0-9]{3,})(?:\|[^<>]*+)?>"
"""Group 1 is the id."""
EMAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
"""An e-mail address; Slack can find members by it."""
