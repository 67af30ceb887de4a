"""A schedule as people write it: five cron fields, what is taken amiss in them, and the times on
the clock that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, pairwise

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


def cron_problem(written: str) -> str:
    """What is wrong with it and how to write it; empty when nothing is.

    Stricter than croniter, which draws times by chance for `R`, takes a sixth field for seconds,
    and reads `*/90` minutes as every hour."""
    fields = written.split()
    if len(fields) != len(_NAMES):
        return (
            f"has {len(fields)} field{'s' * (len(fields) != 1)}, and a schedule has five: "
            f"{', '.join(_NAMES)}; write {EXAMPLE}"
        )
    for field, name, bounds, words in zip(fields, _NAMES, _BOUNDS, _WORDS, strict=True):
        for part in field.lower().split(","):
            if problem := _part_problem(part, bounds, words):
                return f"is wrong in its {name}: {problem}"
    if next(wall_times(written, _ANY), None) is None:
        return "names a day that never comes; no such month has that day"
    return ""


def wall_times(cron: str, after: datetime) -> Iterator[datetime]:
    """Times on the clock, naive and in order, from the first after that one on."""
    from croniter import CroniterBadDateError, croniter

    found = croniter(cron, after)
    while True:
        try:
            yield found.get_next(datetime)
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
            known = f", or {words[0]} to {words[-1]}" if words else ""
            return f"{value!r} is no number from {low} to {high}{known}"
        if not low <= int(value) <= high:
            return f"{value} is not from {low} to {high}"
    if step is not None and not 1 <= int(step) <= high:
        return f"a step of {step} is not from 1 to {high}; steps begin anew with each hour or day"
    return ""
