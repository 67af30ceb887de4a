"""Caches model replies by request: an unchanged text is never paid for twice. A reply is deleted
with the documents that it was drawn from; see `bot.privacy.deleted_documents`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from copy import copy
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import Column, DateTime, Engine, MetaData, String, Table, Text, delete, select
from sqlalchemy.exc import IntegrityError

from config.models import Prompt
from durable.database import replace_row
from durable.migration import expanding, migrate

Reply = TypeVar("Reply", bound=BaseModel)


class ReplyCache:
    """Replies in the state database. Safe to use from several threads and processes."""

    def __init__(
        self, engine: Engine, *, table: str = "enrichment_replies", most: int | None = None
    ) -> None:
        """`most`: number of newest replies to keep; None keeps all."""
        self._engine = engine
        self._replies = Table(
            table,
            MetaData(),
            Column("key", String(64), primary_key=True),
            Column("prompt", String(64), nullable=False),
            Column("model", String(200), nullable=False),
            Column("reply", Text, nullable=False),
            Column("created_at", DateTime(timezone=True), nullable=False),
            Column("documents", Text, comment="JSON: ids; NULL: unknown, by an older release"),
        )
        step = expanding(f"ALTER TABLE {table} ADD COLUMN documents TEXT")
        migrate(engine, self._replies.metadata, table, (step,))
        self._documents: tuple[str, ...] = ()
        if most is not None:
            self._forget_all_but(most)

    def drawn_from(self, documents: Iterable[str]) -> ReplyCache:
        """The same cache, for requests with text of these documents."""
        view = copy(self)
        view._documents = tuple(sorted(set(documents)))
        return view

    def find(self, key: str, reply: type[Reply]) -> Reply | None:
        """None when nothing is stored, or when the stored reply has an outdated shape."""
        with self._engine.connect() as connection:
            stored = connection.scalar(
                select(self._replies.c.reply).where(self._replies.c.key == key)
            )
        if stored is None:
            return None
        try:
            return reply.model_validate_json(stored)
        except ValidationError:
            return None

    def save(self, key: str, prompt: Prompt, model: str, reply: BaseModel) -> None:
        try:
            with self._engine.begin() as connection:
                replace_row(
                    connection, self._replies, key=key, model=model[:200],
                    prompt=f"{prompt.name} {prompt.version}"[:64], reply=reply.model_dump_json(),
                    created_at=datetime.now(UTC), documents=json.dumps(self._documents),
                )  # fmt: skip
        except IntegrityError:
            return  # another process just stored the same reply

    def _forget_all_but(self, most: int) -> None:
        created_at = self._replies.c.created_at
        with self._engine.begin() as connection:
            newest = select(created_at).order_by(created_at.desc())
            oldest = connection.scalar(newest.offset(most - 1).limit(1))
            if oldest is not None:
                connection.execute(delete(self._replies).where(created_at < oldest))


def cache_key(prompt: Prompt, model: str) -> str:
    """SHA-256 of prompt name, version, wording, content, pictures and model, without the random
    fence."""
    digests = (picture.digest for picture in prompt.pictures)
    request = "\x1f".join(
        (prompt.name, prompt.version, prompt.system, prompt.user, model, *digests)
    )
    # NUL stands for the fence: fenced text holds none, so no two contents share a key.
    unfenced = request.replace(prompt.fence, "\x00") if prompt.fence else request
    return hashlib.sha256(unfenced.encode()).hexdigest()
