"""iCalendar → the shifts of a moment: repetition, exceptions and zones by the libraries for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from bot.handoff.shift import Shift
from config.errors import ConfigError
from config.slack_ids import ON_CALL_IN_PROSE

_SLACK_ID = re.compile(ON_CALL_IN_PROSE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SAID_IN = ("SUMMARY", "DESCRIPTION", "ATTENDEE")
_NEEDED = frozenset(
    {"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "STATUS"}
)
_REMEDY = "export the calendar again, or write the rota as YAML"

MAX_STEPS = 1_000_000
"""Days looked at for all rules of a calendar: about 2 s. A daily shift of 20 years takes 7,300."""
_STEPS_PER_DAY = {
    # Measured against daily rules: longer periods are passed over as a whole.
    "YEARLY": 0.1, "MONTHLY": 0.15, "WEEKLY": 0.25,
    "DAILY": 1, "HOURLY": 24, "MINUTELY": 24 * 60, "SECONDLY": 24 * 60 * 60,
}  # fmt: skip
_CLOCK = ("BYHOUR", "BYMINUTE", "BYSECOND")
_COME_AGAIN: Mapping[str, list[set[str]]] = {
    "HOURLY": [set()],
    "DAILY": [set()],
    "WEEKLY": [set(), {"BYDAY"}],
    "MONTHLY": [set(), {"BYDAY"}, {"BYMONTHDAY"}],
    "YEARLY": [set(), {"BYMONTH"}, {"BYDAY", "BYMONTH"}, {"BYMONTH", "BYMONTHDAY"}],
}
"""Filters that leave a day in each few periods. Of others, such as the 30th of February, nothing
may be left, and that is known only at the end of the calendar, in the year 9999."""


def shifts_at(text: str, at: datetime, *, rota: str) -> Iterator[Shift]:
    """Shifts that hold `at`; who has them stands in summary, description or attendee.

    Times without a zone, and whole days, are in the calendar's own zone (`X-WR-TIMEZONE`), else
    in UTC. Raises ConfigError for what no shift can be read from, naming `rota`."""
    try:
        yield from _shifts(text, at)
    except ConfigError as error:
        raise ConfigError(f"the rota {rota!r}: {error.problem}", remedy=error.remedy) from None
    except Exception as error:  # a broken calendar can fail anywhere in three libraries
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(
            f"the rota {rota!r} is a broken calendar: {reason:.200}", remedy=_REMEDY
        ) from error


def _shifts(text: str, at: datetime) -> Iterator[Shift]:
    import recurring_ical_events
    from icalendar import Calendar

    calendar = Calendar.from_ical(text)
    _check(calendar.walk("VEVENT"), at)
    zone = ZoneInfo(str(calendar.get("X-WR-TIMEZONE", "UTC")))
    moment = at.astimezone(zone)
    for event in recurring_ical_events.of(calendar).between(moment, moment):
        who = _who([str(value) for name in _SAID_IN for value in _values(event, name)])
        if who and event.get("STATUS") != "CANCELLED":
            yield Shift(_moment(event["DTSTART"].dt, zone), _moment(event["DTEND"].dt, zone), who)


def _check(events: list[Any], at: datetime) -> None:
    """Raise ConfigError for a shift that would be read wrongly, or would take too long."""
    steps = 0.0
    for event in events:
        name = str(event.get("SUMMARY", "an event"))
        for key, problem in event.errors:
            if key in _NEEDED:
                raise ConfigError(f"{key} of {name!r}: {problem}", remedy=_REMEDY)
        for value in (event.get("DTSTART"), event.get("DTEND")):
            if value is not None and "TZID" in value.params and value.dt.tzinfo is None:
                zone = value.params["TZID"]
                raise ConfigError(f"unknown time zone {zone!r} of {name!r}", remedy=_REMEDY)
        steps += sum(_steps(rule, event["DTSTART"].dt, at) for rule in _values(event, "RRULE"))
        if steps > MAX_STEPS:
            raise ConfigError(
                f"{name!r} repeats too often to be counted",
                remedy="repeat shifts by day, week, month or year",
            )


def _steps(rule: Any, start: Any, at: datetime) -> float:
    """Days, or parts of a day, that the library looks at from the first shift to `at`."""
    (frequency,), interval = rule["FREQ"], max(rule.get("INTERVAL", [1]))
    end = at if _comes_again(rule, frequency, interval) else datetime.max.replace(tzinfo=UTC)
    days = max((end - _moment(start, UTC)).days, 0)
    times = math.prod(len(rule.get(name, [0])) for name in _CLOCK)
    return float(days * _STEPS_PER_DAY[frequency] * times / interval)


def _comes_again(rule: Any, frequency: str, interval: int) -> bool:
    filters = {name for name in rule if name.startswith("BY")} - {*_CLOCK, "BYSETPOS"}
    every_month_has_it = all(abs(day) < 30 for day in rule.get("BYMONTHDAY", ()))
    return (
        (filters in _COME_AGAIN.get(frequency, ()) or (filters == {"BYDAY"} and interval == 1))
        and (every_month_has_it or "BYMONTH" not in filters)
        and rule.get("BYSETPOS", [1]) in ([1], [-1])
    )


def _values(event: Any, name: str) -> list[Any]:
    """Of a property that may stand once, often or not at all."""
    value = event.get(name, [])
    return value if isinstance(value, list) else [value]


def _moment(value: Any, zone: tzinfo) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _who(texts: list[str]) -> str:
    for pattern in (_SLACK_ID, _EMAIL):
        for text in texts:
            if match := pattern.search(text):
                return match[0]
    return ""
