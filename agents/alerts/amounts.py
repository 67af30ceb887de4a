"""Amounts: how much an alert says it is, and from how much on a row holds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_UNITS: dict[str, tuple[str, float]] = {
    "": ("", 1), "%": ("%", 1), "percent": ("%", 1), "ms": ("s", 0.001), "s": ("s", 1),
    "sec": ("s", 1), "second": ("s", 1), "m": ("s", 60), "min": ("s", 60), "minute": ("s", 60),
    "h": ("s", 3_600), "hr": ("s", 3_600), "hour": ("s", 3_600), "d": ("s", 86_400),
    "day": ("s", 86_400), "kb": ("b", 1e3), "mb": ("b", 1e6), "gb": ("b", 1e9), "tb": ("b", 1e12),
}  # fmt: skip
"""How a unit is written: what it measures, and how much of that it is."""
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
_SAID = re.compile(
    rf"(?<![\w.,:/#-])(?:(\w+)[ ]?=[ ]?)?({_NUMBER})[ ]?({_UNIT})?(?![\w:/-]|\.\w)", re.IGNORECASE
)
_BOUND = re.compile(
    r"(?:above|over|than|below|under|at least|at most|[<>≤≥]=?|between|limit|threshold|for|last"
    r"|every|within|past|since|after)"
    r"(?: (?:the|of|is|at))?[ :=>]*$",
    re.IGNORECASE,
)
"""What stands before a number that says when an alert is raised, and not how much it is."""
_NAMES_ONE = frozenset(("port", "pid", "id", "line", "broker", "shard", "partition", "build"))
MOST = 20


@dataclass(frozen=True)
class Amount:
    value: float
    measure: str
    """`%`, `s`, `b`; '' for a mere count."""


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    measure: str

    def holds(self, amount: Amount) -> bool:
        return amount.measure == self.measure and self.low <= amount.value <= self.high

    def within(self, other: Range) -> bool:
        """Whether it is a part of the other one."""
        same = self.measure == other.measure and self != other
        return same and other.low <= self.low and self.high <= other.high


def range_in(text: str) -> Range | None:
    """Of a cell that says nothing else: `above 80 %`, `60 s to 10 min`, `1 or more`."""
    text = " ".join(text.split())
    if len(text) > 60:
        return None
    if found := _FROM_TO.fullmatch(text):
        high = _amount(found[3], found[4])
        low = _amount(found[1], found[2] or found[4])
        if low and high and low.measure == high.measure and low.value <= high.value:
            return Range(low.value, high.value, low.measure)
    elif found := _BEYOND.fullmatch(text):
        bound = _amount(found[3] or found[5], found[4] or found[6])
        if bound and found[2]:
            return Range(-math.inf, bound.value, bound.measure)
        if bound:
            # A row for what is above 20,000 is not for what another row ends with.
            strict = found[1] and found[1].casefold() not in {"at least", "from", "≥", ">="}
            low_end = math.nextafter(bound.value, math.inf) if strict else bound.value
            return Range(low_end, math.inf, bound.measure)
    return None


def condition_after(text: str) -> str:
    """`above 80 %` of `DiskUsage above 80 %`; '' where it ends with none."""
    found = _LAST.search(text[:300])
    return found[0].strip() if found and range_in(found[0]) else ""


def numbers_in(text: str) -> tuple[str, int, int] | None:
    """Of `fe01 – fe08`, `MSG-1100 to 1119` and `MSG-13xx`: what the numbers stand behind, the first
    and the last of them."""
    text = text.strip(" `")
    if said := _ANY_DIGITS.fullmatch(text):
        text = f"{said[1]}{'0' * len(said[2])} – {said[1]}{'9' * len(said[2])}"
    for between in _UNTIL.finditer(text):
        first = numbered(text[: between.start()].strip(" `"))
        rest = text[between.end() :].strip(" `")
        last = (first[0], int(rest)) if first and rest.isdecimal() else numbered(rest)
        if first and last and first[0] == last[0] and first[1] <= last[1]:
            return first[0], first[1], last[1]
    return None


def numbered(name: str) -> tuple[str, int] | None:
    """`fe` and 10 of `fe10`, and of `fe10:9100`."""
    found = _NUMBERED.fullmatch(name.partition(":")[0].partition(".")[0].strip(" `"))
    return (found[1].casefold(), int(found[2])) if found else None


def is_numbered_among(name: str, said: str) -> bool:
    """Whether a range holds it."""
    within, one = numbers_in(said), numbered(name)
    return bool(within and one and one[0] == within[0] and within[1] <= one[1] <= within[2])


def amounts_in(text: str) -> tuple[Amount, ...]:
    """How much an alert says that something is: neither its limits nor dates and numbers of
    things."""
    return tuple(dict.fromkeys(_amounts(_DATE.sub(" ", text[:4_000]))))[:MOST]


def _amounts(text: str) -> Iterator[Amount]:
    for found in _SAID.finditer(text):
        before = text[max(0, found.start() - 24) : found.start()]
        word = before.split()[-1].casefold() if before.split() else ""
        if _BOUND.search(before) or {word, (found[1] or "").casefold()} & _NAMES_ONE:
            continue
        if amount := _amount(found[2], found[3]) or _amount(found[2], ""):
            yield amount


def _amount(number: str, unit: str | None) -> Amount | None:
    """None for a unit that isn't known."""
    written = (unit or "").casefold()
    known = _UNITS.get(written) or _UNITS.get(written.removesuffix("s"))
    if known is None:
        return None
    return Amount(float(number.replace(",", "")) * known[1], known[0])
