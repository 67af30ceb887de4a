"""The SQL database (SQLite in the data folder, or PostgreSQL by URL), and the ingestion lock.

The lock allows one ingestion run at a time for each domain, across threads, processes and machines.
This module also defines the index tables and their migrations."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import structlog
from sqlalchemy import (
    BigInteger,
    DateTime,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    create_engine,
    event,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import ConfigError, DatabaseAway
from config.parsing.secret_files import private_file, private_folder
from config.settings import Settings
from durable.connections import (
    end,
    postgres_engine,
    refuse_shared_sessions,
)
from durable.failures import REFUSED, UNREACHABLE, storage_failure
from durable.migration import Step, expanding, migrate

log = structlog.get_logger()

BUSY_SECONDS = 30
FILE_NAME = "oncall.db"


def open_database(settings: Settings) -> Engine:
    """A connected engine. Raises ConfigError when the database can't be reached, StorageFailed
    when it is damaged or its disk is full."""
    engine = _postgresql(settings) if settings.database_url else _sqlite(settings)
    try:
        engine.connect().close()
        if settings.database_url:
            refuse_shared_sessions(engine)
    except (DBAPIError, ConfigError) as error:
        end(engine)
        if isinstance(error, ConfigError):
            raise
        if "unsupported startup parameter" in str(error.orig):
            raise ConfigError(
                "DATABASE_URL leads to a pooler",
                remedy="set DATABASE_DIRECT_URL to PostgreSQL itself",
            ) from error
        failure = storage_failure(error, [settings.data_dir / FILE_NAME])
        if failure and failure.problem not in {UNREACHABLE, REFUSED}:
            raise failure from error
        where = engine.url.render_as_string(hide_password=True)
        other = "DATABASE_DIRECT_URL" if settings.database_direct_url else "ONCALL_DATA_DIR"
        words = f": {failure.words}" if isinstance(failure, DatabaseAway) else ""
        raise ConfigError(
            f"cannot open the database {where}{words}", remedy=f"check DATABASE_URL and {other}"
        ) from error
    return engine


def _postgresql(settings: Settings) -> Engine:
    direct = settings.database_direct_url
    return postgres_engine(
        _address("DATABASE_URL", settings.database_url or ""),
        connections=settings.database_connections,
        direct_url=_address("DATABASE_DIRECT_URL", direct) if direct else None,
    )


def _address(variable: str, value: str) -> URL:
    try:
        url = make_url(value)
    except (ArgumentError, ValueError) as error:  # a port that is no number
        raise ConfigError(
            f"{variable} is not a database URL", remedy="write postgresql://user@host/name"
        ) from error
    if url.get_backend_name() not in {"postgresql", "postgres"}:
        raise ConfigError(
            f"{variable} names {url.get_backend_name()!r}",
            remedy="use postgresql://…, or leave it out for SQLite",
        )
    if "@" in (url.host or ""):  # what follows the first one is of the password: it is not quoted
        raise ConfigError(
            f"{variable} has an @ in its name or password", remedy="write it there as %40"
        )
    return url


def _sqlite(settings: Settings) -> Engine:
    file = private_file(private_folder(settings.data_dir) / FILE_NAME)
    engine = create_engine(
        f"sqlite:///{file}", connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        # Overwrite deleted data with zeros instead of only freeing its pages.
        cursor.execute("PRAGMA secure_delete=ON")
        cursor.close()

    return engine


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Sets WAL mode: readers continue while one process writes; commits survive a crash.

    If another process does the same to a new file, SQLite reports a lock at once, whatever the
    timeout; so this function retries."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def scrub(file: Path) -> None:
    """Erases deleted data from a SQLite file and its write-ahead log. Others may use it meanwhile.

    Deleted text survives in free pages, in gaps within pages and in the write-ahead log."""
    _rewrite(file, "VACUUM")


def truncate_log(file: Path) -> None:
    """Erases data from a SQLite file's write-ahead log that was deleted with `secure_delete`."""
    _rewrite(file)


def _rewrite(file: Path, *statements: str) -> None:
    if not file.exists():
        return
    try:
        with closing(
            sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
        ) as connection:
            for statement in statements:
                connection.execute(statement)
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        log.warning("deleted rows may still be in the file", file=str(file), cause=str(error))
        return
    if busy:
        log.warning("deleted rows may still be in the write-ahead log", file=str(file))


RowId = Annotated[
    int,
    mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    ),
]
"""SQLite numbers rows of INTEGER keys only."""


class _Base(DeclarativeBase):
    pass


class RevisionRow(_Base):
    """A version of a document; a row never changes."""

    __tablename__ = "index_revisions"
    __table_args__ = (UniqueConstraint("domain", "document_id", "digest"),)
    id: Mapped[RowId]
    domain: Mapped[str] = mapped_column(String(63))
    document_id: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(String(64))
    card: Mapped[str] = mapped_column(Text)
    chunks: Mapped[int]
    units: Mapped[int]


class ChunkRow(_Base):
    __tablename__ = "index_chunks"
    __table_args__ = (Index("index_chunks_by_revision", "revision_id", "ordinal"),)
    id: Mapped[RowId]
    revision_id: Mapped[int] = mapped_column(ForeignKey("index_revisions.id", ondelete="CASCADE"))
    ordinal: Mapped[int]
    payload: Mapped[str] = mapped_column(Text)


class GenerationRow(_Base):
    __tablename__ = "index_generations"
    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    embedder: Mapped[str] = mapped_column(Text)
    dimensions: Mapped[int]
    documents: Mapped[int]
    chunks: Mapped[int]
    units: Mapped[int]
    embedded: Mapped[int]
    seconds: Mapped[float] = mapped_column(Float)
    cursors: Mapped[str] = mapped_column(Text)
    manifest: Mapped[str | None] = mapped_column(Text, comment="address in the index store")


class MemberRow(_Base):
    """A revision of a generation."""

    __tablename__ = "index_members"
    __table_args__ = (Index("index_members_by_revision", "revision_id"),)
    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    revision_id: Mapped[int] = mapped_column(ForeignKey("index_revisions.id"), primary_key=True)


class CurrentRow(_Base):
    """The current generation of a domain; changing the row publishes another one."""

    __tablename__ = "index_current"
    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    number: Mapped[int]


class _WithdrawnBase(DeclarativeBase):
    """Migration part `index-withdrawn`."""


class WithdrawnRow(_WithdrawnBase):
    """A document that the current generation lacks and an earlier one had."""

    __tablename__ = "index_withdrawn"
    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    document_id: Mapped[str] = mapped_column(Text, primary_key=True)
    withdrawn_at: Mapped[datetime] = mapped_column(comment="UTC")


STEPS: tuple[Step, ...] = (expanding("ALTER TABLE index_generations ADD COLUMN manifest TEXT"),)
"""Add a new column to its table above and here, as
`expanding("ALTER TABLE … ADD COLUMN …")`."""


def create_index_tables(engine: Engine) -> None:
    """Creates or migrates the tables. Safe when several processes start at once."""
    migrate(engine, _Base.metadata, "index", STEPS)
    migrate(engine, _WithdrawnBase.metadata, "index-withdrawn")
