"""Tables of the index, and the steps that bring an older database up to date."""

from __future__ import annotations

import time

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from config.errors import ConfigError

ATTEMPTS = 20
PAUSE_SECONDS = 0.1
metadata = MetaData()
RowId = BigInteger().with_variant(Integer, "sqlite")

versions = Table(
    "schema_versions",
    metadata,
    Column("part", String(64), primary_key=True),
    Column("version", Integer, nullable=False),
)

revisions = Table(
    "index_revisions",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=True),
    Column("domain", String(63), nullable=False),
    Column("document_id", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("card", Text, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("units", Integer, nullable=False),
    UniqueConstraint("domain", "document_id", "digest"),
)
"""One state of one document, never changed once written."""

chunks = Table(
    "index_chunks",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=True),
    Column(
        "revision_id", RowId, ForeignKey("index_revisions.id", ondelete="CASCADE"), nullable=False
    ),
    Column("ordinal", Integer, nullable=False),
    Column("payload", Text, nullable=False),
    Index("index_chunks_by_revision", "revision_id", "ordinal"),
)

generations = Table(
    "index_generations",
    metadata,
    Column("domain", String(63), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("embedder", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("documents", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("units", Integer, nullable=False),
    Column("embedded", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("cursors", Text, nullable=False),
)

members = Table(
    "index_members",
    metadata,
    Column("domain", String(63), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("revision_id", RowId, ForeignKey("index_revisions.id"), primary_key=True),
    Index("index_members_by_revision", "revision_id"),
)
"""Which revisions a generation consists of."""

current = Table(
    "index_current",
    metadata,
    Column("domain", String(63), primary_key=True),
    Column("number", Integer, nullable=False),
)
"""The one row whose change publishes a generation."""

STEPS: tuple[tuple[str, ...], ...] = ()
"""SQL that leads from version n + 1 to n + 2; version 1 is what `metadata` created first.
A new column goes into its table above and here as `ALTER TABLE …`."""


def migrate(
    engine: Engine,
    tables: MetaData = metadata,
    part: str = "index",
    steps: tuple[tuple[str, ...], ...] = STEPS,
) -> None:
    """Create what is missing and run the steps not yet taken.

    Safe to call from many processes: one that finds another at the same work looks again."""
    for _ in range(ATTEMPTS):
        try:
            return _migrate(engine, tables, part, steps)
        except DBAPIError as error:
            failure = error
            time.sleep(PAUSE_SECONDS)
    raise failure


def _migrate(
    engine: Engine, tables: MetaData, part: str, steps: tuple[tuple[str, ...], ...]
) -> None:
    wanted = len(steps) + 1
    versions.create(engine, checkfirst=True)
    with engine.connect() as connection:
        found = connection.scalar(select(versions.c.version).where(versions.c.part == part))
    if found is None:
        tables.create_all(engine, checkfirst=True)
        with engine.begin() as connection:
            connection.execute(insert(versions).values(part=part, version=wanted))
        return
    if found > wanted:
        raise ConfigError(
            f"the database's {part} tables are of version {found}, this program knows {wanted}",
            remedy="run the newer release, or another ONCALL_DATA_DIR or DATABASE_URL",
        )
    for version in range(found, wanted):
        with engine.begin() as connection:
            taken = connection.execute(
                update(versions)
                .where(versions.c.part == part, versions.c.version == version)
                .values(version=version + 1)
            )
            if taken.rowcount:
                for statement in steps[version - 1]:
                    connection.execute(text(statement))
