"""Unpublished vectors in SQL, for deployments where several machines compute them.

A vector is stored as in a generation's folder; see `index.vectors.quantized`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from sqlalchemy import DateTime, Engine, String, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.models import Vectors
from durable.database import batches
from durable.migration import migrate
from index.vectors.quantized import Quantized, quantize

FORGOTTEN_AFTER = timedelta(days=7)
"""Age at which unpublished vectors are deleted; until then, a resumed run can use them."""


class _Base(DeclarativeBase):
    pass


class VectorRow(_Base):
    __tablename__ = "index_unpublished_vectors"
    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    key: Mapped[str] = mapped_column(
        String(32), primary_key=True, comment="of the text and the embedding model"
    )
    leading: Mapped[bytes]
    trailing: Mapped[bytes]
    scale: Mapped[bytes]
    made_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class UnpublishedVectors:
    """Unpublished vectors of one domain. Safe for several threads and processes."""

    def __init__(self, engine: Engine, domain: str) -> None:
        self._engine = engine
        self._domain = domain
        self._used: set[str] = set()
        migrate(engine, _Base.metadata, "index-unpublished")

    def __enter__(self) -> UnpublishedVectors:
        return self

    def __exit__(self, *_raised: object) -> None:
        """Does nothing: nothing stays open."""

    def lookup(self, keys: Sequence[str]) -> dict[str, Vectors]:
        vectors: dict[str, Vectors] = {}
        columns = (VectorRow.key, VectorRow.leading, VectorRow.trailing, VectorRow.scale)
        with self._engine.connect() as connection:
            for some in batches(keys):
                query = select(*columns).filter_by(domain=self._domain)
                for row in connection.execute(query.where(VectorRow.key.in_(some))):
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
        statement = dialect.insert(VectorRow).on_conflict_do_nothing()
        with self._engine.begin() as connection:
            # Sorted: two transactions that insert the same keys in different orders would deadlock.
            connection.execute(statement, sorted(rows, key=lambda row: str(row["key"])))
        self._used.update(vectors)

    def discard(self) -> None:
        """Deletes the vectors used by this object, which are published, and old ones.

        Other processes may still be adding vectors."""
        mine = VectorRow.domain == self._domain
        with self._engine.begin() as connection:
            for some in batches(sorted(self._used)):
                connection.execute(delete(VectorRow).where(mine, VectorRow.key.in_(some)))
            old = datetime.now(UTC) - FORGOTTEN_AFTER
            connection.execute(delete(VectorRow).where(mine, VectorRow.made_at < old))
        self._used.clear()
