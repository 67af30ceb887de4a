"""Abbreviations a document explains: `Incident Commander (IC)`, `IC (Incident Commander)`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LONG_SHORT = re.compile(
    r"(?<![\w/&-])((?:[\w/&-]{1,40}+\s{1,3}+){1,7}[\w/&-]{1,40}+)\s{1,3}"
    r"\(([A-Z][A-Za-z0-9&-]{1,9})s?\)"
)
_SHORT_LONG = re.compile(
    r"\b([A-Z][A-Z0-9&-]{1,9})s?\s{1,3}"
    r"\(([A-Za-z][\w/&-]{0,40}+(?:\s{1,3}+[\w/&-]{1,40}+){0,6})\)"
)
_MOST = 100
"""More than this no document explains; each is looked for in every chunk."""
_SMALL_WORDS = frozenset({"a", "an", "and", "at", "by", "for", "in", "of", "on", "or", "the", "to"})


def abbreviations(text: str) -> dict[str, str]:
    """Short form → long form, first explanation wins. A pair counts only when initials agree.

    At most 100. Linear in the length of the text: words and gaps are bounded."""
    found: dict[str, str] = {}
    for match in _LONG_SHORT.finditer(text):
        if words := _explains(match[1].split(), match[2]):
            found.setdefault(match[2], " ".join(words))
    for match in _SHORT_LONG.finditer(text):
        words = match[2].split()
        if _explains(words, match[1]) == words:
            found.setdefault(match[1], match[2])
    return dict(list(found.items())[:_MOST])


def expansions(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The other form of each abbreviation that `text` has in one form only."""
    found: list[str] = []
    lower = text.lower()
    for short, long in known.items():
        has_short = short in text and re.search(rf"\b{re.escape(short)}s?\b", text) is not None
        has_long = long.lower() in lower
        if has_short != has_long:
            found.append(long if has_short else short)
    return tuple(found)


def _explains(words: list[str], short: str) -> list[str]:
    """The last words whose initials spell `short`, or none."""
    initials = re.sub(r"[^a-z0-9]", "", short.lower())
    for count in range(1, len(words) + 1):
        tail = words[-count:]
        parts = [part for word in tail for part in re.split(r"[/&-]", word) if part]
        spelled = "".join(part[0].lower() for part in parts)
        content = "".join(part[0].lower() for part in parts if part.lower() not in _SMALL_WORDS)
        if len(parts) > 1 and initials in (spelled, content):
            return tail
    return []
