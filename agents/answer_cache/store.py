"""Cached answers in the state database, by domain and a digest of their other inputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    Connection,
    Engine,
    Index,
    String,
    Text,
    UniqueConstraint,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.models import Vectors
from durable.database import batches, now
from durable.migration import migrate
from index.store.database import RowId

MAX_PER_DOMAIN = 5_000
"""The newest; a lookup compares a question with all of them in about a millisecond."""
PATIENCE_MS = 500
"""The longest wait for another process that writes."""


class _Base(DeclarativeBase):
    pass


class AnswerRow(_Base):
    __tablename__ = "cached_answers"
    __table_args__ = (
        UniqueConstraint("domain", "key", "question_digest", name="cached_answers_once"),
        Index("cached_answers_of_domain", "domain", "kept_at"),
        Index("cached_answers_given", "answer_digest"),
    )
    id: Mapped[RowId]
    domain: Mapped[str] = mapped_column(String(64))
    key: Mapped[str] = mapped_column(
        String(64), comment="digest of domain file, model and audience"
    )
    question: Mapped[str] = mapped_column(Text)
    question_digest: Mapped[str] = mapped_column(String(64))
    vector: Mapped[bytes] = mapped_column(comment="float32 of the question")
    answer: Mapped[str] = mapped_column(Text, comment="JSON")
    answer_digest: Mapped[str] = mapped_column(String(64))
    documents: Mapped[str] = mapped_column(Text, comment="JSON: id → digest of its state")
    kept_at: Mapped[datetime] = mapped_column(comment="UTC")


@dataclass(frozen=True, kw_only=True)
class CachedEntry:
    id: int
    question: str
    answer: str
    """JSON."""
    documents: Mapping[str, str]
    """Id → digest of the state in which the answer was drawn from it."""
    kept_at: datetime


@dataclass(frozen=True, kw_only=True)
class NewCacheEntry:
    """See the table for the shapes."""

    domain: str
    key: str
    question: str
    vector: bytes
    text: str
    """Of the answer, as displayed."""
    answer: str
    documents: Mapping[str, str]


class CachedAnswerStore:
    """Safe to use from several threads and processes. Raises SQLAlchemyError."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_table(engine)

    def ids(self, domain: str, key: str, *, since: datetime) -> tuple[int, ...]:
        """Newest first, at most MOST_PER_DOMAIN."""
        query = (
            select(AnswerRow.id)
            .filter_by(domain=domain, key=key)
            .where(AnswerRow.kept_at >= since)
            .order_by(AnswerRow.id.desc())
            .limit(MAX_PER_DOMAIN)
        )
        with self._engine.connect() as connection:
            return tuple(connection.scalars(query))

    def vectors(self, ids: Collection[int]) -> dict[int, Vectors]:
        query = select(AnswerRow.id, AnswerRow.vector)
        with self._engine.connect() as connection:
            return {
                number: np.frombuffer(vector, dtype=np.float32)
                for batch in batches(ids)
                for number, vector in connection.execute(query.where(AnswerRow.id.in_(batch)))
            }

    def get(self, ids: Sequence[int]) -> list[CachedEntry]:
        """In this order, without deleted ones."""
        query = select(AnswerRow).where(AnswerRow.id.in_(ids))
        with self._engine.connect() as connection:
            entries = {
                row.id: CachedEntry(
                    id=row.id, question=row.question, answer=row.answer,
                    documents=json.loads(row.documents), kept_at=row.kept_at,
                )
                for row in connection.execute(query)
            }  # fmt: skip
        return [entries[one] for one in ids if one in entries]

    def keep(self, one: NewCacheEntry) -> None:
        """Replaces an earlier answer to the same words; of two at once, the first stays."""
        digest = digest_of(one.question.casefold())
        mine = {"domain": one.domain, "key": one.key}
        earlier = delete(AnswerRow).filter_by(**mine).where(AnswerRow.question_digest == digest)
        entry = insert(AnswerRow).values(
            **mine, question_digest=digest, question=one.question, vector=one.vector,
            answer=one.answer, answer_digest=digest_of(one.text),
            documents=json.dumps(one.documents), kept_at=now(),
        )  # fmt: skip
        try:
            with _short_transaction(self._engine) as connection:
                connection.execute(earlier)
                connection.execute(entry)
                _drop_oldest(connection, one.domain)
        except IntegrityError:
            return

    def clear(self, domain: str = "") -> int:
        """Deletes the entries of one domain, or of all. Returns their number."""
        query = delete(AnswerRow).where(AnswerRow.domain == domain) if domain else delete(AnswerRow)
        with self._engine.begin() as connection:
            return connection.execute(query).rowcount

    def counts(self) -> dict[str, tuple[int, datetime]]:
        """Domain → number of entries, and the time of the oldest."""
        query = (
            select(AnswerRow.domain, func.count(), func.min(AnswerRow.kept_at))
            .group_by(AnswerRow.domain)
            .order_by(AnswerRow.domain)
        )
        with self._engine.connect() as connection:
            return {domain: (count, oldest) for domain, count, oldest in connection.execute(query)}


def create_table(engine: Engine) -> None:
    """Safe when several processes start at once."""
    migrate(engine, _Base.metadata, "answer cache")


def entries_answering(connection: Connection, answers: Collection[str]) -> list[dict[str, Any]]:
    """Entries with these texts as answers."""
    query = select(AnswerRow.domain, AnswerRow.question, AnswerRow.kept_at)
    return [
        dict(row._mapping)
        for batch in batches(sorted(map(digest_of, answers)))
        for row in connection.execute(query.where(AnswerRow.answer_digest.in_(batch)))
    ]


def delete_answering(connection: Connection, answers: Collection[str]) -> int:
    """Deletes entries with these texts as answers; within a transaction. Returns their number."""
    return sum(
        connection.execute(delete(AnswerRow).where(AnswerRow.answer_digest.in_(batch))).rowcount
        for batch in batches(sorted(map(digest_of, answers)))
    )


def purge(connection: Connection, days_of: Callable[[str], int]) -> int:
    """Deletes entries older than their domain allows; within a transaction."""
    deleted = 0
    for domain in connection.scalars(select(AnswerRow.domain).distinct()).all():
        old = AnswerRow.kept_at < now() - timedelta(days=days_of(domain))
        deleted += connection.execute(
            delete(AnswerRow).filter_by(domain=domain).where(old)
        ).rowcount
    return deleted


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def _short_transaction(engine: Engine) -> Iterator[Connection]:
    """One transaction that fails after PATIENCE_MS when another process locks the table."""
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {PATIENCE_MS}")
            yield connection
        return
    with engine.connect() as connection:
        before = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
        connection.exec_driver_sql(f"PRAGMA busy_timeout={PATIENCE_MS}")
        try:
            yield connection
            connection.commit()
        finally:
            connection.rollback()
            connection.exec_driver_sql(f"PRAGMA busy_timeout={before}")


def _drop_oldest(connection: Connection, domain: str) -> None:
    mine = select(AnswerRow.id).filter_by(domain=domain).order_by(AnswerRow.id.desc())
    last = connection.scalar(mine.offset(MAX_PER_DOMAIN).limit(1))
    if last is not None:
        connection.execute(delete(AnswerRow).filter_by(domain=domain).where(AnswerRow.id <= last))
