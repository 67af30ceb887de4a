"""Generations and their documents in SQL, from which everything else can be rebuilt."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Engine, delete, func, insert, literal, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from config.errors import PublishError, StorageFailed
from durable.connections import autocommit
from durable.database import batches, now
from durable.failures import storage_failure
from enrichment.chunk import Chunk, DocumentCard
from index.store.database import (
    ChunkRow,
    CurrentRow,
    GenerationRow,
    MemberRow,
    RevisionRow,
    WithdrawnRow,
    truncate_log,
)


@dataclass(frozen=True, kw_only=True)
class GenerationInfo:
    """Figures of a published generation."""

    domain: str
    number: int
    documents: int
    chunks: int
    units: int
    embedded: int
    """Number of texts embedded for it; the other vectors were reused."""
    seconds: float
    """Time from opening the staging to publication."""
    created_at: datetime
    embedder: str
    dimensions: int
    digest: str
    """Digest of its revisions; equal digests mean equal content."""
    manifest: str | None = None
    """Address in the index store; None if it isn't there."""
    is_current: bool = True


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One stored version of a document."""

    id: int
    document_id: str
    digest: str
    chunks: int
    units: int


def digest_of(revisions: Iterable[Revision]) -> str:
    """Digest of a set of revisions. A folder stores it to show which set it was made from."""
    lines = sorted(f"{one.document_id}\0{one.digest}" for one in revisions)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


_WITHDRAWN = ("domain", "document_id", "withdrawn_at")
_REVISION = (
    RevisionRow.id, RevisionRow.document_id, RevisionRow.digest, RevisionRow.chunks,
    RevisionRow.units,
)  # fmt: skip
REMEDY = "see the log, and check DATABASE_URL and the space in ONCALL_DATA_DIR"


@cache
def _cards() -> TypeAdapter[DocumentCard]:
    return TypeAdapter(DocumentCard)


@cache
def _chunks() -> TypeAdapter[Chunk]:
    return TypeAdapter(Chunk)


def _failure_of(error: SQLAlchemyError, files: Sequence[Path]) -> StorageFailed:
    unknown = f"the database failed: {type(error).__name__}"
    return storage_failure(error, files) or StorageFailed(unknown, remedy=REMEDY)


class Store:
    """Reads and writes revisions and generations; each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        on_disk = engine.dialect.name == "sqlite" and engine.url.database
        self._files = [Path(on_disk)] if on_disk else []

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Raises StorageFailed: an error of the database says nothing about what is published."""
        try:
            with autocommit(self.engine).connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _failure_of(error, self._files) from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            failure = _failure_of(error, self._files)
            raise PublishError(failure.problem, remedy=failure.remedy) from error

    def save(self, domain: str, card: DocumentCard, content: Sequence[Chunk]) -> Revision:
        """The revision with exactly this content; inserted if it doesn't exist."""
        card_json = _cards().dump_json(card)
        payloads = [_chunks().dump_json(chunk) for chunk in content]
        digest = hashlib.sha256(b"\n".join([card_json, *payloads])).hexdigest()
        with self._writing() as connection:
            stored_id = _find(connection, domain, card.id, digest)
            if stored_id:
                return stored_id
            figures: dict[str, Any] = {
                "document_id": card.id, "digest": digest, "chunks": len(content),
                "units": sum(len(chunk.units) for chunk in content),
            }  # fmt: skip
            row = insert(RevisionRow).values(domain=domain, card=card_json.decode(), **figures)
            number = connection.execute(row.returning(RevisionRow.id)).scalar_one()
            if payloads:
                rows = [
                    {"revision_id": number, "ordinal": ordinal, "payload": payload.decode()}
                    for ordinal, payload in enumerate(payloads)
                ]
                connection.execute(insert(ChunkRow), rows)
        return Revision(id=number, **figures)

    def content(self, revision_id: int) -> list[tuple[int, Chunk]]:
        """(row id, chunk) of one revision in reading order."""
        query = (
            select(ChunkRow.id, ChunkRow.payload)
            .where(ChunkRow.revision_id == revision_id)
            .order_by(ChunkRow.ordinal)
        )
        with self._reading() as connection:
            return [
                (row.id, _chunks().validate_json(row.payload)) for row in connection.execute(query)
            ]

    def chunks(self, row_ids: Sequence[int]) -> dict[int, Chunk]:
        """Chunks by row id; deleted ids are left out."""
        by_row: dict[int, Chunk] = {}
        with self._reading() as connection:
            for some in batches(row_ids):
                query = select(ChunkRow.id, ChunkRow.payload).where(ChunkRow.id.in_(some))
                for row in connection.execute(query):
                    by_row[row.id] = _chunks().validate_json(row.payload)
        return by_row

    def current(self, domain: str) -> int | None:
        with self._reading() as connection:
            return connection.scalar(select(CurrentRow.number).where(CurrentRow.domain == domain))

    def currents(self) -> dict[str, int]:
        """Domain → number of its current generation."""
        with self._reading() as connection:
            rows = connection.execute(select(CurrentRow.domain, CurrentRow.number))
            return {row.domain: row.number for row in rows}

    def generation(self, domain: str, number: int) -> GenerationInfo | None:
        return next((one for one in self.generations(domain) if one.number == number), None)

    def generations(self, domain: str) -> list[GenerationInfo]:
        """Newest first."""
        query = (
            select(GenerationRow, CurrentRow.number.label("current"))
            .outerjoin(CurrentRow, CurrentRow.domain == GenerationRow.domain)
            .where(GenerationRow.domain == domain)
            .order_by(GenerationRow.number.desc())
        )
        with self._reading() as connection:
            return [_info(**row._mapping) for row in connection.execute(query)]

    def revisions(self, domain: str, number: int) -> list[Revision]:
        """The revisions of a generation, sorted by document id."""
        query = _members_of(select(*_REVISION), domain, number)
        with self._reading() as connection:
            members = [Revision(**row._mapping) for row in connection.execute(query)]
        # Sorted here: databases collate differently, and rows must have one order everywhere.
        return sorted(members, key=lambda one: one.document_id)

    def cards(self, domain: str, number: int) -> dict[str, DocumentCard]:
        query = _members_of(select(RevisionRow.document_id, RevisionRow.card), domain, number)
        with self._reading() as connection:
            documents = {
                row.document_id: _cards().validate_json(row.card)
                for row in connection.execute(query)
            }
        return dict(sorted(documents.items()))

    def cursors(self, domain: str, number: int) -> dict[str, str]:
        query = select(GenerationRow.cursors).filter_by(domain=domain, number=number)
        with self._reading() as connection:
            stored = connection.scalar(query)
        return dict(json.loads(stored)) if stored else {}

    def set_cursors(self, domain: str, number: int, cursors: Mapping[str, str]) -> None:
        with self._writing() as connection:
            row = update(GenerationRow).filter_by(domain=domain, number=number)
            connection.execute(row.values(cursors=json.dumps(dict(cursors), sort_keys=True)))

    def set_manifest(self, domain: str, number: int, manifest: str) -> None:
        with self._writing() as connection:
            row = update(GenerationRow).filter_by(domain=domain, number=number)
            connection.execute(row.values(manifest=manifest))

    def publish(
        self, info: GenerationInfo, revisions: Sequence[Revision], cursors: Mapping[str, str]
    ) -> None:
        """Inserts a generation and makes it current, in one transaction."""
        key = {"domain": info.domain, "number": info.number}
        with self._writing() as connection:
            row = asdict(info) | {"cursors": json.dumps(dict(cursors), sort_keys=True)}
            del row["is_current"]
            connection.execute(insert(GenerationRow).values(row))
            if revisions:
                connection.execute(
                    insert(MemberRow), [{**key, "revision_id": one.id} for one in revisions]
                )
            _point_to(connection, info.domain, info.number)

    def point_to(self, domain: str, number: int) -> None:
        with self._writing() as connection:
            _point_to(connection, domain, number)

    def next_number(self, domain: str) -> int:
        query = select(func.max(GenerationRow.number)).where(GenerationRow.domain == domain)
        with self._reading() as connection:
            return (connection.scalar(query) or 0) + 1

    def withdrawn(self, before: datetime) -> dict[str, frozenset[str]]:
        """Domain → documents that no generation has had since. `before`: UTC, without a zone."""
        query = select(WithdrawnRow.domain, WithdrawnRow.document_id).where(
            WithdrawnRow.withdrawn_at < before
        )
        by_domain: dict[str, set[str]] = defaultdict(set)
        with self._reading() as connection:
            for row in connection.execute(query):
                by_domain[row.domain].add(row.document_id)
        return {domain: frozenset(ids) for domain, ids in by_domain.items()}

    def withdraw(self, domain: str, documents: Collection[str]) -> None:
        """Records those of these documents that the current generation lacks, if there is one."""
        with self._writing() as connection:
            number = connection.scalar(select(CurrentRow.number).filter_by(domain=domain))
            if number is None:
                return
            published = set(connection.scalars(_documents_of(domain, number)))
            for document in set(documents) - published:
                key = {"domain": domain, "document_id": document}
                if not connection.scalar(select(WithdrawnRow.document_id).filter_by(**key)):
                    connection.execute(insert(WithdrawnRow).values(**key, withdrawn_at=now()))

    def forget_withdrawn(self, before: datetime) -> None:
        """`before`: UTC, without a zone."""
        with self._writing() as connection:
            connection.execute(delete(WithdrawnRow).where(WithdrawnRow.withdrawn_at < before))

    def forget(self, domain: str, numbers: Sequence[int], *, keep_texts: bool = False) -> None:
        """Deletes generations and, unless `keep_texts`, the domain's unreferenced revisions."""
        with self._writing() as connection:
            for table in (MemberRow, GenerationRow):
                connection.execute(
                    delete(table).where(table.domain == domain, table.number.in_(numbers))
                )
            if keep_texts:
                return
            used = select(MemberRow.revision_id).where(MemberRow.domain == domain)
            connection.execute(
                delete(RevisionRow).where(RevisionRow.domain == domain, RevisionRow.id.not_in(used))
            )
        for file in self._files:
            truncate_log(file)


