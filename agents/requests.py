"""Lookups that an answerer may request: passages by words, a section by heading, the neighbors of
a source, and third-party tools where the domain allows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

MAX_REQUESTS = 4
_MAX_LINE_CHARS = 300
_LINE = re.compile(r"[\s*+>-]*+(?:\d{1,2}[.)]\s*+)?`?(find|open|around)`?\s*+[:=]\s*+(.+)", re.I)
_ASK = re.compile(r"[\s*+>-]*+(?:\d{1,2}[.)]\s*+)?`?ask`?\s*+[:=]\s*+([^{]+)(\{.*)?", re.I)
_NUMBER = re.compile(r"\d{1,3}")
_QUOTES = "`\"'“”‘’*_ \t"


@dataclass(frozen=True, kw_only=True)
class LookupRequest:
    """One lookup with its parameters."""

    tool: Literal["find", "open", "around", "ask"]
    words: str = ""
    """find: what to search for. open: the heading; empty: the document's beginning.
    ask: the tool."""
    document: str = ""
    """Title or id; find: empty searches all."""
    number: int = 0
    """around: of the source, from 1."""
    arguments: str = ""
    """ask: JSON, as the model wrote it."""

    def __str__(self) -> str:
        if self.tool == "ask":
            return f"ask: {self.words} {self.arguments}".rstrip()
        if self.tool == "around":
            return f"around: {self.number}"
        if self.tool == "open":
            return f"open: {self.document} › {self.words}".removesuffix(" › ")
        return f"find: {self.words}" + (f" | {self.document}" if self.document else "")


def requests_in(text: str, *, may_ask: bool = False) -> tuple[LookupRequest, ...]:
    """Parses lines `find: words | document`, `open: document › heading` and `around: n`, each once,
    at most four; other lines are ignored. `may_ask`: also `ask: tool {arguments}`."""
    requests = (_read(line, may_ask) for line in _lines(text))
    return tuple(islice(dict.fromkeys(one for one in requests if one), MAX_REQUESTS))


def _read(line: str, may_ask: bool) -> LookupRequest | None:
    if match := _LINE.match(line):
        return _request(match[1].lower(), match[2])
    if may_ask and (match := _ASK.match(line)):
        tool = match[1].strip(_QUOTES)
        arguments = (match[2] or "").rstrip("`* \t")
        return LookupRequest(tool="ask", words=tool, arguments=arguments) if tool else None
    return None


def _lines(text: str) -> Iterator[str]:
    return islice((line[:_MAX_LINE_CHARS] for line in text.splitlines() if line.strip()), 40)


def _request(tool: str, rest: str) -> LookupRequest | None:
    if tool == "around":
        number = _NUMBER.search(rest)
        return LookupRequest(tool="around", number=int(number[0])) if number else None
    if tool == "open":
        document, _, heading = rest.replace(" > ", " › ").replace(" | ", " › ").partition("›")
        name = document.strip(_QUOTES)
        return (
            LookupRequest(tool="open", document=name, words=heading.strip(_QUOTES))
            if name
            else None
        )
    words, _, document = rest.partition("|")
    query = words.strip(_QUOTES)
    return (
        LookupRequest(tool="find", words=query, document=document.strip(_QUOTES)) if query else None
    )
