"""Checks a claim's names and codes: each is in the cited sources, in this form or another one."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator

from agents.checks.claims import Claim, source_label
from agents.checks.statements import AskerTerms, CitedText
from enrichment.language.foreign_words import language_of
from enrichment.language.quantities import quantities, without_quantities
from enrichment.language.words import is_code, stem, stems

_WORD = re.compile(r"\w[\w./:+&'’@-]*")
_OPENS = (".", ":", "!", "?", "“", '"', "(", "|", "*", "—", "–", "-")
_NUMERONYM = re.compile(r"([a-z])(\d{1,2})([a-z])s?")
_LITERAL = re.compile(r"(?<!`)`([^`\s<>]{2,80})`(?!`)|(?<![\w`&#])[#@]([a-z][\w-]{2,80})\b")
"""Spelled as in the sources: code, channels, handles."""
_SIGNS = re.compile(r"[\W_]+")
_PARTS = re.compile(r"[/+&-]")
_CAPITALIZED = re.compile(r"[A-Z][\w’']*(?:[ -](?:of |and |for |the )?[A-Z][\w’']*)+")
_CALENDAR = frozenset(
    name.casefold()
    for names in (calendar.day_name, calendar.day_abbr, calendar.month_name, calendar.month_abbr)
    for name in names
)
_BEGINNING = 5
"""Letters that inflected and derived forms of one name share: `Europe`, `European`."""


def name_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """The first name or code that sources and question lack, as a reason; '' without one."""
    for name in map("".join, _LITERAL.findall(claim.text)):
        if not _is_verbatim(name.casefold(), evidence, asker):
            return f"the name {name!r} is not in {source_label(claim)}"
    text = _LITERAL.sub(" ", claim.text)
    for name in names_in(text, asker.language or evidence.language):
        if not _has(evidence, asker, name, text):
            return f"the name {name!r} is not in {source_label(claim)}"
    return ""


def _is_verbatim(lowered: str, evidence: CitedText, asker: AskerTerms) -> bool:
    """Whether a path may be put together from parts: each stands somewhere."""

    def has(part: str) -> bool:
        bare = _SIGNS.sub("", part)
        return part in evidence.lower or part in asker.lower or bare in evidence.joined

    name = lowered.lstrip("#@")
    return has(name) or ("/" in name and all(map(has, filter(None, name.split("/")))))


def names_in(text: str, language: str = "") -> Iterator[str]:
    """Codes, and capitalized words that do not open a sentence; outside English, where any noun
    may have a capital, only codes with a digit. `language`: that of the question or sources, where
    the text does not tell. No part of a figure or date is a name."""
    text = without_quantities(text, quantities(text))
    is_english = (language_of(text) or language) in ("", "English")
    opening = True
    for match in _WORD.finditer(text):
        word = match[0].rstrip(".:/'’-").removesuffix("'s").removesuffix("’s").strip("_")
        opens = opening or text[max(0, match.start() - 3) : match.start()].rstrip().endswith(_OPENS)
        opening = False
        if not word or word[0].isdigit() or word.casefold() in _CALENDAR:
            continue
        if (is_code(word) and (is_english or any(map(str.isdigit, word)))) or (
            is_english and not opens and word[0].isupper() and len(word) > 1 and stems(word)
        ):
            yield word


def _has(evidence: CitedText, asker: AskerTerms, name: str, text: str) -> bool:
    lowered = name.casefold()
    available = evidence.stems | asker.words
    if lowered in evidence.lower or lowered in asker.lower or stems(name) <= available:
        return True
    if name.isupper() or name[:-1].isupper():
        return _is_short_for(lowered, evidence) or _in_glossary(lowered, evidence, asker)
    return (
        _in_glossary(lowered, evidence, asker)
        or _is_spelled_otherwise(lowered, evidence, asker)
        or _is_written_out(name, text, evidence)
    )


def _in_glossary(lowered: str, evidence: CitedText, asker: AskerTerms) -> bool:
    own = stems(lowered)
    return any(
        any(own <= form for form in forms)
        and any(form <= evidence.stems and not own <= form for form in forms)
        for forms in (*asker.same, *evidence.same)
    )


def _is_short_for(letters: str, evidence: CitedText) -> bool:
    """Whether the source spells out an abbreviation: `MFA`, `multi-factor authentication`."""
    if numeronym := _NUMERONYM.fullmatch(letters):
        first, count, last = numeronym.groups()
        return any(
            len(word) == int(count) + 2 and word[0] == first and word[-1] == last
            for word in evidence.words
        )
    letters = letters.removesuffix("s")
    return letters in evidence.lower or (len(letters) > 1 and letters in evidence.initials)


def _is_spelled_otherwise(lowered: str, evidence: CitedText, asker: AskerTerms) -> bool:
    """`SEV-1` for `SEV1`, `Front End` for `frontend`, `Hungarian` for `Hungary`, `A/B` for both."""
    if _SIGNS.sub("", lowered) in evidence.joined:
        return True
    parts = [part for part in _PARTS.split(lowered) if part]
    if any(map(str.isdigit, lowered)):
        return len(parts) > 1 and all(
            part in evidence.words or part in asker.lower for part in parts
        )
    available = evidence.stems | asker.words
    matches = [
        len(part) == 1
        or stem(part) in available
        or not stems(part)
        or (len(part) >= _BEGINNING and part[:_BEGINNING] in evidence.beginnings)
        for part in parts
    ]
    return sum(matches) >= (2 if len(matches) > 2 else 1)


def _is_written_out(name: str, text: str, evidence: CitedText) -> bool:
    """Whether the source has the initials of the phrase: `PO` for `Privacy Officer`."""
    for phrase in _CAPITALIZED.finditer(text):
        if name in phrase[0]:
            initials = "".join(re.findall(r"\b[A-Z]", phrase[0])).casefold()
            if len(initials) > 1 and initials in evidence.words:
                return True
    return False
