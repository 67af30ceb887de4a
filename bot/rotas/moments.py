"""Times in words: *Tuesday night*, *yesterday at 3 am*, *next weekend*, *in 2 hours*. Pure.

English, as people ask for shifts. What the grammar doesn't know is left over, for the caller to
judge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MAX_AWAY = timedelta(days=366)
"""Rotas are not asked for more."""
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_PARTS = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 22), "night": (22, 6),
    "tonight": (18, 6),
}  # fmt: skip
"""Hours from and to; a night begins on the evening of its day."""
_NEAR = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
    "tomorrow": 1, "day after tomorrow": 2,
}  # fmt: skip
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
_A_DAY = timedelta(days=1)


def _begun(names: tuple[str, ...]) -> str:
    """Each name, or its first letters, from three on."""
    forms = {name[:length] for name in names for length in range(3, len(name) + 1)}
    return "|".join(sorted(forms))


_DATE = (
    rf"(?:the )?(?P<number>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_begun(_MONTHS)})"
    rf"|(?P<month_first>{_begun(_MONTHS)}) (?P<number_last>\d{{1,2}})(?:st|nd|rd|th)?"
)
_DAY = (
    rf"(?:the )?(?P<near>{'|'.join(_NEAR)})|(?P<part_of>this)(?= (?:mor|aft|eve))"
    rf"|(?:(?P<which>this|last|next|past|coming) )?(?P<weekday>{_begun(_DAYS)})"
    rf"|(?:{_DATE})(?: (?P<year>\d{{4}}))?|(?P<iso>\d{{4}} \d\d \d\d)"
)
_PART = r"(?:(?:in|at|during) )?(?:the )?(?P<part>morning|afternoon|evening|night)"
_CLOCK = (
    r"(?:at )?(?:(?P<hour>\d{1,2})(?:h(?P<minute>\d\d))? ?(?P<half>a|p) ?m"
    r"|(?P<hours>\d{1,2})h(?P<minutes>\d\d)|(?P<named>noon|midnight))"
)
_UNIT = "min|minute|hour|day|week"
_COUNT = rf"\d{{1,3}}|{'|'.join(_COUNTS)}"
_FORMS = tuple(
    re.compile(rf"(?<!\S)(?:(?:on|in|at|over|during|for) )?(?:{form})(?!\S)")
    for form in (
        rf"(?:{_DAY})(?: {_PART})?(?: {_CLOCK})?",
        rf"{_CLOCK}(?: (?:on )?(?:{_DAY})(?: {_PART})?)?",
        r"(?P<which>this|the|next|last|past|coming) (?P<week>weekend|week)(?<!the week)",
        rf"(?<=in )(?P<count>{_COUNT}) (?P<unit>{_UNIT})s?"
        rf"|(?P<back>{_COUNT}) (?P<ago>{_UNIT})s? ago",
    )
)


@dataclass(frozen=True)
class Period:
    """In UTC; a moment where both are the same."""

    start: datetime
    end: datetime

    def label(self, zone: str, now: datetime) -> str:
        """`Tuesday 24 November, 22:00–06:00`; with the year where it is another than now."""
        local = ZoneInfo(zone)
        start, end = self.start.astimezone(local), self.end.astimezone(local)
        year = now.astimezone(local).year
        if self.start == self.end:
            return f"{_day_label(start, year)}, {start:%H:%M}"
        if start.time() == end.time() == time():
            last = end - _A_DAY
            more = f" to {_day_label(last, year)}" if last.date() > start.date() else ""
            return f"{_day_label(start, year)}{more}"
        return f"{_day_label(start, year)}, {start:%H:%M}–{end:%H:%M}"


def period_in(
    words: str, now: datetime, zone: str, *, is_past: bool = False
) -> tuple[Period, str] | None:
    """The period that words name, and the other words; None where they name none.

    `words`: lower-case, apart by one space, clock times as `14h30`. `is_past`: of days that could
    be meant (*Tuesday*), the latest that has begun; else the first that isn't over."""
    matches = [match for form in _FORMS for match in form.finditer(words)]
    if not matches:
        return None
    match = max(matches, key=lambda one: len(one[0]))
    groups = {name: value for name, value in match.groupdict().items() if value}
    try:
        period = _Clockwork(now.astimezone(ZoneInfo(zone)), is_past).period(groups)
    except (ValueError, OverflowError):  # the 31st of June, 25:00
        return None
    if period is None or abs(period.start - now) > MAX_AWAY:
        return None
    rest = f"{words[: match.start()]} {words[match.end() :]}"
    return period, " ".join(rest.split())


