"""Checks by words alone whether the cited sources support a claim, and says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.checks.claims import Claim, source_label
from agents.checks.figures import figure_fault
from agents.checks.polarity import operators_fault
from agents.checks.statements import AskerTerms, CitedStatement, CitedText
from agents.checks.table_cells import cell_fault
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import is_code, naming_words, stem, stems

COVERED = 0.5
"""Minimum share of a claim's naming words in the few statements that hold most of them."""
_CLOSER = 0.34
"""Minimum lead of a statement with another value before the claim is taken to mean that value."""
_WINDOW = 4
"""Statements that one claim may combine."""
_CONDITION = re.compile(
    r"\b(?:unless|except(?:\s(?:for|when|if|in|where))?|only\s(?:if|when|where|after|with|for|in|on"
    r"|by|during|to)|provided(?:\sthat)?|as\slong\sas|but\snot)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(r"[\s*_]*(?:yes|no|not)\b", re.IGNORECASE)
"""A verdict on the question, such as `Not double.`, may negate the question's words."""
_ELSEWHERE = 0.4
"""A statement that shares less than this with a claim is about something else."""
_QUOTED_WORDS = 3
_QUOTED_SHARE = 0.8
"""Minimum shared words for a near-verbatim repetition, in which a condition must not be lost."""


def fault_of(claim: Claim, evidence: CitedText, asker: AskerTerms, answer: frozenset[str]) -> str:
    """Why the sources do not support the claim; '' when the words show no fault."""
    numbers = figure_fault(claim, evidence, asker)
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
            matches = sum(one in available or one[:5] in evidence.beginnings for one in pieces)
            if matches >= min_pieces:
                continue
        if any(asker.same.get(part, frozenset()) & evidence.stems for part in (*parts, lowered)):
            continue
        return f"the name {name!r} is not in {source_label(claim)}"
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
    return f"{source_label(claim)} does not say this: {', '.join(absent)}"


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
        around = f"{claim.around} {claim.text[: amount.start]} {claim.text[amount.end :]}"
        ranked = evidence.overlap(_stems_without_figures(around))
        holding = [
            place
            for place, one in enumerate(evidence.statements)
            if any(amount.agrees(other) for other in one.quantities)
        ]
        with_it = max((ranked.get(place, 0.0) for place in holding), default=None)
        if with_it is None:
            continue
        for place, share in ranked.items():
            number = evidence.statements[place].number
            other = _instead(evidence.statements[place], amount, amounts)
            if other and share - with_it > _CLOSER:
                return f"source {number} has {other.text} here, not {amount.text}"
    return ""


def _misplaced_name_fault(claim: Claim, evidence: CitedText) -> str:
    """Fault: the source has the name for something other than the claim says."""
    names = {
        stem(name.casefold()): name
        for name in _names(_without_dates(claim.text))
        if not is_code(name)
    }
    whole = _stems_without_figures(f"{claim.around} {claim.text}")
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


def _stems_without_figures(text: str) -> frozenset[str]:
    return frozenset(word for word in stems(text) if not word[0].isdigit())


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
    claim_words = _stems_without_figures(claim.text)
    if len(claim_words) < _QUOTED_WORDS or claim.cells:
        return ""
    excused = asker.words | stems(" ".join(answer)) | evidence.place
    for statement in evidence.statements:
        shared = len(claim_words & statement.stems)
        if statement.table is not None or shared < _QUOTED_SHARE * len(claim_words):
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
