"""Checks a claim's figures: each is in the cited sources, or follows from figures there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import combinations

from agents.checks.claims import Claim, source_label
from agents.checks.statements import AskerTerms, CitedText
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import stem

_MAX_PARTS = 8
"""Figures from which another one may follow."""
_DENIED = re.compile(
    r"(?:\bnot|\binstead of|\brather than|\bnor)\s+(?:the\s+|just\s+)?$", re.IGNORECASE
)
"""`10 minutes, not 15` does not claim the second figure."""
_COMPARED = re.compile(r"\b(?:not?|never|cannot|too|exceeds?|above|over)\b|n['’]t\b", re.IGNORECASE)
_NO_FIGURE = re.compile(
    r"(?:(?:per|each|every)\b.*|a second|(?:a|the|three) quarters?\b.*|half\b.*|[€$£] an?)",
    re.IGNORECASE,
)
"""A rate, an ordinal, a fraction: other words may say the same."""
_FACTORS = (7, 12, 24, 30, 60, 100, 365, 1000)
"""Between units of time or size, whose names no list has in every language."""
_CONVERTED = frozenset({"time", "working time", "months", "bytes", "bits", "length", "weight"})
"""Measures whose units are compared in one base unit."""
_EXACT = 1e-6
_DAY = timedelta(days=1)
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_SECONDS_PER_DAY = 86_400
_MINUTES = 1_440
"""Of a day."""
_MONTHS_PER_YEAR = 12
_WEEKEND = 5
_MAX_SPAN_DAYS = 36_500


def figure_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """The first figure that the evidence does not support, as a reason; '' without one."""
    amounts = quantities(claim.text)
    grounded = [one for one in amounts if evidence.has(one)]
    parts = [*grounded, *asker.figures][:_MAX_PARTS]
    # Dates last: they may be counted from a sum of the others.
    for amount in sorted(amounts, key=lambda one: one.measure == "date"):
        if (
            amount in grounded
            or _is_vague(amount, evidence)
            or _is_rate(amount, amounts, claim.text)
        ):
            continue
        if _DENIED.search(claim.text[max(0, amount.start - 24) : amount.start]):
            continue
        if any(amount.agrees(one) for one in asker.figures) and (
            grounded or claim.kind == "code" or _COMPARED.search(claim.text)
        ):
            continue
        if _follows(amount, grounded, parts, claim.text) or _is_reckoned(
            amount, grounded, evidence, asker
        ):
            grounded.append(amount)
            continue
        kind = "figure" if amount.measure in ("", "date") else "quantity"
        return f"the {kind} {amount.text} is not in {source_label(claim)}"
    return ""


def _is_vague(amount: Quantity, evidence: CitedText) -> bool:
    """Whether it is a rate, a fraction, or a number in words of things that the sources do not
    count: `Three can: A, B and C`."""
    if _NO_FIGURE.fullmatch(amount.text):
        return True
    counted = stem(amount.counts)
    return (
        not amount.measure
        and amount.text[0].isalpha()
        and not any(counted and stem(one.counts) == counted for one in evidence.quantities)
    )


def _is_rate(amount: Quantity, amounts: Sequence[Quantity], text: str) -> bool:
    """Whether it is the unit of a rate, as in `25 dollars a month` and `a TiB costs 3.6`, or a
    factor, as in `× 12`, whose product is checked."""
    if re.search(r"(?:[×*]|\btimes)\s?$", text[: amount.start]):
        return not amount.measure
    return amount.text.lower().startswith(("a ", "an ")) and any(
        any(map(str.isdigit, one.text)) for one in amounts
    )


def _follows(
    amount: Quantity, grounded: Sequence[Quantity], parts: Sequence[Quantity], text: str
) -> bool:
    """Whether it is the sum, difference, product or share of figures of the claim or question."""
    numbers = [(one, value) for one in parts for value in _values(one)]
    results = [
        (measure, result)
        for left, right in combinations(numbers, 2)
        for measure, result in _results(left, right, _sign(text, left[0], right[0]))
    ]
    results += [(one.measure, value * 2) for one, value in numbers]
    results += [
        (one.measure, result)
        for one, value in numbers
        if one.measure not in _CONVERTED
        for by in _FACTORS
        for result in (value * by, value / by)
    ]
    results += [
        ("percent", share)
        for one, value in numbers
        if one.measure == "percent" or (not one.measure and value < 2)
        for percent in (value if one.measure else 100 * value,)
        for share in (percent, abs(100 - percent))
    ]
    results += [(one.measure, total) for one, total in _running_totals(grounded, text)]
    return any(
        abs(value - result) <= _EXACT * max(1, abs(result))
        and (not amount.measure or measure == amount.measure)
        for measure, result in results
        for value in _values(amount)
    )


def _running_totals(grounded: Sequence[Quantity], text: str) -> Iterator[tuple[Quantity, float]]:
    """Sums of neighbors of one unit that no other sign than + joins."""
    for first, start in enumerate(grounded):
        total, last = _values(start)[:1], start
        for one in grounded[first + 1 : first + _MAX_PARTS]:
            value = _values(one)[:1]
            if one.measure != start.measure or not (total and value):
                break
            if _sign(text, last, one) not in ("", "+"):
                break
            total, last = [total[0] + value[0]], one
            yield one, total[0]


def _values(amount: Quantity) -> list[float]:
    """Its number in the base unit; none for a time of day or a version."""
    try:
        return [float(amount.value)]
    except ValueError:
        return []


def _results(
    left: tuple[Quantity, float], right: tuple[Quantity, float], sign: str
) -> Iterator[tuple[str, float]]:
    """(measure, result) of each operation that fits the units; only that of the sign, if given."""
    measures = (left[0].measure, right[0].measure)
    own = measures[0] or measures[1]
    if measures[0] == measures[1] or "" in measures:
        if sign in ("", "+"):
            yield own, left[1] + right[1]
        if sign in ("", "-"):
            yield own, abs(left[1] - right[1])
    if "" in measures and sign in ("", "x"):
        yield own, left[1] * right[1]
    if not sign and measures[0] == measures[1] and left[1] and right[1]:
        yield "", max(left[1], right[1]) / min(left[1], right[1])
        yield "percent", 100 * min(left[1], right[1]) / max(left[1], right[1])
    for (share, percent), (whole, value) in ((left, right), (right, left)):
        if share.measure == "percent" and not sign:
            yield whole.measure, percent * value / 100
            yield whole.measure, (100 - percent) * value / 100


def _sign(text: str, left: Quantity, right: Quantity) -> str:
    """The sign of a formula between two figures; '' without one."""
    between = text[left.end : right.start]
    if text[left.start : left.end] != left.text or not 0 < len(between) <= 40 or "=" in between:
        return ""
    if "+" in between:
        return "+"
    if re.search(r"[×*]| x ", between):
        return "x"
    return "-" if re.search(r"\s[-−–]\s", between) else ""


def _is_reckoned(
    amount: Quantity, grounded: Sequence[Quantity], evidence: CitedText, asker: AskerTerms
) -> bool:
    """Whether a date, a number of days or a time of day follows from those of the claim, the
    question or today."""
    if _CLOCK.fullmatch(amount.value):
        figures = (*evidence.quantities, *asker.figures, *grounded)
        return any(
            (_minutes(base) + sign * float(span.value) / 60 - _minutes(amount)) % _MINUTES == 0
            for base in figures
            if _CLOCK.fullmatch(base.value)
            for span in figures
            if span.measure == "time"
            for sign in (1, -1)
        )
    year = next((int(one.year) for one in asker.today if one.year), 0)
    dates = [
        day
        for one in (*asker.today, *asker.figures, *grounded)
        if one.measure == "date" and (day := _day(one, year))
    ]
    if amount.measure == "date":
        spans = {
            (one.measure, float(one.value))
            for one in (*evidence.quantities, *asker.figures, *grounded)
            if one.measure in ("time", "working time", "months")
        }
        return any(
            _is_that_day(amount, day)
            for base in dates
            for day in (
                base,
                *(d for span in spans for sign in (1, -1) for d in _moved(base, span, sign)),
            )
        )
    if amount.measure not in ("time", "months", ""):
        return False
    spans_between = [abs((one - other).days) for one, other in combinations(dates, 2)]
    years = [int(one.value) for one in grounded if re.fullmatch(r"[12]\d{3}", one.value)]
    if amount.measure == "months":
        months = [
            abs((one.year - other.year) * _MONTHS_PER_YEAR + one.month - other.month)
            for one, other in combinations(dates, 2)
        ]
        months += [abs(one - other) * _MONTHS_PER_YEAR for one, other in combinations(years, 2)]
        return float(amount.value) in months
    number = _values(amount)
    base = _SECONDS_PER_DAY if amount.measure else 1
    return any(days * base in number for days in spans_between)


def _minutes(clock: Quantity) -> int:
    hours, minutes = clock.value.split(":")
    return int(hours) * 60 + int(minutes)


def _day(one: Quantity, year: int) -> date | None:
    """The first of a month without a day; None without a year where none is given."""
    month, day = map(int, one.value.split("-"))
    try:
        return date(int(one.year or year), month, day or 1)
    except ValueError:
        return None


def _moved(day: date, span: tuple[str, float], sign: int) -> Iterator[date]:
    """The day so much later or earlier, and the ends of its month."""
    measure, value = span
    if measure == "months":
        months = day.year * _MONTHS_PER_YEAR + day.month - 1 + sign * int(value)
        year, month = divmod(months, _MONTHS_PER_YEAR)
        if not 1 <= year <= date.max.year - 1:
            return
        following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
        yield min(date(year, month + 1, 1) + (day.day - 1) * _DAY, following - _DAY)
        return
    days = value / _SECONDS_PER_DAY
    if days != int(days) or not 0 < days <= _MAX_SPAN_DAYS or not 1900 < day.year < 2200:
        return
    if measure == "time":
        yield day + sign * int(days) * _DAY
        return
    left = int(min(days, 400))
    while left:
        day += sign * _DAY
        left -= day.weekday() < _WEEKEND
    yield day


def _is_that_day(amount: Quantity, day: date) -> bool:
    """Whether a written date is this day, or the last of its month or the first of the next."""
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return any(
        amount.agrees(Quantity(f"{each.month}-{each.day}", "date", "", 0, 0, year=str(each.year)))
        for each in (day, following - _DAY, following)
    )
