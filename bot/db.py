"""What the tables of the bot share: the time, batches of ids, and how a table that holds something
of people is purged, handed out and erased."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Table

_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class PersonalTable:
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


def now() -> datetime:
    """UTC without a zone: what both SQLite and PostgreSQL keep alike."""
    return datetime.now(UTC).replace(tzinfo=None)


def batches(ids: Iterable[str]) -> Iterator[list[str]]:
    """Few enough at a time for any database."""
    held = list(ids)
    for first in range(0, len(held), _AT_ONCE):
        yield held[first : first + _AT_ONCE]
