"""Loaded documents that wait for somebody, and what came of them, in the state database.

One that was read once is not read again: not by the process that prepares it, not by the run that
goes on where another stopped."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from config.errors import CopilotError, LoadError
from durable.migration import migrate
from enrichment.chunk import Chunk, DocumentCard
from enrichment.llm.pictures import PictureReport
from enrichment.llm.tables import TableReport
from enrichment.pipeline import Enriched
from jobs.ingest.executors import Prepared, Way
from loaders.document import Document

COMPRESSION = 1
ROWS_AT_ONCE = 200

_METADATA = MetaData()
_LOADED = Table(
    "ingest_loaded",
    _METADATA,
    Column("domain", String(63), primary_key=True),
    Column("document_id", Text, primary_key=True),
    Column("digest", String(64), nullable=False, comment="of what it holds and is known of it"),
    Column("content_hash", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("deaths", Integer, nullable=False, comment="processes that began and never finished it"),
)
_PREPARED = Table(
    "ingest_prepared",
    _METADATA,
    Column("domain", String(63), primary_key=True),
    Column("document_id", Text, primary_key=True),
    Column("way", String(16), primary_key=True),
    Column(
        "digest", String(64), nullable=False, comment="of the loaded document, and the pipeline"
    ),
    Column("result", LargeBinary, nullable=False),
)


class _Result(BaseModel):
    """An `Enriched`, or why there is none."""

    card: DocumentCard | None = None
    chunks: tuple[Chunk, ...] = ()
    calls: int = 0
    cached: int = 0
    failures: tuple[str, ...] = ()
    tables: TableReport = TableReport()
    pictures: PictureReport = PictureReport()
    reason: str = ""
    place: str = ""
    remedy: str = ""
    embedded: int = 0
    of_the_run: bool = False
    """The reason concerns more than this document."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A document as its source had it."""

    document: Document
    digest: str
    deaths: int = 0


@cache
def _documents() -> TypeAdapter[Document]:
    return TypeAdapter(Document)


_URI = re.compile(rb'"uri":"(?:[^"\\]|\\.)*"')
"""Of a picture in JSON: whoever holds it can fetch the picture, and Google gives another each time.
Within a text its quotation marks would be escaped."""


