"""What an administrator needs to understand one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.plan import Plan
from index.search import Hit


@dataclass(frozen=True, kw_only=True)
class SourceChoice:
    """The documents that can hold the answer."""

    documents: tuple[str, ...] = ()
    """Best first; empty: search all."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Document id → why it was chosen, or passed over."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The steps of one answer, as they were taken."""

    plan: Plan | None = None
    sources: SourceChoice = SourceChoice()
    hits: tuple[Hit, ...] = ()
    """Best first."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Chunk id → why it is not in the context."""
    notes: tuple[str, ...] = ()
    """What the agents had to say, in order: fallbacks, verification, the decision."""