def _info(
    *, number: int, created_at: datetime, current: int | None, cursors: str, **figures: Any
) -> GenerationInfo:
    return GenerationInfo(
        number=number,
        created_at=created_at.replace(tzinfo=created_at.tzinfo or UTC),
        is_current=number == current,
        **figures,
    )


def _find(connection: Connection, domain: str, document_id: str, digest: str) -> Revision | None:
    query = select(*_REVISION).filter_by(domain=domain, document_id=document_id, digest=digest)
    row = connection.execute(query).first()
    return Revision(**row._mapping) if row else None


def _members_of(query: Any, domain: str, number: int) -> Any:
    return query.join(MemberRow, MemberRow.revision_id == RevisionRow.id).where(
        MemberRow.domain == domain, MemberRow.number == number
    )


def _documents_of(domain: str, number: int) -> Any:
    return _members_of(select(RevisionRow.document_id), domain, number)


def _point_to(connection: Connection, domain: str, number: int) -> None:
    published = _documents_of(domain, number)
    withdrawn = WithdrawnRow.domain == domain, WithdrawnRow.document_id.in_(published)
    connection.execute(delete(WithdrawnRow).where(*withdrawn))
    before = connection.scalar(select(CurrentRow.number).filter_by(domain=domain))
    if before is not None:
        recorded = select(WithdrawnRow.document_id).where(WithdrawnRow.domain == domain)
        removed = _members_of(
            select(literal(domain), RevisionRow.document_id, literal(now())), domain, before
        ).where(RevisionRow.document_id.not_in(published), RevisionRow.document_id.not_in(recorded))
        connection.execute(insert(WithdrawnRow).from_select(_WITHDRAWN, removed))
    move = update(CurrentRow).filter_by(domain=domain).values(number=number)
    if not connection.execute(move).rowcount:
        connection.execute(insert(CurrentRow).values(domain=domain, number=number))
