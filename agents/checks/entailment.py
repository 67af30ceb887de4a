"""Checks by words alone whether the cited sources support a claim, and says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.checks.claims import Claim, source_label
from agents.checks.figures import figure_fault
from agents.checks.statements import AskerTerms, CitedText
from agents.checks.table_cells import cell_fault
from enrichment.language.quantities import quantities
from enrichment.language.words import is_code, naming_words, stem, stems

COVERED = 0.5
"""Minimum share of a claim's naming words in the few statements that hold most of them."""
_WINDOW = 4
"""Statements that one claim may combine."""
_FRAGMENT = re.compile(r"[\s*_]*(?:yes|no|not)\b", re.IGNORECASE)
"""A verdict on the question, such as `Not double.`, may negate the question's words."""


def fault_of(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """Why the sources do not support the claim; '' when the words show no fault."""
    numbers = figure_fault(claim, evidence, asker)
    if numbers or claim.kind == "code":
        return numbers
    return (
        _name_fault(claim, evidence, asker)
        or _coverage_fault(claim, evidence, asker)
        or cell_fault(claim, evidence)
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
