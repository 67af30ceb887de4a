"""Replies to golden questions, stored by version and question: a killed run can continue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import (
    Engine,
    String,
    Text,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.answer import Answer
from durable.migration import migrate
from jobs.evaluation.metrics.retrieval import GivenReply, Retrieved
from jobs.golden.questions import GoldenQuestion

VERSIONS = 10
"""Kept for each domain: those that replies were last given by."""


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
    """What is kept; the question is known to whoever asks for it."""

    answer: Answer
    retrieved: tuple[Retrieved, ...]
    first_token_ms: float | None
    total_ms: float


_reply = TypeAdapter(_Reply)


class ReplyStore(Protocol):
    def find(self, question: GoldenQuestion, repeat: int) -> GivenReply | None: ...

    def keep(self, reply: GivenReply) -> None: ...


class NullReplyStore:
    """Nothing is known, nothing is kept."""

    def find(self, question: GoldenQuestion, repeat: int) -> GivenReply | None:
        """None."""

    def keep(self, reply: GivenReply) -> None:
        """Ignored."""


class SqlReplyStore:
    """Those of one version of one domain. Thread-safe; a reply is kept once it is given."""

    def __init__(
        self, engine: Engine, domain: str, version: str, *, ask_again: bool = False
    ) -> None:
        """`ask_again`: what is known of this version is forgotten first."""
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
        except ValidationError:  # of another edition of the product
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
            "given_at": datetime.now(UTC).replace(tzinfo=None),
            "reply": _reply.dump_json(stored).decode(),
        }
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(ReplyRow).values(row))
        except IntegrityError:
            return  # another run of the same version was faster

    def _forget(self, versions: list[str]) -> None:
        """These, and of the domain's others all but the newest."""
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
