"""What an answerer may request: passages by words, a section by heading, the neighbors of a source,
and third-party tools where the domain allows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Literal, Protocol

from config.errors import CopilotError

MAX_REQUESTS = 4
_MAX_LINE_CHARS = 300
_MARKS = r"[\s*_+>•\"'`{\[(<-]*+(?:\d{1,2}[.)]\s*+)?(?:LOOK\b[\s*_`:.=—–-]*+)?[\s*_\"'`{\[(<-]*+"
"""Before a request: bullets, numbers, quotes, the verdict."""
_LINE = re.compile(_MARKS + r"(find|open|around)\b[\"'`*_]*+\s*+([:：=(>—–-])\s*+(.+)", re.I)
_BARE = re.compile(_MARKS + r"(find|open|around|FIND|OPEN|AROUND)[\"'`*_>]*+\s++()(.+)")
_ASK = re.compile(_MARKS + r"ask\b[\"'`*_>]*+\s*+[:：=(—–-]\s*+([^{]+)(\{.*)?", re.I)
_QUOTED = re.compile(r"\"([^\"]*)\"|“([^”]*)”")
_NUMBER = re.compile(r"\d{1,3}")
_QUOTES = "`\"'“”‘’*_ \t"
_CLOSERS = re.compile(r"(?:</\w{1,20}>|[\s,;}`\"'*])++$")
"""Behind a request in JSON, a tag or code."""


@dataclass(frozen=True, kw_only=True)
class LookupRequest:
    tool: Literal["find", "open", "around", "ask"]
    words: str = ""
    """find: the search. open: the heading; '': the document's beginning. ask: the tool."""
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
    lines = [*_lines(text)]
    requests = [one for one in (_read(line, may_ask) for line in lines) if one]
    if not requests:
        bare = filter(None, map(_BARE.match, lines))
        requests = [one for one in (_request(each[1].lower(), each[3]) for each in bare) if one]
    return tuple(islice(dict.fromkeys(requests), MAX_REQUESTS))


def is_request(line: str) -> bool:
    """Whether a line has the form of a request, its tool in lower case."""
    match = _LINE.match(line)
    return bool(match and match[1].islower() and match[2] == ":")


def _read(line: str, may_ask: bool) -> LookupRequest | None:
    if match := _LINE.match(line):
        return _request(match[1].lower(), match[3], is_call=match[2] == "(")
    if may_ask and (match := _ASK.match(line)):
        tool = match[1].strip(_QUOTES)
        arguments = (match[2] or "").rstrip("`* \t")
        return LookupRequest(tool="ask", words=tool, arguments=arguments) if tool else None
    return None


def _lines(text: str) -> Iterator[str]:
    return islice((line[:_MAX_LINE_CHARS] for line in text.splitlines() if line.strip()), 40)


def _request(tool: str, rest: str, *, is_call: bool = False) -> LookupRequest | None:
    rest = _CLOSERS.sub("", rest)
    if is_call:
        values = [one or other for one, other in _QUOTED.findall(f'{rest.rstrip(") ")}"')]
        rest = " | ".join(filter(None, values)) or rest.rstrip(")")
    if tool == "around":
        number = _NUMBER.search(rest)
        return LookupRequest(tool="around", number=int(number[0])) if number else None
    if tool == "open":
        names = rest.replace(" > ", " › ").replace(" | ", " › ").partition("›")
        document, heading = names[0].strip(_QUOTES), names[2].strip(_QUOTES)
        return LookupRequest(tool="open", document=document, words=heading) if document else None
    query, _, document = (part.strip(_QUOTES) for part in rest.partition("|"))
    return LookupRequest(tool="find", words=query, document=document) if query else None


ToolFailure = Literal["timeout", "unreachable", "refused", "too_large", "changed", "misshapen"]

_WHY: Mapping[ToolFailure, str] = {
    "timeout": "it did not answer in time",
    "unreachable": "it could not be reached",
    "refused": "it answered with an error",
    "too_large": "its answer was too long",
    "changed": "it no longer offers that tool as it did, or not as one that only reads",
    "misshapen": "its answer could not be read",
}


class ToolFailed(CopilotError):
    """A tool returned nothing. The answer does without it and says so."""

    def __init__(self, server: str, kind: ToolFailure) -> None:
        super().__init__(f"{server} could not be asked: {_WHY[kind]}")
        self.kind = kind
        self.why = _WHY[kind]


@dataclass(frozen=True, kw_only=True)
class ToolOffer:
    """One tool of one server, allowed by the domain and marked read-only by the server."""

    server: str
    """Name in the domain file."""
    tool: str
    what: str
    """Description in the domain file."""
    description: str = ""
    """The server's description."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of the arguments, from the server."""
    reachable: bool = True
    """False: its schema could not be read; a call fails."""

    @property
    def name(self) -> str:
        """The tool's name for the model."""
        return f"{self.server}.{self.tool}"


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    offer: ToolOffer
    arguments: str
    """JSON."""
    text: str
    at: datetime
    """UTC."""


class Toolbox(Protocol):
    """The servers of one domain. Thread-safe."""

    def offers(self) -> Sequence[ToolOffer]:
        """Raises nothing."""
        ...

    def ask(self, offer: ToolOffer, arguments: Mapping[str, Any]) -> str:
        """The result's text, bounded. Raises ToolFailed."""
        ...
