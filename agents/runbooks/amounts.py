"""Amounts that an alert states, and ranges of amounts that a cell of a table is for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from agents.runbooks.words import WORDS, alternatives, words_of

_UNITS: dict[str, tuple[str, float]] = {
    word: (measure, factor)
    for unit, (measure, factor, *words) in WORDS["units"].items() for word in (unit, *words)
}  # fmt: skip
"""Unit as written → (what it measures, factor to the base unit)."""
_THOUSANDS = r"-?\d{1,3}(?:[, \u00a0\u202f]\d{3})+(?![\d,])(?:\.\d+)?"
_AMOUNT = rf"({_THOUSANDS}|-?\d+(?:\.\d+|,\d{{1,2}}(?![\d,]))?) ?(%|[^\W\d_]{{1,12}})?"
_TAIL = rf"(?:(?! {alternatives('and_or')} ) [^\d\s<>=≤≥,;]+){{0,4}}(?: \d+ ?[^\W\d_]{{1,12}})?"
"""More about an amount: ` of max`, ` down for 10 min`."""
_LEAD = r"(?:[^\W\d][\w.-]* ){0,3}?"
"""What is measured: `p95 latency `."""
_FROM_TO = re.compile(
    rf"{_LEAD}{_AMOUNT} ?(?:{alternatives('to')}|[-–—…]|\.\.+) ?{_AMOUNT}{_TAIL}", re.IGNORECASE
)
_BOUND = re.compile(
    rf"{_LEAD}(?:({alternatives('above', 'at_least', 'below', 'at_most')}|[<>=]{{1,2}}|[≥≤])"
    rf" ?(?:{alternatives('articles')} )?{_AMOUNT}"
    rf"|{_AMOUNT} ?({alternatives('and_more', 'left')}|\+)){_TAIL}",
    re.IGNORECASE,
)
_LOW = frozenset((*words_of("above", "at_least", "and_more"), ">", ">=", "=>", "≥", "+"))
"""Signs of a lower bound; the others are of an upper one."""
_MEASURED = re.compile(
    rf"(?<![\w.,:/#-])(?!20[23]\d\b)(?:(\w+) ?= ?)?{_AMOUNT}(?![\w:/-]|\.\w)", re.IGNORECASE
)
_BEFORE_LIMIT = re.compile(
    rf"(?:\b{alternatives('above', 'below', 'limits')}|[<>≤≥]=?)(?: (?:the|of|is|at))?[ :=>(]*$",
    re.IGNORECASE,
)
_WINDOW = re.compile(rf"\W{{0,2}}{alternatives('windows')}\b", re.IGNORECASE)
_ORDINALS = frozenset(WORDS["ordinals"])
_VALUE = re.compile(rf"\b{alternatives('value')}\W{{0,4}}$", re.IGNORECASE)
MAX_AMOUNTS = 20


@dataclass(frozen=True)
class Amount:
    value: float
    measure: str
    """`%`, `s` (seconds), `b` (bytes); '' for a count, `?` where the message may mean any."""


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    measure: str

    def contains(self, amount: Amount) -> bool:
        return amount.measure in {self.measure, "?"} and self.low <= amount.value <= self.high

    def is_part_of(self, other: Range) -> bool:
        """Whether it is a proper part of the other range, in the same measure."""
        same = self.measure == other.measure and self != other
        return same and other.low <= self.low and self.high <= other.high


def range_in(text: str) -> Range | None:
    """The range that is all of a text: `above 80 %`, `60 s to 10 min`, `lag > 90 s for 5 min`."""
    text = " ".join(text.replace("\\", "").split())
    if match := _FROM_TO.fullmatch(text):
        high, low = _amount(match[3], match[4]), _amount(match[1], match[2] or match[4])
        ascend = low.measure == high.measure and low.value <= high.value
        return Range(low.value, high.value, low.measure) if ascend else None
    if match := _BOUND.fullmatch(text):
        bound = _amount(match[2] or match[4], match[3] or match[5])
        end = math.inf if (match[1] or match[6]).casefold() in _LOW else -math.inf
        return Range(min(bound.value, end), max(bound.value, end), bound.measure)
    return None


def amounts_in(text: str) -> tuple[Amount, ...]:
    """Measured values of an alert's text, without thresholds, windows of time, dates and
    identifying numbers. Where some are called values, they are all; one without a unit may be an
    amount of anything, in its base unit."""
    amounts, values = dict[Amount, None](), dict[Amount, None]()
    text = text[:4_000]
    for match in _MEASURED.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()]
        words = {*before.split()[-1:], match[1] or "", match[3] or ""}
        is_limit = _BEFORE_LIMIT.search(before) or _WINDOW.match(text, match.end())
        if not is_limit and _ORDINALS.isdisjoint(map(str.casefold, words)):
            amount = _amount(match[2], match[3])
            amounts[amount] = None
            if _VALUE.search(before):
                values[amount if amount.measure else Amount(amount.value, "?")] = None
    return tuple(values or amounts)[:MAX_AMOUNTS]


def _amount(number: str, unit: str | None) -> Amount:
    """A count where the word after the number is no unit: `3 nodes`."""
    is_whole = re.fullmatch(_THOUSANDS, number)
    value = re.sub(r"[,\s]", "", number) if is_whole else number.replace(",", ".")
    measure, factor = _UNITS.get((unit or "").casefold(), ("", 1))
    return Amount(float(value) * factor, measure)
