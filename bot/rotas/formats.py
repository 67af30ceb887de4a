"""Parses rotas: iCalendar, whose repetition, exceptions and zones libraries resolve, and YAML lists
of `{from, to, user}`.

A domain file may name any file as its rota. So no error holds a byte of the content: errors name
the shift by its number, and the property or key."""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from bot.rotas.people import values, who
from bot.rotas.shifts import Shift
from config.errors import ConfigError
from config.parsing.schedules import EMAIL, GROUP, MENTION, USER, time_zone_problem

_NEEDED = frozenset(
    {"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "STATUS"}
)
_BEGIN = re.compile(r"^[^\S\n]*+BEGIN:VCALENDAR", re.IGNORECASE | re.MULTILINE)
_ZONE = re.compile(r"^X-WR-TIMEZONE[^:\n]*:([^\n]*)", re.MULTILINE)
_ICAL_REMEDY = "export the calendar again, or write the rota as YAML"
_OWN_ZONE = "X-WR-TIMEZONE"
_A_DAY = timedelta(days=1)
_FAR = 3000
"""Year in which endless events end: the libraries fail beyond the year 9999."""

_PARSING = threading.Lock()

MAX_STEPS = 1_000_000
"""Days evaluated for all rules of a calendar: about 2 s. A daily shift of 20 years takes 7,300."""
MAX_SHIFTS = 20_000
"""In the time that is read, some weeks: each takes 1 kB in memory."""
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
"""Filters that leave a day every few periods. Others, such as the 30th of February, may leave none,
which the library notices only in the year 9999."""


class _WrongShiftError(ValueError):
    """Says what is wrong with one shift, without its content."""


def calendar_shifts(
    text: str, start: datetime, end: datetime, *, rota: str, zone: tzinfo = UTC
) -> Iterator[Shift]:
    """Shifts that are on at some time from `start` to `end`, in UTC.

    Times without a zone, and whole days, are in the calendar's own zone (`X-WR-TIMEZONE`), else
    in `zone`. Raises ConfigError, naming `rota`, for a broken calendar."""
    try:
        yield from _shifts(text, start, end, zone)
    except ConfigError as error:
        raise ConfigError(f"the rota {rota!r}: {error.problem}", remedy=error.remedy) from None
    except Exception:  # a broken calendar can fail anywhere in three libraries
        raise ConfigError(f"the rota {rota!r} is a broken calendar", remedy=_ICAL_REMEDY) from None


def is_calendar(text: str) -> bool:
    return bool(_BEGIN.search(text))


def calendar_zone(text: str) -> str:
    """The calendar's own zone by its IANA name; empty where it names none."""
    match = _ZONE.search(text)
    return _iana(match[1]) if match else ""


def _iana(name: str) -> str:
    """The IANA name of a zone, which Windows calls otherwise; empty for an unknown one."""
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    name = name.strip()
    name = WINDOWS_TO_OLSON.get(name, name)
    return "" if not name or time_zone_problem(name) else name


def _shifts(text: str, start: datetime, end: datetime, zone: tzinfo) -> Iterator[Shift]:
    import recurring_ical_events

    calendars = [(one, _own_zone(one, zone)) for one in _parse(text)]
    events = [(event, own) for one, own in calendars for event in one.walk("VEVENT")]
    _check(events, start, end)
    for event, _ in events:
        end_at = event.get("DTEND")
        if end_at is not None and end_at.dt.year > _FAR:
            end_at.dt = end_at.dt.replace(year=_FAR, month=1, day=1)
        if end_at is not None and end_at.dt == event["DTSTART"].dt:
            del event["DTEND"]  # of a whole day; an event without an end lasts for its day
    for calendar, own in calendars:
        _tell_apart(calendar.walk("VEVENT"))
        zone = own or UTC
        # A day more: the library looks for shifts as long as the first one, and one over a change
        # of clocks may be longer.
        period = (start.astimezone(zone) - _A_DAY, end.astimezone(zone) + _A_DAY)
        for event in recurring_ical_events.of(calendar).between(*period):
            # In UTC at once, as in `_time`.
            begins, ends = (
                _moment(event[key].dt, zone).astimezone(UTC) for key in ("DTSTART", "DTEND")
            )
            is_cancelled = str(event.get("STATUS", "")).upper() == "CANCELLED"
            if begins <= end and start < ends and not is_cancelled:
                yield Shift(begins, ends, who(event))


def _parse(text: str) -> list[Any]:
    """The calendars of a file, their zones their own.

    The library keeps zones that calendars define, by their names, for the whole process: those of
    another calendar would be taken for this one's, and an interrupted one stays locked for good."""
    from icalendar import Calendar
    from icalendar.error import GloballyUniqueTZIDGuessed
    from icalendar.timezone import tzp

    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore", GloballyUniqueTZIDGuessed)  # `/vendor/Europe/Berlin`
        tzp.use_default()
        calendars = Calendar.from_ical(text, multiple=True)
    if len(calendars) != len(_BEGIN.findall(text)):
        raise ValueError("a calendar without an end")
    return calendars


def _own_zone(calendar: Any, zone: tzinfo) -> tzinfo | None:
    """Zone of the times without one; None where the calendar's own is unknown."""
    if not (own := values(calendar, _OWN_ZONE)):
        return zone
    del calendar[_OWN_ZONE]
    if not (name := _iana(str(own[0]))):
        return None
    calendar[_OWN_ZONE] = name  # by which the library repeats what is written in UTC
    return ZoneInfo(name)


def _tell_apart(events: Iterable[Any]) -> None:
    """Give shifts that share a UID one each: the library would leave out all but one.

    Other versions of one shift differ in SEQUENCE, its exceptions have a RECURRENCE-ID."""
    versions: set[tuple[str, str]] = set()
    for number, event in enumerate(events):
        if "UID" in event and "RECURRENCE-ID" not in event:
            version = (str(event["UID"]), str(event.get("SEQUENCE", 0)))
            if version in versions:
                event["UID"] = f"{event['UID']} {number}"
            versions.add(version)


def _check(events: list[tuple[Any, tzinfo | None]], start: datetime, end: datetime) -> None:
    """Raise ConfigError for a shift that would be read wrongly, or would take too long.

    Each with the zone of its times without one."""
    steps = shifts = 0.0
    for number, (event, zone) in enumerate(events, start=1):
        try:
            if wrong := sorted({key for key, _ in event.errors} & _NEEDED):
                raise _WrongShiftError(f"has a {wrong[0]} that can't be read")
            if "DTSTART" not in event:
                raise _WrongShiftError("has no DTSTART")
            if not _is_over(event, start):
                _check_times(event, zone)
            for rule in values(event, "RRULE"):
                until_end = _steps(rule, event, end)
                steps += until_end
                shifts += until_end - _steps(rule, event, start)
        except _WrongShiftError as error:
            raise ConfigError(f"shift {number} {error}", remedy=_ICAL_REMEDY) from None
        if steps > MAX_STEPS:
            raise ConfigError(
                f"shift {number} repeats too often to be counted",
                remedy="repeat shifts by day, week, month or year",
            )
        if shifts > MAX_SHIFTS:
            raise ConfigError(
                f"more than {MAX_SHIFTS:,} shifts are on within weeks", remedy=_ICAL_REMEDY
            )


def _check_times(event: Any, zone: tzinfo | None) -> None:
    start, end = event.get("DTSTART"), event.get("DTEND")
    for value in (start, end):
        if value is None or getattr(value.dt, "tzinfo", None):
            continue
        if "TZID" in value.params or zone is None:
            raise _WrongShiftError("has an unknown time zone")
    if end is not None and _moment(end.dt, UTC) < _moment(start.dt, UTC):
        raise _WrongShiftError("ends before it starts (DTEND before DTSTART)")


def _is_over(event: Any, at: datetime) -> bool:
    """A single shift so long ago that it is over in every time zone."""
    if any(key in event for key in ("RRULE", "RDATE", "RECURRENCE-ID", "DURATION")):
        return False
    moments = [event[key].dt for key in ("DTSTART", "DTEND") if key in event]
    return max(_moment(value, UTC) for value in moments) < at - timedelta(days=3)


def _steps(rule: Any, event: Any, at: datetime) -> float:
    """Days, or parts of a day, that the library evaluates from the first shift to `at`."""
    start = event["DTSTART"].dt
    if "FREQ" not in rule:
        raise _WrongShiftError("has an RRULE without FREQ")
    (frequency,), interval = rule["FREQ"], max(rule.get("INTERVAL", [1]))
    if interval < 1:
        raise _WrongShiftError("has an RRULE with an INTERVAL below 1")
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


def _moment(value: Any, zone: tzinfo) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


_YAML_REMEDY = "write each shift as {from: 2026-11-02, to: 2026-11-09, user: U0INES}"
_KEYS = ("from", "to", "user")
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


def yaml_shifts(
    text: str, start: datetime, end: datetime, *, rota: str, zone: tzinfo = UTC
) -> Iterator[Shift]:
    """Shifts that are on at some time from `start` to `end`, in UTC; users as Slack ids or e-mail
    addresses.

    `zone`: of times without one.

    Raises ConfigError that names `rota`, the entry (from 1) and its line."""
    try:
        root = yaml.SafeLoader(text).get_single_node()
    except Exception:  # control characters, deep nesting and numbers that Python can't hold
        raise _yaml_error(rota, _not_a_rota(text)) from None
    if root is not None and not isinstance(root, yaml.SequenceNode):
        raise _yaml_error(rota, _not_a_rota(text))
    if root is None or not root.value:
        raise _yaml_error(rota, "holds no shifts")
    for number, node in enumerate(root.value, start=1):
        try:
            shift = _shift(node, zone)
        except _WrongShiftError as error:
            line = node.start_mark.line + 1
            raise _yaml_error(rota, f"has a wrong shift {number} (line {line}): {error}") from None
        if shift.start <= end and start < shift.end:
            yield shift


def _shift(node: yaml.Node, zone: tzinfo) -> Shift:
    """Reads nodes and constructs no values: merge keys and aliases can expand to gigabytes."""
    if not isinstance(node, yaml.MappingNode):
        raise _WrongShiftError("expected from, to and user")
    values: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if key.value not in _KEYS:
            raise _WrongShiftError("it has other keys than from, to and user")
        if key.value in values:
            raise _WrongShiftError(f"`{key.value}` is given twice")
        values[key.value] = value
    if missing := [f"`{key}`" for key in _KEYS if key not in values]:
        raise _WrongShiftError(f"it has no {' and no '.join(missing)}")
    start, end = _time("from", values, zone), _time("to", values, zone)
    if end <= start:
        raise _WrongShiftError("it ends before it starts")
    return Shift(start, end, _user(values["user"].value))


def _time(key: str, values: Mapping[str, yaml.Node], zone: tzinfo) -> datetime:
    node = values[key]
    try:
        if not isinstance(node, yaml.ScalarNode):
            raise ValueError(node.tag)
        if node.tag == _TIMESTAMP:
            moment = yaml.SafeLoader("").construct_yaml_timestamp(node)
        else:
            moment = datetime.fromisoformat(node.value)
        # In UTC at once: Python compares two times of one zone by wall clock, which goes back an
        # hour in autumn.
        return _moment(moment, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _WrongShiftError(f"its `{key}` is no time") from None


def _user(value: object) -> str:
    if isinstance(value, str):
        if mentioned := re.fullmatch(MENTION, value):
            return mentioned[1]
        if re.fullmatch(f"{USER}|{GROUP}|{EMAIL}", value):
            return value
    raise _WrongShiftError("its `user` is no Slack user or group id and no e-mail address")


def _not_a_rota(text: str) -> str:
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        return "is a web page, perhaps to sign in, and no calendar"
    return "is neither an iCal calendar nor a list of shifts"


def _yaml_error(rota: str, problem: str) -> ConfigError:
    return ConfigError(f"the rota {rota!r} {problem}", remedy=_YAML_REMEDY)
