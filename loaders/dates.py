"""Parses dates that people write in English, in a document's text or front matter."""

from __future__ import annotations

import calendar
import re
from datetime import date

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    r"(?P<iso>(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})(?:[-/.](?P<d1>\d{1,2}))?(?!\d|[-/.]\d))"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-](?P<m2>{_MONTH})[\s,-]+(?P<y2>\d{{4}})\b"
    rf"|(?P<m3>{_MONTH})\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})\b"
    rf"|(?P<m4>{_MONTH})\s+(?P<y4>\d{{4}})\b"
    r"|(?P<d5>\d{1,2})\.\s?(?P<m5>\d{1,2})\.\s?(?P<y5>\d{4})\b"
    r"|(?P<a6>\d{1,2})/(?P<b6>\d{1,2})/(?P<y6>\d{4})\b"
    r"|\bQ(?P<q7>[1-4])[\s/-]*(?P<y7>\d{4})\b"
    r"|(?P<y8>(?:19|20)\d{2})(?=\s*(?:$|[.;,|·•)\n]))",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^\s*(?:(?:by|on|in|due|before|until)\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?"
    r"(?:the\s+)?(?:end\s+of\s+)?",
    re.IGNORECASE,
)


def date_in(text: str) -> date | None:
    """The date at the start of a text; None without a valid one, e.g. for 30 February.

    A month, quarter or year means its last day. Of two readings of 01/02/2026, the later counts.
    """
    match = _DATE.match(_FILLER.sub("", text, count=1))
    if match is None:
        return None
    groups = match.groupdict()
    if groups["y8"]:
        return _last_day(int(groups["y8"]), 12)
    if groups["y7"]:
        return _last_day(int(groups["y7"]), int(groups["q7"]) * 3)
    if groups["y6"]:
        day, month, year = int(groups["a6"]), int(groups["b6"]), int(groups["y6"])
        readings = (_real(year, month, day), _real(year, day, month))
        return max(filter(None, readings), default=None)
    for number in "12345":
        if year_text := groups.get(f"y{number}"):
            month_text, day_text = groups[f"m{number}"], groups.get(f"d{number}")
            month = int(month_text) if month_text.isdigit() else _MONTHS[month_text[:3].lower()]
            return (
                _real(int(year_text), month, int(day_text))
                if day_text
                else _last_day(int(year_text), month)
            )
    return None


def months_later(day: date, months: int) -> date | None:
    """The same day `months` later, or that month's last day; None outside years 1 to 9999."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if last := _last_day(year, month + 1):
        return last.replace(day=min(day.day, last.day))
    return None


def _real(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _last_day(year: int, month: int) -> date | None:
    if not (1 <= month <= 12 and 1 <= year <= 9999):
        return None
    return date(year, month, calendar.monthrange(year, month)[1])
