"""Checks a claim's figures: each is in the cited sources, or follows from figures there."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from itertools import combinations, product

from agents.checks.claims import Claim, source_label
from agents.checks.statements import AskerTerms, CitedText
from enrichment.language.quantities import Quantity, quantities

_MAX_TERMS = 8
"""Figures of one claim that are tried as terms of a sum."""
_DENIED = re.compile(
    r"(?:\bnot|\binstead of|\brather than|\bnor)\s+(?:the\s+|just\s+)?$", re.IGNORECASE
)
"""`10 minutes, not 15` does not claim the second figure."""
_COMPARED = re.compile(r"\b(?:not?|never|cannot|too|exceeds?|above|over)\b|n['’]t\b", re.IGNORECASE)
_EXPLAINED = re.compile(r"\(([^()+]{1,80}(?:\+[^()+]{1,80}){1,8})\)")
_FIRST_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,4})?")
_OF = re.compile(r"\s+of(?: the| those| these)?\s+")
_OPERATIONS = {"+": operator.add, "x": operator.mul, "-": operator.sub}
_SIGNS = {"+": "+", "×": "x", "*": "x", " x ": "x", " - ": "-", " − ": "-", " – ": "-"}
"""Sign as written → key of `_OPERATIONS`."""
_WORKED_OUT = re.compile(
    r"\b(?:in all|altogether|in total|total(?:s|ling)?|together|so|makes|sum|leaves?|left)\b|=",
    re.IGNORECASE,
)


def figure_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """The first figure that the evidence does not support, as a reason; '' without one."""
    amounts = quantities(claim.text)
    grounded = [evidence.has(amount) for amount in amounts]
    excused, wrong = _sums(claim, amounts)
    if wrong:
        return wrong
    grounded_amounts = [
        one for one, is_grounded in zip(amounts, grounded, strict=True) if is_grounded
    ]
    excused |= _totals_of_parts(claim, [*grounded_amounts, *asker.figures], amounts)
    excused |= _shares_of_parts(claim, grounded_amounts, amounts)
    excused |= _totals_in_parentheses(claim, amounts)
    for amount, is_grounded in zip(amounts, grounded, strict=True):
        if is_grounded or amount in excused or _is_a_count(amount, claim):
            continue
        if _DENIED.search(claim.text[max(0, amount.start - 24) : amount.start]):
            continue
        if claim.kind == "code" and amount.text in asker.lower:
            continue
        if any(amount.agrees(one) for one in asker.figures) and _compares(claim.text, grounded):
            continue
        kind = "figure" if amount.measure in ("", "date") else "quantity"
        return f"the {kind} {amount.text} is not in {source_label(claim)}"
    return ""


def _compares(text: str, grounded: Sequence[bool]) -> bool:
    """Whether the answer may repeat a figure of the question: it denies or compares it."""
    return any(grounded) or bool(_COMPARED.search(text))


def _is_a_count(quantity: Quantity, claim: Claim) -> bool:
    """Whether it is a small number in words whose items the claim lists: `Two approve: A and B`."""
    if quantity.measure or not quantity.value.isdigit():
        return False
    parts = len(re.findall(r"[,;:]|\band\b|\bor\b", claim.text)) + 1
    return quantity.text.isalpha() and 1 <= int(quantity.value) <= max(2, parts)


def _sums(claim: Claim, amounts: Sequence[Quantity]) -> tuple[set[Quantity], str]:
    """(totals that the claim computes from its other figures, fault of a wrong total or '')."""
    excused: set[Quantity] = set()
    place = 0
    while place < len(amounts) - 1:
        terms = [amounts[place]]
        signs: list[str] = []
        while place + len(terms) < len(amounts):
            sign = _sign(claim.text, terms[-1], amounts[place + len(terms)])
            if not sign:
                break
            signs.append(sign)
            terms.append(amounts[place + len(terms)])
        place += len(terms)
        if not signs:
            continue
        total = _worked_out(terms, signs)
        if total is None:
            continue
        is_equal = place < len(amounts) and "=" in claim.text[terms[-1].end : amounts[place].start]
        in_parentheses = (
            claim.text[: terms[0].start].endswith("(") and claim.text[terms[-1].end :][:1] == ")"
        )
        if "-" in signs and not (is_equal or in_parentheses):
            continue
        other_amounts = [one for one in amounts if one not in terms]
        totals = [one for one in other_amounts if _is_total(one, total)]
        if is_equal and amounts[place] not in totals:
            sum_text = claim.text[terms[0].start : terms[-1].end]
            return excused, f"{sum_text} is not {amounts[place].text}"
        excused.update(totals)
    return excused, ""


def _totals_of_parts(
    claim: Claim, parts: Sequence[Quantity], amounts: Sequence[Quantity]
) -> set[Quantity]:
    """Totals of two grounded figures: `10 minutes and 20 more, so 30 minutes in all`."""
    if not _WORKED_OUT.search(claim.text):
        return set()
    pairs = list(combinations(_numbers(parts[:_MAX_TERMS]), 2))
    return {
        amount
        for amount, total in _numbers(amounts[:_MAX_TERMS])
        if any(_makes(total, amount, left, right) for left, right in pairs)
    }


def _shares_of_parts(
    claim: Claim, parts: Sequence[Quantity], amounts: Sequence[Quantity]
) -> set[Quantity]:
    """Shares of grounded figures: `15 days (25% of 60 days)`."""
    shares = {
        (whole.measure, float(share.value) * number / 100)
        for share, (whole, number) in product(parts[:_MAX_TERMS], _numbers(parts[:_MAX_TERMS]))
        if share.measure == "percent" and _OF.fullmatch(claim.text[share.end : whole.start])
    }
    return {
        one for one, number in _numbers(amounts[:_MAX_TERMS]) if (one.measure, number) in shares
    }


def _totals_in_parentheses(claim: Claim, amounts: Sequence[Quantity]) -> set[Quantity]:
    """Totals with their terms in parentheses: `8 points (4 for the size + 3 for leaving the EU + 1
    for the vendor)`. The sources must hold the terms like any other figure."""
    excused: set[Quantity] = set()
    for explained in _EXPLAINED.finditer(claim.text):
        terms = [_FIRST_FIGURE.search(term) for term in explained[1].split("+")]
        if all(terms):
            total = sum(float(term[0]) for term in terms if term)
            before = [one for one in amounts if one.end <= explained.start()]
            excused |= {one for one, number in _numbers(before[-1:]) if number == total}
    return excused


def _numbers(amounts: Sequence[Quantity]) -> list[tuple[Quantity, float]]:
    return [(one, float(one.value)) for one in amounts if one.value.replace(".", "", 1).isdigit()]


def _makes(
    total: float, amount: Quantity, left: tuple[Quantity, float], right: tuple[Quantity, float]
) -> bool:
    """Whether the total is the sum, difference or product of the two figures."""
    measures = {left[0].measure, right[0].measure}
    if measures == {amount.measure} and total in (left[1] + right[1], abs(left[1] - right[1])):
        return True
    return "" in measures and total == left[1] * right[1]


def _sign(text: str, left: Quantity, right: Quantity) -> str:
    between = text[left.end : right.start]
    if len(between) > 40 or "=" in between:
        return ""
    return next((sign for symbol, sign in _SIGNS.items() if symbol in between), "")


def _worked_out(terms: Sequence[Quantity], signs: Sequence[str]) -> tuple[float, float] | None:
    """(result in the written units, result in the base unit); None for terms without numbers."""
    try:
        as_written = [float(re.sub(r"[^\d.]", "", one.text) or one.value) for one in terms]
        in_base = [float(one.value) for one in terms]
    except ValueError:
        return None
    results = []
    for values in (as_written, in_base):
        result = values[0]
        for sign, value in zip(signs, values[1:], strict=True):
            result = _OPERATIONS[sign](result, value)
        results.append(result)
    return results[0], results[1]


def _is_total(quantity: Quantity, total: tuple[float, float]) -> bool:
    as_written = re.sub(r"[^\d.]", "", quantity.text).rstrip(".")
    candidates = {quantity.value, as_written}
    return any(_close(one, result) for one in candidates for result in total)


def _close(value: str, result: float) -> bool:
    return value.replace(".", "", 1).isdigit() and abs(float(value) - result) < 1e-6 * max(
        1, abs(result)
    )