class PreparationStore:
    """Of one domain. Safe to use from several threads and processes."""

    def __init__(self, engine: Engine, domain: str) -> None:
        self._engine = engine
        self._domain = domain
        migrate(engine, _METADATA, "ingest-handed-over")

    def keep(self, document: Document) -> str:
        """Its digest. How many died over it stays on record while it is the same."""
        payload = _URI.sub(b'"uri":""', _documents().dump_json(document))
        digest = hashlib.sha256(payload).hexdigest()
        row = {
            "digest": digest,
            "content_hash": document.content_hash,
            "version": document.version,
            "document": zlib.compress(payload, COMPRESSION),
        }
        with self._engine.begin() as connection:
            stored_digest = connection.scalar(self._of(_LOADED, document.id, _LOADED.c.digest))
            if stored_digest is None:
                key = {"domain": self._domain, "document_id": document.id}
                connection.execute(insert(_LOADED).values(**key, **row, deaths=0))
            elif stored_digest != digest:
                connection.execute(
                    update(_LOADED).where(*self._row(_LOADED, document.id)).values(**row, deaths=0)
                )
        return digest

    def loaded(self, document_id: str) -> Loaded | None:
        with self._engine.connect() as connection:
            row = connection.execute(
                self._of(
                    _LOADED, document_id, _LOADED.c.document, _LOADED.c.digest, _LOADED.c.deaths
                )
            ).first()
        if row is None:
            return None
        document = _documents().validate_json(zlib.decompress(row.document))
        return Loaded(document=document, digest=row.digest, deaths=row.deaths)

    def versions(self) -> dict[str, tuple[str, str]]:
        """(content hash, version) of all that are kept, by id."""
        columns = (_LOADED.c.document_id, _LOADED.c.content_hash, _LOADED.c.version)
        with self._engine.connect() as connection:
            rows = connection.execute(select(*columns).where(_LOADED.c.domain == self._domain))
            return {row.document_id: (row.content_hash, row.version) for row in rows}

    def begin(self, document_id: str) -> None:
        """Whoever doesn't come back to `finish` died over it."""
        deaths = _LOADED.c.deaths
        with self._engine.begin() as connection:
            connection.execute(
                update(_LOADED).where(*self._row(_LOADED, document_id)).values(deaths=deaths + 1)
            )

    def finish(self, prepared: Prepared, digest: str) -> None:
        """`digest`: of what it was made from, and how; of a failure, also by which run."""
        row = {
            "domain": self._domain,
            "document_id": prepared.document,
            "way": prepared.way,
            "digest": digest,
            "result": _packed(prepared),
        }
        row_filter = (*self._row(_PREPARED, prepared.document), _PREPARED.c.way == prepared.way)
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(_PREPARED).where(*row_filter))
                connection.execute(insert(_PREPARED).values(row))
        except IntegrityError:
            return  # another process finished the same a moment ago

    def clear(self, document_id: str) -> None:
        """It did no harm."""
        with self._engine.begin() as connection:
            connection.execute(
                update(_LOADED).where(*self._row(_LOADED, document_id)).values(deaths=0)
            )

    def completed(self, digests: Mapping[tuple[str, Way], Collection[str]]) -> list[Prepared]:
        """Those of (id, way) → digests that are ready."""
        ready, keys = [], list(digests)
        at = tuple_(_PREPARED.c.document_id, _PREPARED.c.way)
        with self._engine.connect() as connection:
            for start in range(0, len(keys), ROWS_AT_ONCE):
                some = keys[start : start + ROWS_AT_ONCE]
                rows = connection.execute(
                    select(_PREPARED).where(_PREPARED.c.domain == self._domain, at.in_(some))
                )
                ready += [
                    _unpacked(row.document_id, row.way, row.result)
                    for row in rows
                    if row.digest in digests[row.document_id, row.way]
                ]
        return ready

    def is_finished(self, document_id: str, way: Way, digest: str) -> bool:
        query = self._of(_PREPARED, document_id, _PREPARED.c.digest)
        with self._engine.connect() as connection:
            return bool(connection.scalar(query.where(_PREPARED.c.way == way)) == digest)

    def forget_prepared(self, results: Collection[tuple[str, Way]]) -> None:
        """(id, way) of what is published."""
        at = tuple_(_PREPARED.c.document_id, _PREPARED.c.way)
        self._forget(_PREPARED, at, sorted(results))

    def forget_all_but(self, documents: Collection[str]) -> None:
        """What nobody will ask for again."""
        unneeded = self.versions().keys() - set(documents)
        self._forget(_LOADED, _LOADED.c.document_id, sorted(unneeded))
        with self._engine.begin() as connection:
            mine = _PREPARED.c.domain == self._domain
            loaded = select(_LOADED.c.document_id).where(_LOADED.c.domain == self._domain)
            connection.execute(
                delete(_PREPARED).where(mine, _PREPARED.c.document_id.not_in(loaded))
            )

    def _forget(self, table: Table, column: Any, values: Sequence[Any]) -> None:
        with self._engine.begin() as connection:
            for start in range(0, len(values), ROWS_AT_ONCE):
                some = column.in_(values[start : start + ROWS_AT_ONCE])
                connection.execute(delete(table).where(table.c.domain == self._domain, some))

    def _of(self, table: Table, document_id: str, *columns: Any) -> Any:
        return select(*columns).where(*self._row(table, document_id))

    def _row(self, table: Table, document_id: str) -> tuple[Any, Any]:
        return table.c.domain == self._domain, table.c.document_id == document_id


def _packed(prepared: Prepared) -> bytes:
    enriched = prepared.enriched
    match enriched:
        case LoadError():
            result = _Result(reason=enriched.reason, place=enriched.place, remedy=enriched.remedy)
        case CopilotError():
            result = _Result(reason=enriched.problem, remedy=enriched.remedy, of_the_run=True)
        case _:
            result = _Result(
                card=enriched.card,
                chunks=enriched.chunks,
                calls=enriched.calls,
                cached=enriched.cached,
                failures=enriched.failures,
                tables=enriched.tables,
                pictures=enriched.pictures,
                embedded=prepared.embedded,
            )
    return zlib.compress(result.model_dump_json().encode(), COMPRESSION)


def _unpacked(document_id: str, way: Way, packed: bytes) -> Prepared:
    result = _Result.model_validate_json(zlib.decompress(packed))
    enriched: Enriched | CopilotError
    if result.of_the_run:
        enriched = CopilotError(result.reason, remedy=result.remedy)
    elif result.card is None:
        enriched = LoadError(document_id, result.reason, place=result.place, remedy=result.remedy)
    else:
        enriched = Enriched(
            card=result.card,
            chunks=result.chunks,
            calls=result.calls,
            cached=result.cached,
            failures=result.failures,
            tables=result.tables,
            pictures=result.pictures,
        )
    return Prepared(document=document_id, way=way, enriched=enriched, embedded=result.embedded)
