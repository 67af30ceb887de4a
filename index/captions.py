"""Showing why a passage was found: its best sentence or row, the question's words in bold."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from enrichment.language.words import TOKEN, search_terms
from index.search import Hit

MAX_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class Caption:
    text: str
    highlights: str
    """The same text with matched words between `**`."""


def caption(hit: Hit, question: str) -> Caption:
    """The unit that matched best, or the beginning of the passage."""
    units = hit.chunk.units
    text = (
        units[hit.unit].text if hit.unit is not None and hit.unit < len(units) else hit.chunk.text
    )
    shown = shorten(" ".join(text.split()))
    return Caption(text=shown, highlights=highlight(shown, frozenset(search_terms(question))))


def highlight(text: str, wanted: Collection[str]) -> str:
    """Words of `text` that share a search term, each between `**`."""

    def mark(match: re.Match[str]) -> str:
        word = match.group()
        return f"**{word}**" if any(term in wanted for term in search_terms(word)) else word

    return TOKEN.sub(mark, text.replace("**", ""))


def shorten(text: str, limit: int = MAX_CHARACTERS) -> str:
    if len(text) <= limit:
        return text
    return text[:limit].rsplit(" ", 1)[0] + "…"
