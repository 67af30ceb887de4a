"""Stores replies to golden questions by version and question, so that a killed run can resume."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Engine, String, Text, delete, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.answer import Answer
from durable.database import insert_once, now
from durable.migration import migrate
from jobs.evaluation.metrics.retrieval import GivenReply, Retrieved
from jobs.golden.questions import GoldenQuestion

VERSIONS = 10
"""Versions stored per domain: those with the latest replies."""


class _Base(DeclarativeBase):
    pass


class ReplyRow(_Base):
    __tablename__ = "evaluation_replies"

    version: Mapped[str] = mapped_column(String(64), primary_key=True)
    question: Mapped[str] = mapped_column(
        String(64), primary_key=True, comment="hash of all that is asked"
    )
    repeat: Mapped[int] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(String(64), index=True)
    given_at: Mapped[datetime] = mapped_column(comment="UTC")
    reply: Mapped[str] = mapped_column(Text)


@dataclass(frozen=True, kw_only=True)
class _Reply:
    """The stored part of a reply; the caller already has the question."""

    answer: Answer
    retrieved: tuple[Retrieved, ...]
    first_token_ms: float | None
    total_ms: float


_reply = TypeAdapter(_Reply)


class ReplyStore(Protocol):
    def find(self, question: GoldenQuestion, repeat: int) -> GivenReply | None: ...

    def keep(self, reply: GivenReply) -> None: ...


class NullReplyStore:
    """Stores nothing and finds nothing."""

    def find(self, question: GoldenQuestion, repeat: int) -> GivenReply | None:
        """Return None."""

    def keep(self, reply: GivenReply) -> None:
        """Do nothing."""


class SqlReplyStore:
    """Replies of one version of one domain. Thread-safe."""

    def __init__(
        self, engine: Engine, domain: str, version: str, *, ask_again: bool = False
    ) -> None:
        """`ask_again`: delete the stored replies of this version first."""
        self._engine, self._domain, self._version = engine, domain, version
        migrate(engine, _Base.metadata, "evaluation replies")
        self._forget([version] if ask_again else [])

    def find(self, question: GoldenQuestion, repeat: int) -> GivenReply | None:
        query = select(ReplyRow.reply).where(
            ReplyRow.version == self._version,
            ReplyRow.question == question.digest,
            ReplyRow.repeat == repeat,
        )
        with self._engine.connect() as connection:
            text = connection.execute(query).scalar()
        if text is None:
            return None
        try:
            reply = _reply.validate_json(text)
        except ValidationError:  # written by another version of the product
            return None
        return GivenReply(
            question=question,
            repeat=repeat,
            answer=reply.answer,
            retrieved=reply.retrieved,
            first_token_ms=reply.first_token_ms,
            total_ms=reply.total_ms,
            reused=True,
        )

    def keep(self, reply: GivenReply) -> None:
        stored = _Reply(
            answer=reply.answer,
            retrieved=reply.retrieved,
            first_token_ms=reply.first_token_ms,
            total_ms=reply.total_ms,
        )
        row = {
            "version": self._version,
            "question": reply.question.digest,
            "repeat": reply.repeat,
            "domain": self._domain,
            "given_at": now(),
            "reply": _reply.dump_json(stored).decode(),
        }
        insert_once(self._engine, ReplyRow, **row)  # another run of this version may be first

    def _forget(self, versions: list[str]) -> None:
        """Delete these versions, and all but the newest `VERSIONS` of the domain."""
        last = func.max(ReplyRow.given_at)
        newest = (
            select(ReplyRow.version)
            .where(ReplyRow.domain == self._domain)
            .group_by(ReplyRow.version)
            .order_by(last.desc())
        )
        with self._engine.begin() as connection:
            newest_first = list(connection.execute(newest).scalars())
            old = [one for one in newest_first[VERSIONS:] if one != self._version]
            expired = delete(ReplyRow).where(
                ReplyRow.domain == self._domain, ReplyRow.version.in_([*versions, *old])
            )
            connection.execute(expired)
