"""Where the expected quotes stand in a passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+")
_LONGEST_QUOTE = 400
"""Words; a longer one is marked up to there."""


def marked_places(text: str, quotes: Iterable[str]) -> list[tuple[int, int]]:
    """Where the quotes stand in a text, markup and white space aside: (start, end) in characters,
    in order, none overlapping."""
    found: list[tuple[int, int]] = []
    for quote in quotes:
        words = _WORD.findall(quote)[:_LONGEST_QUOTE]
        if not words:
            continue
        pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?!\w)"
        found += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return _apart(sorted(found))


def _apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in places:
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return kept
