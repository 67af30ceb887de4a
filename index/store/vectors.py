"""Unpublished vectors in SQL, for deployments where several machines compute them.

A vector is stored as in a generation's folder; see `index.vectors.quantized`. Also a helper for
key-value tables, which are created at the first write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    LargeBinary,
    MetaData,
    Row,
    String,
    Table,
    delete,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from config.models import Vectors
from durable.database import batches, replace_row
from durable.migration import migrate
from index.vectors.quantized import Quantized, quantize


class KeyValueTable:
    """Reads and writes a table by primary key. The table must be the only one in its `MetaData`."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine, self._table = engine, table

    def keep(self, **values: Any) -> None:
        """Inserts a row and replaces one with the same key."""
        migrate(self._engine, self._table.metadata, self._table.name)
        with self._engine.begin() as connection:
            replace_row(connection, self._table, **values)

    def find(self, **key: Any) -> Row[Any] | None:
        """The row; None when it doesn't exist, the table doesn't exist or the database fails."""
        same = [column == key[column.name] for column in self._table.primary_key]
        try:
            with self._engine.connect() as connection:
                return connection.execute(select(self._table).where(*same)).first()
        except DBAPIError:
            return None


FORGOTTEN_AFTER = timedelta(days=7)
"""Age at which unpublished vectors are deleted; until then, a resumed run can use them."""

_METADATA = MetaData()
_VECTORS = Table(
    "index_unpublished_vectors",
    _METADATA,
    Column("domain", String(63), primary_key=True),
    Column("key", String(32), primary_key=True, comment="of the text and the embedding model"),
    Column("leading", LargeBinary, nullable=False),
    Column("trailing", LargeBinary, nullable=False),
    Column("scale", LargeBinary, nullable=False),
    Column("made_at", DateTime(timezone=True), nullable=False),
)


class UnpublishedVectors:
    """Unpublished vectors of one domain. Safe for several threads and processes."""

    def __init__(self, engine: Engine, domain: str) -> None:
        self._engine = engine
        self._domain = domain
        self._used: set[str] = set()
        migrate(engine, _METADATA, "index-unpublished")

    def __enter__(self) -> UnpublishedVectors:
        return self

    def __exit__(self, *_raised: object) -> None:
        """Does nothing: nothing stays open."""

    def lookup(self, keys: Sequence[str]) -> dict[str, Vectors]:
        vectors: dict[str, Vectors] = {}
        columns = (_VECTORS.c.key, _VECTORS.c.leading, _VECTORS.c.trailing, _VECTORS.c.scale)
        with self._engine.connect() as connection:
            for some in batches(keys):
                for row in connection.execute(
                    select(*columns).where(
                        _VECTORS.c.domain == self._domain, _VECTORS.c.key.in_(some)
                    )
                ):
                    quantized = Quantized(
                        np.frombuffer(row.leading, dtype=np.int8)[None],
                        np.frombuffer(row.trailing, dtype=np.int8)[None],
                        np.frombuffer(row.scale, dtype=np.float32),
                    )
                    vectors[row.key] = quantized.row(0)
        self._used.update(vectors)
        return vectors

    def append(self, vectors: Mapping[str, Vectors]) -> None:
        """Inserts vectors; existing keys stay unchanged."""
        if not vectors:
            return
        quantized = quantize(np.array(list(vectors.values()), dtype=np.float32))
        now = datetime.now(UTC)
        rows = [
            {
                "domain": self._domain,
                "key": key,
                "leading": quantized.leading[place].tobytes(),
                "trailing": quantized.trailing[place].tobytes(),
                "scale": quantized.scales[place : place + 1].tobytes(),
                "made_at": now,
            }
            for place, key in enumerate(vectors)
        ]
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(_VECTORS).on_conflict_do_nothing()
        with self._engine.begin() as connection:
            # Sorted: two transactions that insert the same keys in different orders would deadlock.
            connection.execute(statement, sorted(rows, key=lambda row: str(row["key"])))
        self._used.update(vectors)

    def discard(self) -> None:
        """Deletes the vectors used by this object, which are published, and old ones.

        Other processes may still be adding vectors."""
        mine = _VECTORS.c.domain == self._domain
        with self._engine.begin() as connection:
            for some in batches(sorted(self._used)):
                connection.execute(delete(_VECTORS).where(mine, _VECTORS.c.key.in_(some)))
            old = datetime.now(UTC) - FORGOTTEN_AFTER
            connection.execute(delete(_VECTORS).where(mine, _VECTORS.c.made_at < old))
        self._used.clear()
