"""Abbreviations a document explains: `Incident Commander (IC)`, `IC (Incident Commander)`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LONG_SHORT = re.compile(r"((?:[\w/&-]+\s+){1,7}?[\w/&-]+)\s+\(([A-Z][A-Za-z0-9&-]{1,9})s?\)")
_SHORT_LONG = re.compile(r"\b([A-Z][A-Z0-9&-]{1,9})s?\s+\(([A-Za-z][\w/&-]*(?:\s+[\w/&-]+){0,6})\)")
_SMALL_WORDS = frozenset({"a", "an", "and", "at", "by", "for", "in", "of", "on", "or", "the", "to"})


def abbreviations(text: str) -> dict[str, str]:
    """Short form → long form, first explanation wins. A pair counts only when initials agree."""
    found: dict[str, str] = {}
    for match in _LONG_SHORT.finditer(text):
        if words := _explains(match[1].split(), match[2]):
            found.setdefault(match[2], " ".join(words))
    for match in _SHORT_LONG.finditer(text):
        words = match[2].split()
        if _explains(words, match[1]) == words:
            found.setdefault(match[1], match[2])
    return found


def expansions(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The other form of each abbreviation that `text` has in one form only."""
    found: list[str] = []
    lower = text.lower()
    for short, long in known.items():
        has_short = re.search(rf"\b{re.escape(short)}s?\b", text) is not None
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
