"""Tables of the index, and the steps that bring those of an older release up to date."""

from __future__ import annotations

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
)

from durable.migration import Step, migrate

metadata = MetaData()
RowId = BigInteger().with_variant(Integer, "sqlite")

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

STEPS: tuple[Step, ...] = ()
"""A new column goes into its table above and here, as `expanding("ALTER TABLE … ADD COLUMN …")`."""


def create_index_tables(engine: Engine) -> None:
    """Safe when several processes start at once."""
    migrate(engine, metadata, "index", STEPS)
