"""Shared code of the bot's tables: batches of ids, the time, and how a table with
personal data is purged, exported and erased."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from sqlalchemy import Table
from sqlalchemy.orm import DeclarativeBase

_BATCH_SIZE = 500


@dataclass(frozen=True, kw_only=True)
class PersonalTable:
    """Names of columns. None of `people` is part of a key: they become `ERASED`."""

    table: Table
    at: str
    """The column with the time of a row, UTC without a zone; the row is deleted `retention.days` of
    its domain later."""
    domain: str = "domain"
    people: tuple[str, ...] = ()
    """Slack user ids."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Column of text → the column of its author; erased with that person."""
    question: str = ""
    """Column of the question id whose deletion deletes the row; empty: none."""


def table_of(mapped: type[DeclarativeBase]) -> Table:
    return cast("Table", mapped.__table__)


def now() -> datetime:
    """UTC without a zone: SQLite and PostgreSQL store it the same."""
    return datetime.now(UTC).replace(tzinfo=None)


def batches(ids: Iterable[str]) -> Iterator[list[str]]:
    """Lists short enough for one statement of any database."""
    remaining = list(ids)
    for first in range(0, len(remaining), _BATCH_SIZE):
        yield remaining[first : first + _BATCH_SIZE]
