"""Checks by words alone whether the cited sources support a claim, and says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from agents.checks.claims import Claim
from agents.checks.polarity import is_not, operators_fault
from agents.checks.statements import CitedStatement, CitedText
from agents.checks.table_cells import cell_fault
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import is_code, naming_words, stem, stems, tokens

COVERED = 0.5
"""Minimum share of a claim's naming words in the few statements that hold most of them."""
_CLOSER = 0.34
"""Minimum lead of a statement with another value before the claim is taken to mean that value."""
_MAX_TERMS = 8
"""Figures of one claim that are tried as terms of a sum."""
_WINDOW = 4
"""Statements that one claim may combine."""
_CONDITION = re.compile(
    r"\b(?:unless|except(?:\s(?:for|when|if|in|where))?|only\s(?:if|when|where|after|with|for|in|on"
    r"|by|during|to)|provided(?:\sthat)?|as\slong\sas|but\snot)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(r"[\s*_]*(?:yes|no|not)\b", re.IGNORECASE)
"""A verdict on the question, such as `Not double.`, may negate the question's words."""
_DENIED = re.compile(
    r"(?:\bnot|\binstead of|\brather than|\bnor)\s+(?:the\s+|just\s+)?$", re.IGNORECASE
)
"""`10 minutes, not 15` does not claim the second figure."""
_EXPLAINED = re.compile(r"\(([^()+]{1,80}(?:\+[^()+]{1,80}){1,8})\)")
_FIRST_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,4})?")
_OF = re.compile(r"\s+of(?: the| those| these)?\s+")
_WORKED_OUT = re.compile(
    r"\b(?:in all|altogether|in total|total(?:s|ling)?|together|so|makes|sum|leaves?|left)\b|=",
    re.IGNORECASE,
)
_ELSEWHERE = 0.4
"""A statement that shares less than this with a claim is about something else."""
_QUOTED_WORDS = 3
_QUOTED_SHARE = 0.8
"""Minimum shared words for a near-verbatim repetition, in which a condition must not be lost."""


@dataclass(frozen=True)
class AskerTerms:
    """Words, figures and synonyms that an answer may take from the question and the glossary."""

    words: frozenset[str]
    lower: str
    figures: tuple[Quantity, ...]
    same: Mapping[str, frozenset[str]]
    """Stem → stems of its equivalents in the glossary."""


def asker_terms(text: str, glossary: Mapping[str, Sequence[str]]) -> AskerTerms:
    same: dict[str, frozenset[str]] = {}
    for abbreviation, meanings in glossary.items():
        forms = stems(" ".join((abbreviation, *meanings)))
        for word in forms:
            same[word] = same.get(word, frozenset()) | forms
    return AskerTerms(stems(text), text.casefold(), quantities(text), same)


def fault_of(claim: Claim, evidence: CitedText, asker: AskerTerms, answer: frozenset[str]) -> str:
    """Why the sources do not support the claim; '' when the words show no fault."""
    numbers = _figure_fault(claim, evidence, asker)
    if numbers or claim.kind == "code":
        return numbers
    return (
        _name_fault(claim, evidence, asker)
        or _coverage_fault(claim, evidence, asker)
        or cell_fault(claim, evidence)
        or _misplaced_value_fault(claim, evidence)
        or _misplaced_name_fault(claim, evidence)
        or operators_fault(claim.text, evidence, answer)
        or _condition_fault(claim, evidence, asker, answer)
    )


def _figure_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    amounts = quantities(claim.text)
    grounded = [evidence.has(amount) for amount in amounts]
    excused, wrong = _sums(claim, amounts)
    if wrong:
        return wrong
    grounded_amounts = [
        one for one, is_grounded in zip(amounts, grounded, strict=True) if is_grounded
    ]
    excused |= _totals_of_parts(
        claim, [*grounded_amounts, *asker.figures], amounts
    ) | _shares_of_parts(claim, grounded_amounts, amounts)
    excused |= _totals_in_parentheses(claim, amounts)
    for amount, is_grounded in zip(amounts, grounded, strict=True):
        if is_grounded or amount in excused or _is_a_count(amount, claim):
            continue
        if _DENIED.search(claim.text[max(0, amount.start - 24) : amount.start]):
            continue
        if claim.kind == "code" and amount.written in asker.lower:
            continue
        if any(amount.agrees(one) for one in asker.figures) and _compares(claim.text, grounded):
            continue
        kind = "figure" if amount.measure in ("", "date") else "quantity"
        return f"the {kind} {amount.written} is not in {_source_label(claim)}"
    return ""


def _compares(text: str, grounded: Sequence[bool]) -> bool:
    """Whether the answer may repeat a figure of the question: it denies or compares it."""
    words = [token.casefold() for token in tokens(text)]
    return any(grounded) or any(
        is_not(word) or word in ("too", "exceeds", "above", "over") for word in words
    )


