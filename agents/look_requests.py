"""What an answerer may ask for: passages by words, a section by its heading, what stands beside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

MOST_REQUESTS = 4
_LONGEST_WORDS = 300
_LINE = re.compile(r"[\s*+>-]*+(?:\d{1,2}[.)]\s*+)?`?(find|open|around)`?\s*+[:=]\s*+(.+)", re.I)
_NUMBER = re.compile(r"\d{1,3}")
_QUOTES = "`\"'“”‘’*_ \t"


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """One tool and what it is to do; nothing else is a tool."""

    tool: Literal["find", "open", "around"]
    words: str = ""
    """find: what to search for. open: the heading; empty: the document's beginning."""
    document: str = ""
    """Title or id; find: empty searches all."""
    number: int = 0
    """around: of the source, from 1."""

    def __str__(self) -> str:
        if self.tool == "around":
            return f"around: {self.number}"
        if self.tool == "open":
            return f"open: {self.document} › {self.words}".removesuffix(" › ")
        return f"find: {self.words}" + (f" | {self.document}" if self.document else "")


def requests_in(text: str) -> tuple[LookRequest, ...]:
    """The lines `find: words | document`, `open: document › heading` and `around: n`, each once,
    at most four; other lines say nothing."""
    found = (
        _request(match[1].lower(), match[2]) for match in map(_LINE.match, _lines(text)) if match
    )
    return tuple(islice(dict.fromkeys(one for one in found if one), MOST_REQUESTS))


def _lines(text: str) -> Iterator[str]:
    return islice((line[:_LONGEST_WORDS] for line in text.splitlines() if line.strip()), 40)


def _request(tool: str, rest: str) -> LookRequest | None:
    if tool == "around":
        number = _NUMBER.search(rest)
        return LookRequest(tool="around", number=int(number[0])) if number else None
    if tool == "open":
        document, _, heading = rest.replace(" > ", " › ").replace(" | ", " › ").partition("›")
        named = document.strip(_QUOTES)
        return (
            LookRequest(tool="open", document=named, words=heading.strip(_QUOTES))
            if named
            else None
        )
    words, _, document = rest.partition("|")
    sought = words.strip(_QUOTES)
    return (
        LookRequest(tool="find", words=sought, document=document.strip(_QUOTES)) if sought else None
    )
