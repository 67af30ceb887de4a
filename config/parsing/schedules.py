"""Cron schedules, time zones and Slack ids as people write them, with problems in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
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
"""Times that are compared for the shortest time between two; a year of daily ones."""
_ANY = datetime(2024, 1, 1)


def cron_problem(cron: str) -> str:
    """What is wrong with it and how to write it; empty when nothing is.

    Stricter than croniter, which draws times by chance for `R`, takes a sixth field for seconds,
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
    """Times on the clock, naive and in order, from the first after that one on."""
    from croniter import CroniterBadDateError, croniter

    iterator = croniter(cron, after)
    while True:
        try:
            yield iterator.get_next(datetime)
        except CroniterBadDateError:
            return


def shortest_gap(cron: str) -> timedelta:
    """Between two of its times, as far as a sample tells."""
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
    """What is wrong with a name and which one may be meant; empty when nothing is."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # also a path that leads out of the zones, or a folder
        nearest = _nearest(name)
        hint = f"did you mean {nearest!r}?" if nearest else "write it as in Europe/Berlin"
        return f"is no time zone of the IANA database; {hint}"
    return ""


def _nearest(name: str) -> str:
    """By the whole name, or by the city alone; empty when nothing is near."""
    key = name.strip().replace(" ", "_").casefold()
    zones = sorted(available_timezones())
    cities = {zone.rpartition("/")[2].casefold(): zone for zone in zones}
    whole = {zone.casefold(): zone for zone in zones}
    for names in (cities, whole):
        if close := get_close_matches(key, names, n=1, cutoff=0.75):
            return names[close[0]]
    return ""


CHANNEL = "[CG][A-Z0-9]{4,}"
"""G: an older private channel."""
USER = "[UW][A-Z0-9]{3,}"
"""W: of an organization on Enterprise Grid."""
GROUP = "S[A-Z0-9]{3,}"
BOT = "[BAUW][A-Z0-9]{3,}"

PINGED_IN_PROSE = r"[UWS][A-Z0-9]{6,}\b"
"""Whom an `@` in prose may ping: ids are this long, and what is shorter is a word in capitals."""
ON_CALL = r"[UWS](?:[0-9][A-Z0-9]{2,}|(?=[A-Z]*[0-9])[A-Z0-9]{5,})"
"""A user or group where it stands alone: with a digit, which SUPPORT and WEEKEND lack."""
ON_CALL_IN_PROSE = r"\b[UWS][0-9][A-Z0-9]{4,}\b"
"""As Slack makes ids today, `U0…`: no word of a calendar looks so."""
MAYBE_ON_CALL_IN_PROSE = r"\b[UWS](?=[A-Z]*[0-9])[A-Z0-9]{6,}\b"
"""As Slack once made ids, `UG4KX7Q2P`; SPRINT42 looks so too."""
MENTION = r"<(?:@|!subteam\^)([UWS][A-Z0-9]{3,})(?:\|[^<>]*+)?>"
"""The id is its group."""
EMAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
"""Slack finds its members by their address, too."""
