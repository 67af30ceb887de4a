"""Creates and migrates tables while other processes, also of other releases, use them.

Expand, then contract. An expanding step only adds things that older programs can ignore, so old and
new workers run side by side. A release later a contracting step removes unused things, and names
the oldest program version that works without them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Row,
    String,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import ConfigError
from durable.database import replace_row

ATTEMPTS = 20
PAUSE_SECONDS = 0.05
_LOCK = 5052
"""Advisory lock for the whole database; the leases' locks are hashes of names."""


class _Base(DeclarativeBase):
    pass


class VersionRow(_Base):
    __tablename__ = "schema_versions"
    part: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[int]


class FloorRow(_Base):
    __tablename__ = "schema_floors"
    part: Mapped[str] = mapped_column(String(64), primary_key=True)
    oldest: Mapped[int] = mapped_column(comment="version of a program that may go on")


_TAKES_AWAY = re.compile(
    r"\b(DROP|TRUNCATE|RENAME|UNIQUE|ADD\s+CONSTRAINT|SET\s+NOT\s+NULL|TYPE)\b"
    r"|\bADD\b(?!.*\bDEFAULT\b).*\bNOT\s+NULL\b",
    re.IGNORECASE | re.DOTALL,
)
"""SQL that can break the inserts or columns of programs that don't know of it."""


@dataclass(frozen=True)
class Step:
    """Migrates the tables of a part to the next version; see `expanding` and `contracting`."""

    statements: tuple[str, ...]
    """SQL for both PostgreSQL and SQLite, run in one transaction."""
    oldest: int = 1
    """Version of the oldest program that still works after it."""


def expanding(*statements: str) -> Step:
    """Adds tables, indexes, or columns that are nullable or have a default. Programs of any version
    keep working. Raises ValueError for a statement that can break them."""
    for statement in statements:
        if match := _TAKES_AWAY.search(statement):
            raise ValueError(f"{match[0]!r} breaks older programs: contract a release later")
    return Step(statements)


def contracting(*statements: str, oldest: int) -> Step:
    """Removes what programs from version `oldest` on don't use; older programs are refused."""
    return Step(statements, oldest)


def migrate(engine: Engine, tables: MetaData, part: str, steps: Sequence[Step] = ()) -> None:
    """Create a part's tables, or run the steps that its database hasn't run yet.

    `steps[n]` leads from version n + 1 to n + 2; version 1 is the first form of `tables`. A new
    database starts with the current `tables`, so a step's DEFAULT must also be the column's
    `server_default`. All or nothing, one process at a time. Raises ConfigError when a contracting
    step has removed what this program needs."""
    target = len(steps) + 1
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with engine.connect() as connection:
                current = _current_version(connection, part)
            if current is None or current < target:
                with _alone(engine) as connection:
                    _bring_up(connection, tables, part, steps)
                    _refuse_if_too_old(connection, part, target)
            elif current > target:
                with engine.connect() as connection:
                    _refuse_if_too_old(connection, part, target)
            return
        except DBAPIError:
            # A release without the lock created the same tables, or a table was in use too long.
            if attempt == ATTEMPTS:
                raise
            time.sleep(PAUSE_SECONDS)


def _current_version(connection: Connection, part: str) -> int | None:
    if not set(_Base.metadata.tables).issubset(inspect(connection).get_table_names()):
        return None
    version: int | None = connection.scalar(
        select(VersionRow.version).where(VersionRow.part == part)
    )
    return version


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A transaction under a lock: one process per database at a time."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            # ALTER TABLE waits for readers, and all other statements wait behind it: a short limit.
            connection.execute(text("SET LOCAL lock_timeout = '2s'"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        else:
            # Python's driver begins at the first INSERT, which would exclude CREATE TABLE.
            connection.execute(text("BEGIN IMMEDIATE"))
        yield connection


def _bring_up(connection: Connection, tables: MetaData, part: str, steps: Sequence[Step]) -> None:
    _Base.metadata.create_all(connection, checkfirst=True)
    current, target = _current_version(connection, part), len(steps) + 1
    if current is None:
        # Releases without version numbers created these tables in their first form.
        is_old = not set(tables.tables).isdisjoint(inspect(connection).get_table_names())
        tables.create_all(connection, checkfirst=True)
        current = 1 if is_old else target
        connection.execute(insert(VersionRow).values(part=part, version=current))
    for version, step in enumerate(steps[current - 1 :], start=current + 1):
        for statement in step.statements:
            connection.execute(text(statement))
        raise_version = update(VersionRow).where(VersionRow.part == part).values(version=version)
        connection.execute(raise_version)
    oldest = max((step.oldest for step in steps), default=1)
    if current <= target and oldest > 1:
        replace_row(connection, FloorRow, part=part, oldest=oldest)


def _refuse_if_too_old(connection: Connection, part: str, version: int) -> None:
    oldest = connection.scalar(select(FloorRow.oldest).where(FloorRow.part == part)) or 1
    if oldest > version:
        raise ConfigError(
            f"the database's {part} tables need a program of version {oldest} or later, and this "
            f"one is of version {version}",
            remedy="run the newer release, or another ONCALL_DATA_DIR or DATABASE_URL",
        )


class KeyValueTable:
    """Reads and writes rows by primary key, and creates the table at the first write. It must be
    the only one of its base."""

    def __init__(self, engine: Engine, row: type[DeclarativeBase]) -> None:
        self._engine, self._row = engine, row

    def keep(self, **values: Any) -> None:
        """Inserts a row and replaces one with the same key."""
        migrate(self._engine, self._row.metadata, self._row.__tablename__)
        with self._engine.begin() as connection:
            replace_row(connection, self._row, **values)

    def find(self, **key: Any) -> Row[Any] | None:
        """The row; None when it doesn't exist, the table doesn't exist or the database fails."""
        try:
            with self._engine.connect() as connection:
                return connection.execute(select(self._row).filter_by(**key)).first()
        except DBAPIError:
            return None
