"""Statements that all stores use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar, cast

import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Engine, Table, delete, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase

from config.errors import StorageFailed

log = structlog.get_logger()


_T = TypeVar("_T")


def now() -> datetime:
    """UTC without a zone: SQLite and PostgreSQL store it the same."""
    return naive_utc(datetime.now(UTC))


def naive_utc(moment: datetime) -> datetime:
    """An aware time as `now` gives it."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def table_of(mapped: type[DeclarativeBase]) -> Table:
    return cast("Table", mapped.__table__)


def batches(values: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """Lists short enough for one statement of any database, which limits its bound values."""
    remaining = list(values)
    for first in range(0, len(remaining), size):
        yield remaining[first : first + size]


def insert_once(engine: Engine, row: type[DeclarativeBase], /, **values: object) -> bool:
    """Insert a row in a transaction of its own. False, and no change, where its key exists."""
    try:
        with engine.begin() as connection:
            connection.execute(insert(row).values(**values))
    except IntegrityError:
        return False
    return True


def replace_row(
    connection: Connection, table: Table | type[DeclarativeBase], /, **values: object
) -> None:
    """Insert a row in place of the one with the same primary key, within a transaction."""
    core = table if isinstance(table, Table) else table_of(table)
    same = [column == values[column.name] for column in core.primary_key]
    connection.execute(delete(core).where(*same))
    connection.execute(insert(core).values(**values))


def read_stored(adapter: TypeAdapter[_T], text: str, what: str) -> _T:
    """A value from its stored JSON. Raises StorageFailed, which quotes none of it: pydantic's error
    would carry people's words into the log."""
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        problem = f"a stored {what} can't be read: {error.error_count()} wrong fields"
    raise StorageFailed(problem, remedy="it may be of another release")
