"""Stores loaded documents until they are prepared, and the results, in the state database; and
quarantines documents that crash the process.

Each document is read from its source once: neither the preparing process nor a continued run reads
it again."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from pydantic import BaseModel, TypeAdapter
from sqlalchemy import Engine, String, Text, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import CopilotError, LoadError
from durable.database import batches, replace_row
from durable.migration import migrate
from enrichment.chunk import Chunk, DocumentCard
from enrichment.llm.pictures import PictureReport
from enrichment.llm.tables import TableReport
from enrichment.pipeline import Enriched
from jobs.ingest.executors import Prepared, Way
from loaders.document import Document

COMPRESSION = 1
ROWS_AT_ONCE = 200


class _Base(DeclarativeBase):
    pass


class LoadedRow(_Base):
    __tablename__ = "ingest_loaded"

    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    document_id: Mapped[str] = mapped_column(Text, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), comment="of what it holds and is known of it")
    content_hash: Mapped[str] = mapped_column(Text)
    version: Mapped[str] = mapped_column(Text)
    document: Mapped[bytes]
    deaths: Mapped[int] = mapped_column(comment="processes that began and never finished it")


class PreparedRow(_Base):
    __tablename__ = "ingest_prepared"

    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    document_id: Mapped[str] = mapped_column(Text, primary_key=True)
    way: Mapped[str] = mapped_column(String(16), primary_key=True)
    digest: Mapped[str] = mapped_column(
        String(64), comment="of the loaded document, and the pipeline"
    )
    result: Mapped[bytes]


class _Result(BaseModel):
    """An `Enriched`, or the reason there is none."""

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
    """The reason concerns the whole run."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A stored document, as loaded from its source."""

    document: Document
    digest: str
    deaths: int = 0


@cache
def _documents() -> TypeAdapter[Document]:
    return TypeAdapter(Document)


_URI = re.compile(rb'"uri":"(?:[^"\\]|\\.)*"')
"""A picture's address in JSON. Anyone who has it can fetch the picture, and Google issues a new one
each time. Inside a text its quotation marks would be escaped."""


class PreparationStore:
    """Serves one domain. Safe to use from several threads and processes."""

    def __init__(self, engine: Engine, domain: str) -> None:
        self._engine = engine
        self._domain = domain
        migrate(engine, _Base.metadata, "ingest-handed-over")

    def keep(self, document: Document) -> str:
        """Store a document; returns its digest. An unchanged document keeps its count of deaths."""
        payload = _URI.sub(b'"uri":""', _documents().dump_json(document))
        digest = hashlib.sha256(payload).hexdigest()
        row = {
            "digest": digest,
            "content_hash": document.content_hash,
            "version": document.version,
            "document": zlib.compress(payload, COMPRESSION),
        }
        key = self._key(document.id)
        with self._engine.begin() as connection:
            stored_digest = connection.scalar(select(LoadedRow.digest).filter_by(**key))
            if stored_digest is None:
                connection.execute(insert(LoadedRow).values(**key, **row, deaths=0))
            elif stored_digest != digest:
                change = update(LoadedRow).filter_by(**key)
                connection.execute(change.values(**row, deaths=0))
        return digest

    def loaded(self, document_id: str) -> Loaded | None:
        with self._engine.connect() as connection:
            query = select(LoadedRow).filter_by(**self._key(document_id))
            row = connection.execute(query).first()
        if row is None:
            return None
        document = _documents().validate_json(zlib.decompress(row.document))
        return Loaded(document=document, digest=row.digest, deaths=row.deaths)

    def versions(self) -> dict[str, tuple[str, str]]:
        """Document id → (content hash, version)."""
        columns = (LoadedRow.document_id, LoadedRow.content_hash, LoadedRow.version)
        with self._engine.connect() as connection:
            rows = connection.execute(select(*columns).where(LoadedRow.domain == self._domain))
            return {row.document_id: (row.content_hash, row.version) for row in rows}

    def begin(self, document_id: str) -> None:
        """Count a process death in advance; `clear` resets the count."""
        self._set_deaths(document_id, LoadedRow.deaths + 1)

    def finish(self, prepared: Prepared, digest: str) -> None:
        """Store a result. `digest` covers the input and the way; for a failure also the run."""
        result = _packed(prepared)
        try:
            with self._engine.begin() as connection:
                key = self._key(prepared.document)
                replace_row(
                    connection, PreparedRow, **key, way=prepared.way, digest=digest, result=result
                )
        except IntegrityError:
            return  # another process has just stored the same result

    def clear(self, document_id: str) -> None:
        """Reset the count of deaths."""
        self._set_deaths(document_id, 0)

    def completed(self, digests: Mapping[tuple[str, Way], Collection[str]]) -> list[Prepared]:
        """Returns stored results. `digests`: (id, way) → acceptable digests."""
        ready: list[Prepared] = []
        at = tuple_(PreparedRow.document_id, PreparedRow.way)
        with self._engine.connect() as connection:
            for some in batches(digests, ROWS_AT_ONCE):
                rows = connection.execute(
                    select(PreparedRow).where(PreparedRow.domain == self._domain, at.in_(some))
                )
                ready += [
                    _unpacked(row.document_id, row.way, row.result)
                    for row in rows
                    if row.digest in digests[row.document_id, row.way]
                ]
        return ready

    def is_finished(self, document_id: str, way: Way, digest: str) -> bool:
        query = select(PreparedRow.digest).filter_by(**self._key(document_id), way=way)
        with self._engine.connect() as connection:
            return connection.scalar(query) == digest

    def forget_prepared(self, results: Collection[tuple[str, Way]]) -> None:
        """`results`: (id, way) of published documents."""
        at = tuple_(PreparedRow.document_id, PreparedRow.way)
        self._forget(PreparedRow, at, sorted(results))

    def forget_all_but(self, documents: Collection[str]) -> None:
        """Delete all other loaded documents and their results."""
        unneeded = self.versions().keys() - set(documents)
        self._forget(LoadedRow, LoadedRow.document_id, sorted(unneeded))
        with self._engine.begin() as connection:
            mine = PreparedRow.domain == self._domain
            loaded = select(LoadedRow.document_id).where(LoadedRow.domain == self._domain)
            connection.execute(
                delete(PreparedRow).where(mine, PreparedRow.document_id.not_in(loaded))
            )

    def _forget(
        self, table: type[LoadedRow | PreparedRow], column: Any, values: Sequence[Any]
    ) -> None:
        with self._engine.begin() as connection:
            for some in batches(values, ROWS_AT_ONCE):
                connection.execute(
                    delete(table).where(table.domain == self._domain, column.in_(some))
                )

    def _set_deaths(self, document_id: str, deaths: Any) -> None:
        change = update(LoadedRow).filter_by(**self._key(document_id)).values(deaths=deaths)
        with self._engine.begin() as connection:
            connection.execute(change)

    def _key(self, document_id: str) -> dict[str, str]:
        return {"domain": self._domain, "document_id": document_id}


