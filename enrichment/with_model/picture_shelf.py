"""Pictures that wait for a model to describe them, in the state database: whoever prepares a
document has not loaded it, and its pictures can't be fetched for long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    LargeBinary,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from config.models import ShownPicture
from durable.migration import migrate

_METADATA = MetaData()
_WAITING = Table(
    "ingest_pictures",
    _METADATA,
    Column("digest", String(64), primary_key=True),
    Column("media_type", String(40), nullable=False),
    Column("picture", LargeBinary, nullable=False),
    Column("kept_at", DateTime(timezone=True), nullable=False),
)
_LONGEST = timedelta(days=30)
"""A run whose budget is spent leaves some to the next; what nobody came for is of no use."""


class PictureShelf:
    """Safe to use from several threads and processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        migrate(engine, _METADATA, "ingest-pictures")
        old = _WAITING.c.kept_at < datetime.now(UTC) - _LONGEST
        with engine.begin() as connection:
            connection.execute(delete(_WAITING).where(old))

    def keep(self, picture: ShownPicture) -> None:
        row = {
            "media_type": picture.media_type,
            "picture": picture.data,
            "kept_at": datetime.now(UTC),
        }
        known = _WAITING.c.digest == picture.digest
        try:
            with self._engine.begin() as connection:
                if not connection.execute(update(_WAITING).where(known).values(row)).rowcount:
                    connection.execute(insert(_WAITING).values(digest=picture.digest, **row))
        except IntegrityError:
            return  # another process kept the same a moment ago

    def find(self, digest: str) -> ShownPicture | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(_WAITING).where(_WAITING.c.digest == digest)).first()
        if row is None:
            return None
        return ShownPicture(media_type=row.media_type, data=row.picture, digest=digest)

    def clear(self, digest: str) -> None:
        """It is described, and needed no more."""
        with self._engine.begin() as connection:
            connection.execute(delete(_WAITING).where(_WAITING.c.digest == digest))
