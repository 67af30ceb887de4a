"""Third-party tools: the port, offers, results and errors."""

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
    """One reply."""

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
