"""Amounts that an alert states, and the ranges that rows of a runbook are for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_UNITS: dict[str, tuple[str, float]] = {
    "": ("", 1), "%": ("%", 1), "percent": ("%", 1), "ms": ("s", 0.001), "s": ("s", 1),
    "sec": ("s", 1), "second": ("s", 1), "m": ("s", 60), "min": ("s", 60), "minute": ("s", 60),
    "h": ("s", 3_600), "hr": ("s", 3_600), "hour": ("s", 3_600), "d": ("s", 86_400),
    "day": ("s", 86_400), "kb": ("b", 1e3), "mb": ("b", 1e6), "gb": ("b", 1e9), "tb": ("b", 1e12),
}  # fmt: skip
"""Unit as written → (what it measures, factor to the base unit)."""
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = r"%|percent|[a-z]{1,7}"
_MORE = r"above|over|more than|greater than|higher than|longer than|at least|from|[>≥]=?"
_LESS = r"below|under|less than|lower than|fewer than|up to|at most|[<≤]=?"
_FROM_TO = re.compile(
    rf"(?:between |from )?({_NUMBER}) ?({_UNIT})? ?(?:to|and|until|[-–—]) ?({_NUMBER}) ?({_UNIT})?",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    rf"(?:({_MORE})|({_LESS})) ?({_NUMBER}) ?({_UNIT})?(?: (?:or|and) (?:more|above))?|"
    rf"({_NUMBER}) ?({_UNIT})? ?(?:\+|or more|or longer|and more|and above|or above)",
    re.IGNORECASE,
)
_LAST = re.compile(rf" (?:(?:{_MORE}|{_LESS}|between) ?)?\d.*", re.IGNORECASE)
_NUMBERED = re.compile(r"([a-z][\w-]*?)[ _-]?(\d+)", re.IGNORECASE)
_ANY_DIGITS = re.compile(r"(.*\d)(x+)", re.IGNORECASE)
_UNTIL = re.compile(r"\s*(?:[-–—…]|\.\.+|\bto\b|\buntil\b)\s*", re.IGNORECASE)
_DATE = re.compile(
    r"https?://\S+|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6} \d{1,2}\b,?|"
    r"\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b|\b20[23]\d\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    rf"(?<![\w.,:/#-])(?:(\w+)[ ]?=[ ]?)?({_NUMBER})[ ]?({_UNIT})?(?![\w:/-]|\.\w)", re.IGNORECASE
)
_BOUND = re.compile(
    r"(?:above|over|than|below|under|at least|at most|[<>≤≥]=?|between|limit|threshold|for|last"
    r"|every|within|past|since|after)"
    r"(?: (?:the|of|is|at))?[ :=>]*$",
    re.IGNORECASE,
)
"""Words before a number that make it a threshold or a time window, not a measured value."""
_NAMES_ONE = frozenset(("port", "pid", "id", "line", "broker", "shard", "partition", "build"))
MAX_AMOUNTS = 20


@dataclass(frozen=True)
class Amount:
    value: float
    measure: str
    """`%`, `s` (seconds), `b` (bytes); '' for a count."""


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    measure: str

    def contains(self, amount: Amount) -> bool:
        return amount.measure == self.measure and self.low <= amount.value <= self.high

    def is_part_of(self, other: Range) -> bool:
        """Whether it is a proper part of the other range, in the same measure."""
        same = self.measure == other.measure and self != other
        return same and other.low <= self.low and self.high <= other.high


def range_in(text: str) -> Range | None:
    """The range that is all of a cell: `above 80 %`, `60 s to 10 min`, `1 or more`."""
    text = " ".join(text.split())
    if len(text) > 60:
        return None
    if match := _FROM_TO.fullmatch(text):
        high = _amount(match[3], match[4])
        low = _amount(match[1], match[2] or match[4])
        if low and high and low.measure == high.measure and low.value <= high.value:
            return Range(low.value, high.value, low.measure)
    elif match := _BEYOND.fullmatch(text):
        bound = _amount(match[3] or match[5], match[4] or match[6])
        if bound and match[2]:
            return Range(-math.inf, bound.value, bound.measure)
        if bound:
            # "Above 20,000" excludes 20,000 itself, which another row may end with.
            strict = match[1] and match[1].casefold() not in {"at least", "from", "≥", ">="}
            low_end = math.nextafter(bound.value, math.inf) if strict else bound.value
            return Range(low_end, math.inf, bound.measure)
    return None


def condition_after(text: str) -> str:
    """`DiskUsage above 80 %` → `above 80 %`; '' where the text ends with no range."""
    match = _LAST.search(text[:300])
    return match[0].strip() if match and range_in(match[0]) else ""


def numbers_in(text: str) -> tuple[str, int, int] | None:
    """(stem, first, last) of a numbered range: `fe01 – fe08`, `MSG-1100 to 1119`, `MSG-13xx`."""
    text = text.strip(" `")
    if match := _ANY_DIGITS.fullmatch(text):
        text = f"{match[1]}{'0' * len(match[2])} – {match[1]}{'9' * len(match[2])}"
    for between in _UNTIL.finditer(text):
        first = stem_and_number(text[: between.start()].strip(" `"))
        rest = text[between.end() :].strip(" `")
        last = (first[0], int(rest)) if first and rest.isdecimal() else stem_and_number(rest)
        if first and last and first[0] == last[0] and first[1] <= last[1]:
            return first[0], first[1], last[1]
    return None


def stem_and_number(name: str) -> tuple[str, int] | None:
    """`fe10` and `fe10:9100` → (`fe`, 10)."""
    match = _NUMBERED.fullmatch(name.partition(":")[0].partition(".")[0].strip(" `"))
    return (match[1].casefold(), int(match[2])) if match else None


def is_in_number_range(name: str, text: str) -> bool:
    """Whether the text is a range that contains the numbered name."""
    bounds, number = numbers_in(text), stem_and_number(name)
    return bool(
        bounds and number and number[0] == bounds[0] and bounds[1] <= number[1] <= bounds[2]
    )


def amounts_in(text: str) -> tuple[Amount, ...]:
    """Measured values of an alert's text, without thresholds, dates and identifying numbers."""
    text = _DATE.sub(" ", text[:4_000])
    amounts: dict[Amount, None] = {}
    for match in _AMOUNT.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()]
        word = before.split()[-1].casefold() if before.split() else ""
        if _BOUND.search(before) or {word, (match[1] or "").casefold()} & _NAMES_ONE:
            continue
        if amount := _amount(match[2], match[3]) or _amount(match[2], ""):
            amounts[amount] = None
    return tuple(amounts)[:MAX_AMOUNTS]


def _amount(number: str, unit: str | None) -> Amount | None:
    """None for an unknown unit."""
    symbol = (unit or "").casefold()
    measure = _UNITS.get(symbol) or _UNITS.get(symbol.removesuffix("s"))
    if measure is None:
        return None
    return Amount(float(number.replace(",", "")) * measure[1], measure[0])