def _is_a_count(quantity: Quantity, claim: Claim) -> bool:
    """Whether it is a small number in words whose items the claim lists: `Three roles approve: A, B
    and C`."""
    if quantity.measure or not quantity.value.isdigit():
        return False
    parts = len(re.findall(r"[,;:]|\band\b|\bor\b", claim.text)) + 1
    return quantity.written.isalpha() and 1 <= int(quantity.value) <= max(2, parts)


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
        is_shown = (
            claim.text[: terms[0].start].endswith("(") and claim.text[terms[-1].end :][:1] == ")"
        )
        if "-" in signs and not (is_equal or is_shown):
            continue
        other_amounts = [one for one in amounts if one not in terms]
        totals = [one for one in other_amounts if _is_total(one, total)]
        if is_equal and amounts[place] not in totals:
            return (
                excused,
                f"{claim.text[terms[0].start : terms[-1].end]} is not {amounts[place].written}",
            )
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
    total: float,
    amount: Quantity,
    left: tuple[Quantity, float],
    right: tuple[Quantity, float],
) -> bool:
    """Whether the total is the sum, difference or product of the two figures."""
    measures = {left[0].measure, right[0].measure}
    if measures == {amount.measure} and total in (left[1] + right[1], abs(left[1] - right[1])):
        return True
    return "" in measures and total == left[1] * right[1]


def _sign(text: str, left: Quantity, right: Quantity) -> str:
    between = text[left.end : right.start]
    if len(between) > 40:
        return ""
    for sign, symbol in (
        ("+", "+"),
        ("x", "×"),
        ("x", "*"),
        ("x", " x "),
        ("-", " - "),
        ("-", " − "),
        ("-", " – "),
    ):
        if symbol in between and "=" not in between:
            return sign
    return ""


def _worked_out(terms: Sequence[Quantity], signs: Sequence[str]) -> tuple[float, float] | None:
    """(result in the written units, result in the base unit); None for terms without numbers."""
    try:
        as_written = [float(re.sub(r"[^\d.]", "", one.written) or one.value) for one in terms]
        in_base = [float(one.value) for one in terms]
    except ValueError:
        return None
    results = []
    for values in (as_written, in_base):
        result = values[0]
        for sign, value in zip(signs, values[1:], strict=True):
            result = (
                result + value if sign == "+" else result * value if sign == "x" else result - value
            )
        results.append(result)
    return results[0], results[1]


def _is_total(quantity: Quantity, total: tuple[float, float]) -> bool:
    as_written = re.sub(r"[^\d.]", "", quantity.written).rstrip(".")
    candidates = {quantity.value, as_written}
    return any(_close(one, result) for one in candidates for result in total)


def _close(value: str, result: float) -> bool:
    return value.replace(".", "", 1).isdigit() and abs(float(value) - result) < 1e-6 * max(
        1, abs(result)
    )


def _name_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    for name in _names(_without_dates(claim.text)):
        lowered = name.casefold()
        if lowered in evidence.lower or lowered in asker.lower:
            continue
        parts = stems(name)
        available = evidence.stems | asker.words
        if not is_code(name) and parts and parts <= available:
            continue
        if is_code(name) and name.isalpha() and (parts & available or _initials(name, evidence)):
            continue
        if "-" in name and not any(map(str.isdigit, name)):
            pieces = [stem(one.casefold()) for one in name.split("-") if len(one) > 1]
            min_pieces = len(pieces) if len(pieces) > 2 else 1
            if (
                sum(one in available or one[:5] in evidence.beginnings for one in pieces)
                >= min_pieces
            ):
                continue
        if any(asker.same.get(part, frozenset()) & evidence.stems for part in (*parts, lowered)):
            continue
        return f"the name {name!r} is not in {_source_label(claim)}"
    return ""


def _without_dates(text: str) -> str:
    """Replaces dates with spaces: a month is no name."""
    for one in quantities(text):
        if one.measure == "date":
            text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _names(text: str) -> Iterator[str]:
    """Codes, and capitalized words that do not open a sentence."""
    opening = True
    for match in re.finditer(r"[\w][\w./:+&'’@-]*", text):
        word = match[0].rstrip(".:/'’-")
        before = text[max(0, match.start() - 3) : match.start()].rstrip()
        opens = opening or before.endswith(
            (".", ":", "!", "?", "“", '"', "(", "|", "*", "—", "–", "-")
        )
        opening = False
        if not word or word[0].isdigit():
            continue
        if is_code(word):
            yield word
        elif not opens and word[0].isupper() and len(word) > 1 and stems(word):
            yield word.removesuffix("'s").removesuffix("’s")


def _initials(name: str, evidence: CitedText) -> bool:
    """Whether the source spells out an abbreviation: `MFA`, `multi-factor authentication`."""
    letters = name.casefold()
    parts = re.findall(r"[a-z0-9]+", evidence.lower)
    initials = "".join(part[0] for part in parts)
    return len(letters) > 1 and letters in initials


def _coverage_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    words = naming_words(_without_dates(claim.text))
    naming = {word for word in words if not word.isdigit() and len(word) > 1}
    own = {word for word in naming if word in evidence.stems or word not in asker.words}
    if not own or (len(own) == 1 and _FRAGMENT.match(claim.text)):
        return ""
    share = len(own & _window(frozenset(own), evidence, asker)) / len(own)
    if share >= COVERED:
        return ""
    missing = [surface for word, surface in words.items() if word in own]
    absent = [word for word in missing if stem(word) not in evidence.stems][:4] or missing[:4]
    return f"{_source_label(claim)} does not say this: {', '.join(absent)}"


