"""What the answerer may ask of others, and what they said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from config.errors import CopilotError

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
    """A tool gave nothing to answer from. The answerer goes on without it, and says so."""

    def __init__(self, server: str, kind: ToolFailure) -> None:
        super().__init__(f"{server} could not be asked: {_WHY[kind]}")
        self.kind = kind
        self.why = _WHY[kind]


@dataclass(frozen=True, kw_only=True)
class ToolOffer:
    """One tool of one server, allowed by the domain and marked by the server as reading."""

    server: str
    """As the domain file names it."""
    tool: str
    what: str
    """As the domain file says."""
    description: str = ""
    """The server's own words."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """Of its arguments, as the server has it."""
    reachable: bool = True
    """False: it could not be asked what it takes; to ask it is to hear that."""

    @property
    def name(self) -> str:
        """What the model calls it by."""
        return f"{self.server}.{self.tool}"


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """One reply."""

    offer: ToolOffer
    arguments: str
    """JSON."""
    text: str
    at: datetime
    """UTC."""


class Toolbox(Protocol):
    """All servers of one domain. Thread-safe."""

    def offers(self) -> Sequence[ToolOffer]:
        """Raises nothing."""
        ...

    def ask(self, offer: ToolOffer, arguments: Mapping[str, Any]) -> str:
        """What it said, bounded. Raises ToolFailed."""
        ...