def _shared_fields(one: Enriched | _Result) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Enriched.__dataclass_fields__}


def _packed(prepared: Prepared) -> bytes:
    enriched = prepared.enriched
    match enriched:
        case LoadError():
            result = _Result(reason=enriched.reason, place=enriched.place, remedy=enriched.remedy)
        case CopilotError():
            result = _Result(reason=enriched.problem, remedy=enriched.remedy, of_the_run=True)
        case _:
            result = _Result(embedded=prepared.embedded, **_shared_fields(enriched))
    return zlib.compress(result.model_dump_json().encode(), COMPRESSION)


def _unpacked(document_id: str, way: Way, packed: bytes) -> Prepared:
    result = _Result.model_validate_json(zlib.decompress(packed))
    enriched: Enriched | CopilotError
    if result.of_the_run:
        enriched = CopilotError(result.reason, remedy=result.remedy)
    elif result.card is None:
        enriched = LoadError(document_id, result.reason, place=result.place, remedy=result.remedy)
    else:
        enriched = Enriched(**_shared_fields(result))
    return Prepared(document=document_id, way=way, enriched=enriched, embedded=result.embedded)


MAX_DEATHS = 3
"""A document that crashed a process is retried alone, and skipped after this many crashes."""


class _ProgressBase(DeclarativeBase):
    """Migration part `ingest-progress`."""


class ProgressRow(_ProgressBase):
    __tablename__ = "ingest_progress"

    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    at_work: Mapped[str] = mapped_column(Text, comment="JSON: documents that are being read now")
    deaths: Mapped[str] = mapped_column(Text, comment="JSON: document → runs that ended with it")


class CrashSuspects:
    """Serves the single active run of one domain. Suspects are documents that were being read when
    an earlier run's process died. Thread-safe."""

    def __init__(self, engine: Engine, domain: str, *, pardon: bool = False) -> None:
        """`pardon`: forget earlier crashes."""
        self._engine = engine
        self._domain = domain
        self._lock = Lock()
        self._at_work: set[str] = set()
        migrate(engine, _ProgressBase.metadata, "ingest-progress")
        at_work, deaths = ((), {}) if pardon else self._left()
        self._deaths = {name: deaths.get(name, 0) + 1 for name in at_work} | {
            name: count for name, count in deaths.items() if name not in at_work
        }
        self._keep()

    def alone(self, names: Iterable[str]) -> list[str]:
        """Returns the suspects. The caller reads them last and one at a time."""
        return [name for name in names if name in self._deaths]

    def begin(self, name: str) -> None:
        """Raises LoadError for a quarantined document."""
        with self._lock:
            if (died := self._deaths.get(name, 0)) >= MAX_DEATHS:
                raise quarantined(name, died, self._domain)
            self._at_work.add(name)
            self._keep()

    def end(self, name: str) -> None:
        """Clear a document. The change is stored when the next one begins, or when none is left."""
        with self._lock:
            self._at_work.discard(name)
            if self._deaths.get(name, MAX_DEATHS) < MAX_DEATHS:
                del self._deaths[name]
            if not self._at_work:
                self._keep()

    def close(self) -> None:
        """Mark nothing as being read: the run ended without a crash."""
        with self._lock:
            self._at_work.clear()
            self._keep()

    def _left(self) -> tuple[list[str], Mapping[str, int]]:
        with self._engine.connect() as connection:
            row = connection.execute(select(ProgressRow).filter_by(domain=self._domain)).first()
        return (json.loads(row.at_work), json.loads(row.deaths)) if row else ([], {})

    def _keep(self) -> None:
        at_work, deaths = json.dumps(sorted(self._at_work)), json.dumps(self._deaths)
        with self._engine.begin() as connection:
            replace_row(
                connection, ProgressRow, domain=self._domain, at_work=at_work, deaths=deaths
            )


def quarantined(name: str, deaths: int, domain: str) -> LoadError:
    return LoadError(
        name,
        f"it is set aside: {deaths} processes died while they worked on it",
        remedy="see their logs (out of memory?), make it smaller or take it out, and run "
        f"`oncall ingest {domain} --full`, which tries it again",
    )
