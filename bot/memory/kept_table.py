"""How a table that holds something of people is purged, handed out and erased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Table


@dataclass(frozen=True, kw_only=True)
class KeptTable:
    """Names of columns. None of `people` is part of a key: they become `ERASED`."""

    table: Table
    at: str
    """When a row began, UTC without a zone; `retention.days` of its domain later it goes."""
    domain: str = "domain"
    people: tuple[str, ...] = ()
    """Slack user ids."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Column of words → the column of whose words they are; erased with that person."""
    question: str = ""
    """The question with which a row goes, if it goes with one."""