def _window(own: frozenset[str], evidence: CitedText, asker: AskerTerms) -> frozenset[str]:
    """The words that a few statements together hold, in these or similar forms."""
    covered: set[str] = set(own & evidence.place)
    for word in own - evidence.stems:
        is_similar = len(word) >= 5 and word[:5] in evidence.beginnings
        if is_similar or asker.same.get(word, frozenset()) & evidence.stems:
            covered.add(word)
    remaining = own & evidence.stems
    for _ in range(_WINDOW):
        ranked = evidence.overlap(remaining)
        if not ranked:
            break
        best = max(ranked, key=lambda place: ranked[place])
        covered |= remaining & evidence.statements[best].stems
        remaining -= evidence.statements[best].stems
    return frozenset(covered)


def _misplaced_value_fault(claim: Claim, evidence: CitedText) -> str:
    """Fault: the source has the value for something other than the claim's subject."""
    amounts = [one for one in quantities(claim.text) if one.measure and one.measure != "date"]
    for amount in amounts:
        around = stems(f"{claim.around} {claim.text[: amount.start]} {claim.text[amount.end :]}")
        around = frozenset(word for word in around if not word[0].isdigit())
        ranked = evidence.overlap(around)
        with_it = max(
            (
                ranked.get(place, 0.0)
                for place, one in enumerate(evidence.statements)
                if _has(one, amount)
            ),
            default=None,
        )
        if with_it is None:
            continue
        for place, share in ranked.items():
            number = evidence.statements[place].number
            other = _instead(evidence.statements[place], amount, amounts)
            if other and share - with_it > _CLOSER:
                return f"source {number} has {other.written} here, not {amount.written}"
    return ""


def _misplaced_name_fault(claim: Claim, evidence: CitedText) -> str:
    """Fault: the source has the name for something other than the claim says."""
    names = {
        stem(name.casefold()): name
        for name in _names(_without_dates(claim.text))
        if not is_code(name)
    }
    whole = frozenset(
        word for word in stems(f"{claim.around} {claim.text}") if not word[0].isdigit()
    )
    for word, name in names.items():
        if word not in evidence.stems or word in evidence.place:
            continue
        ranked = evidence.overlap(whole - {word})
        holding = [place for place, one in enumerate(evidence.statements) if word in one.stems]
        with_it = max((ranked.get(place, 0.0) for place in holding), default=None)
        if with_it is None:
            continue
        for place, share in ranked.items():
            statement = evidence.statements[place]
            if statement.table is None and share >= _QUOTED_SHARE and with_it < _ELSEWHERE:
                rivals = [
                    one
                    for one in _names(statement.text)
                    if stem(one.casefold()) not in whole and not is_code(one)
                ]
                if rivals:
                    return f"source {statement.number} says this of {rivals[0]!r}, not of {name!r}"
    return ""


def _has(statement: CitedStatement, amount: Quantity) -> bool:
    return any(amount.agrees(other) for other in statement.quantities)


def _instead(
    statement: CitedStatement, amount: Quantity, amounts: Sequence[Quantity]
) -> Quantity | None:
    """Another value of the same measure that the claim does not also state."""
    same_measure = [one for one in statement.quantities if one.measure == amount.measure]
    if not same_measure or any(one.agrees(each) for one in same_measure for each in amounts):
        return None
    return same_measure[0]


def _condition_fault(
    claim: Claim, evidence: CitedText, asker: AskerTerms, answer: frozenset[str]
) -> str:
    claim_words = frozenset(word for word in stems(claim.text) if not word[0].isdigit())
    if len(claim_words) < _QUOTED_WORDS or claim.cells:
        return ""
    excused = asker.words | stems(" ".join(answer)) | evidence.place
    for statement in evidence.statements:
        if statement.table is not None or len(claim_words & statement.stems) < _QUOTED_SHARE * len(
            claim_words
        ):
            continue
        for remainder, condition in _conditions_in(statement.text):
            whole, rest = stems(condition), stems(remainder)
            if not whole or len(whole - excused) <= len(whole) / 2:
                continue
            if len(claim_words & rest) >= max(2, 0.6 * len(rest)):
                return f"source {statement.number} says this only so far: {condition.strip()}"
    return ""


def _conditions_in(text: str) -> Iterator[tuple[str, str]]:
    """(rest of the clause, condition) for each condition such as `unless` or `except`."""
    for part in re.split(r"[;.]\s", text):
        for match in _CONDITION.finditer(part):
            condition = re.split(r", (?!and|or)", part[match.start() :], maxsplit=1)[0]
            yield part[: match.start()] + part[match.start() + len(condition) :], condition


def _source_label(claim: Claim) -> str:
    numbers = claim.numbers
    return (
        f"source {numbers[0]}" if len(numbers) == 1 else "sources " + ", ".join(map(str, numbers))
    )
