"""LangGraph's checkpoints in the product's own database: SQLite or PostgreSQL.

Of each thread the last one alone is kept. See docs/decisions/084-state-of-a-thread.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from sqlalchemy import ColumnElement, Connection, Engine, and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.thread.kept_threads import people, threads

FORMAT = 1
"""Of what is kept of a turn. Workers of two releases each see the rows of their own format."""


class Overtaken(Exception):
    """Another question of the thread was kept meanwhile: read again, and write again."""


class Unreadable(Exception):
    """What is kept of a thread is no checkpoint of this release."""


class ThreadCheckpoints(BaseCheckpointSaver[str]):
    """`configurable` of a config: `thread_id` (a place's key), `domain`, `asker`.

    Raises SQLAlchemyError when the database is away."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Raises Unreadable."""
        named = config["configurable"]
        query = select(threads.c.checkpoint).where(_row_of(named))
        with self._engine.connect() as connection:
            found = connection.scalar(query)
        if found is None:
            return None
        try:
            kept = json.loads(found)
            checkpoint: Checkpoint = kept["checkpoint"]
            there = {**named, "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
            return CheckpointTuple({"configurable": there}, checkpoint, kept["metadata"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Unreadable from error

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Raises Overtaken."""
        named = config["configurable"]
        values = {
            "checkpoint_id": checkpoint["id"],
            # Not by a serializer of objects: what stands in a database can't become code.
            "checkpoint": json.dumps(
                {"checkpoint": checkpoint, "metadata": metadata}, ensure_ascii=False
            ),
        }
        with self._engine.begin() as connection:
            try:
                _write(connection, named, values)
            except IntegrityError as error:
                raise Overtaken from error
        return {"configurable": {**named, "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Nothing: a step that was broken off is taken again as a whole."""


def _row_of(named: dict[str, Any]) -> ColumnElement[bool]:
    return and_(
        threads.c.place == named["thread_id"],
        threads.c.domain == named["domain"],
        threads.c.format == FORMAT,
    )


def _write(connection: Connection, named: dict[str, Any], values: dict[str, str]) -> None:
    place, asker, parent = named["thread_id"], named["asker"], named.get("checkpoint_id")
    if parent:
        same = and_(_row_of(named), threads.c.checkpoint_id == parent)
        if not connection.execute(update(threads).where(same).values(**values)).rowcount:
            raise Overtaken
    else:
        now = datetime.now(UTC).replace(tzinfo=None)
        row = {"place": place, "domain": named["domain"], "format": FORMAT, "begun_at": now}
        connection.execute(insert(threads).values(**row, **values))
    known = select(people.c.place).where(people.c.place == place, people.c.person == asker)
    if connection.scalar(known) is None:
        connection.execute(insert(people).values(place=place, person=asker))