@dataclass(frozen=True)
class _Clockwork:
    now: datetime
    """In the zone of the words."""
    is_past: bool

    @property
    def today(self) -> date:
        return self.now.date()

    def period(self, groups: Mapping[str, str]) -> Period | None:
        """Raises ValueError and OverflowError for a time that doesn't exist."""
        if "week" in groups:
            return self._week(groups["which"], groups["week"])
        if unit := groups.get("unit") or groups.get("ago"):
            return self._away(groups, unit)
        part, at = _part(groups), _clock(groups)
        spans = (self._span(day, part, at) for day in self._days(groups))
        if {"near", "part_of", "iso", "year"} & groups.keys():
            return next(spans)
        return next((one for one in spans if one and self._fits(one)), None)

    def _fits(self, span: Period) -> bool:
        if self.is_past:
            return span.start < self.now
        return span.end > self.now or span.start >= self.now

    def _days(self, groups: Mapping[str, str]) -> Iterator[date]:
        """Days that may be meant, the likeliest first."""
        step, today = (-1 if self.is_past else 1), self.today
        if "part_of" in groups or "near" in groups:
            yield today + timedelta(days=self._near(groups.get("near", "today")))
        elif "iso" in groups:
            yield date.fromisoformat(groups["iso"].replace(" ", "-"))
        elif "weekday" in groups:
            yield from self._weekdays(groups["weekday"], groups.get("which", ""))
        elif month := groups.get("month") or groups.get("month_first"):
            number = int(groups.get("number") or groups["number_last"])
            years = [int(groups["year"])] if "year" in groups else [today.year, today.year + step]
            for year in years:
                yield date(year, _index(_MONTHS, month) + 1, number)
        else:
            yield from (today, today + step * _A_DAY)

    def _near(self, words: str) -> int:
        """Before six in the morning it is still the night of the day before."""
        return -1 if words == "tonight" and self.now.hour < 6 else _NEAR[words]

    def _weekdays(self, name: str, which: str) -> Iterator[date]:
        """*Next* is of the next calendar week; *last* the latest before today."""
        ahead = (_index(_DAYS, name) - self.today.weekday()) % 7
        if which == "next":
            monday = self.today + timedelta(days=7 - self.today.weekday())
            yield monday + timedelta(days=_index(_DAYS, name))
        elif which in ("last", "past") or (self.is_past and which != "coming"):
            yield self.today + timedelta(days=(ahead or 7) - 7 if ahead else -7)
        else:
            yield self.today + timedelta(days=ahead)
            yield self.today + timedelta(days=ahead + 7)

    def _week(self, which: str, unit: str) -> Period:
        weekend = unit == "weekend"
        monday = self.today - timedelta(days=self.today.weekday())
        first = monday + timedelta(days=5 if weekend else 0)
        away = {"next": 7, "last": -7, "past": -7, "coming": 0 if weekend else 7}.get(which, 0)
        if which == "the" and self.is_past and first > self.today:
            away = -7
        first += timedelta(days=away)
        return self._between(first, time(), first + timedelta(days=2 if weekend else 7), time())

    def _away(self, groups: Mapping[str, str], unit: str) -> Period:
        """*In 3 days* is a day, *in 3 hours* a moment."""
        words = groups.get("count") or groups["back"]
        count = int(words) if words.isdecimal() else _COUNTS[words]
        count *= 1 if "count" in groups else -1
        if unit in ("day", "week"):
            day = self.today + timedelta(days=count * (7 if unit == "week" else 1))
            return self._between(day, time(), day + _A_DAY, time())
        minutes = count * (60 if unit == "hour" else 1)
        at = self.now.astimezone(UTC) + timedelta(minutes=minutes)
        return Period(at, at)

    def _span(self, day: date, part: str, at: time | None) -> Period | None:
        """None where the clock contradicts the part of the day."""
        if not part:
            return self._between(day, at or time(), day if at else day + _A_DAY, at or time())
        first, last = _PARTS[part]
        if at is not None and part == "night":
            first = _PARTS["tonight"][0]  # nine is in the evening, and often called night
        ends = day + _A_DAY if last < first else day
        if at is None:
            return self._between(day, time(first), ends, time(last))
        day = ends if last < first and at < time(last) else day
        is_within = at < time(last) or at >= time(first)
        if last > first:
            is_within = time(first) <= at < time(last)
        return self._between(day, at, day, at) if is_within else None

    def _between(self, day: date, at: time, end: date, until: time) -> Period:
        zone = self.now.tzinfo
        start = datetime.combine(day, at, zone).astimezone(UTC)
        return Period(start, datetime.combine(end, until, zone).astimezone(UTC))


def _part(groups: Mapping[str, str]) -> str:
    near = groups.get("near", "")
    named = {"last night": "night", "tonight": "tonight"}.get(near, "")
    return groups.get("part") or named


def _clock(groups: Mapping[str, str]) -> time | None:
    """Raises ValueError for hours that no clock has."""
    if "named" in groups:
        return time(12 if groups["named"] == "noon" else 0)
    if "hours" in groups:
        return time(int(groups["hours"]), int(groups["minutes"]))
    if "hour" not in groups:
        return None
    hour = int(groups["hour"])
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return time(hour % 12 + (12 if groups["half"] == "p" else 0), int(groups.get("minute", 0)))


def _index(names: tuple[str, ...], begun: str) -> int:
    return next(at for at, name in enumerate(names) if name.startswith(begun))


def _day_label(at: datetime, year: int) -> str:
    return f"{at:%A} {at.day} {at:%B}" + (f" {at.year}" if at.year != year else "")
