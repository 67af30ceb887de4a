"""Threads and the people who asked in them; see docs/decisions/084-state-of-a-thread.md."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from pydantic import TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Index,
    String,
    Text,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.answer import EarlierTurn
from agents.thread.turns import visible_turns
from durable.database import now
from durable.migration import migrate

_turns = TypeAdapter(tuple[EarlierTurn, ...])


class _Base(DeclarativeBase):
    pass


class ThreadRow(_Base):
    __tablename__ = "agent_threads"
    __table_args__ = (Index("agent_threads_begun", "domain", "begun_at"),)
    place: Mapped[str] = mapped_column(String(64), primary_key=True, comment="see `key_of`")
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    format: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    checkpoint_id: Mapped[str] = mapped_column(String(64))
    checkpoint: Mapped[str] = mapped_column(Text, comment="JSON")
    begun_at: Mapped[datetime] = mapped_column(comment="UTC")


class PersonRow(_Base):
    __tablename__ = "agent_thread_people"
    __table_args__ = (Index("agent_thread_people_person", "person"),)
    place: Mapped[str] = mapped_column(String(64), primary_key=True)
    person: Mapped[str] = mapped_column(
        String(320), primary_key=True, comment="see `Conversation.asker`"
    )


def create_thread_tables(engine: Engine) -> None:
    """Safe when several workers start at once."""
    migrate(engine, _Base.metadata, "threads")


def slack_place(channel: str, thread_ts: str) -> str:
    return f"slack/{channel}/{thread_ts}"


def key_of(place: str) -> str:
    """A digest: a place may contain names, and a client's name for a conversation of any length."""
    return hashlib.sha256(place.encode()).hexdigest()


def forget_places(connection: Connection, places: Iterable[str]) -> int:
    """Returns the number of threads deleted."""
    return _forget(connection, [key_of(place) for place in places])


def forget_begun_before(connection: Connection, domain: str, before: datetime) -> int:
    """`before`: UTC, without a zone."""
    old = select(ThreadRow.place).where(ThreadRow.domain == domain, ThreadRow.begun_at < before)
    return _forget(connection, list(connection.scalars(old)))


def forget_threads_of(connection: Connection, names: Collection[str]) -> int:
    """Deletes whole threads in which one of these people asked; Slack keeps the messages."""
    theirs = select(PersonRow.place).where(PersonRow.person.in_(names))
    return _forget(connection, list(connection.scalars(theirs)))


def turns_of_people(connection: Connection, names: Collection[str]) -> list[dict[str, Any]]:
    """Every turn of these people as in `EarlierTurn`, with its domain; unreadable rows verbatim."""
    theirs = select(PersonRow.place).where(PersonRow.person.in_(names))
    turns = _turns_where(connection, ThreadRow.place.in_(theirs))
    return [turn for turn in turns if turn.get("asker") in names or "unreadable" in turn]


def turns_at(connection: Connection, place: str) -> list[dict[str, Any]]:
    """The turns of one place by anyone, with their domains, oldest first."""
    return _turns_where(connection, ThreadRow.place == key_of(place))


def _turns_where(connection: Connection, chosen: ColumnElement[bool]) -> list[dict[str, Any]]:
    query = select(ThreadRow.domain, ThreadRow.checkpoint).where(chosen)
    all_turns: list[dict[str, Any]] = []
    for row in connection.execute(query.order_by(ThreadRow.checkpoint_id)):
        try:
            turns = json.loads(row.checkpoint)["checkpoint"]["channel_values"]["turns"]
            row_turns = [{"domain": row.domain, **turn} for turn in turns]
        except (ValueError, KeyError, TypeError):
            row_turns = [{"domain": row.domain, "unreadable": row.checkpoint}]
        all_turns += row_turns
    return all_turns


def last_domain(connection: Connection, place: str) -> str:
    """The domain of a thread's newest turn; '' for none. Checkpoint ids grow."""
    query = select(ThreadRow.domain).where(ThreadRow.place == key_of(place))
    newest = query.order_by(ThreadRow.checkpoint_id.desc()).limit(1)
    return connection.scalar(newest) or ""


def stored_domains(connection: Connection) -> list[str]:
    return list(connection.scalars(select(ThreadRow.domain).distinct()))


def id_in_json(document: str) -> set[str]:
    """An id as different serializers write it."""
    return {json.dumps(document, ensure_ascii=False), json.dumps(document)}


def documents_in_threads(connection: Connection) -> Iterator[tuple[str, set[str]]]:
    """(domain, documents that its turns may repeat) of each thread."""
    for turn in _turns_where(connection, true()):
        yield turn["domain"], {*turn.get("documents", ()), *(turn.get("restated_from") or ())}


def forget_documents(connection: Connection, domain: str, documents: Collection[str]) -> None:
    """Delete what stored turns repeat of these documents: options, cited headings, and the
    self-contained question where it may; the people's own words stay."""
    named = [
        func.replace(ThreadRow.checkpoint, form, "") != ThreadRow.checkpoint
        for one in documents
        for form in id_in_json(one)
    ]
    columns = ThreadRow.place, ThreadRow.format, ThreadRow.checkpoint
    query = select(*columns).where(ThreadRow.domain == domain, or_(*named))
    for row in connection.execute(query).all():
        mine = [ThreadRow.place == row.place, ThreadRow.domain == domain]
        mine += [ThreadRow.format == row.format, ThreadRow.checkpoint == row.checkpoint]
        try:
            stored = json.loads(row.checkpoint)
            values = stored["checkpoint"]["channel_values"]
            turns = _turns.validate_python(values["turns"])
        except (ValueError, KeyError, TypeError):
            connection.execute(delete(ThreadRow).where(*mine))
            continue
        others = {one for turn in turns for one in (*turn.documents, *(turn.restated_from or ()))}
        values["turns"] = [asdict(turn) for turn in visible_turns(turns, others - set(documents))]
        text = json.dumps(stored, ensure_ascii=False)
        connection.execute(update(ThreadRow).where(*mine).values(checkpoint=text))


def _forget(connection: Connection, keys: Collection[str]) -> int:
    deleted = 0
    for key in set(keys):
        deleted += connection.execute(delete(ThreadRow).where(ThreadRow.place == key)).rowcount > 0
        connection.execute(delete(PersonRow).where(PersonRow.place == key))
    return deleted


FORMAT = 1
"""Format of a stored turn. Workers of two releases each see the rows of their own format."""


class Overtaken(Exception):
    """Another question of the thread was stored meanwhile: read and write again."""


class Unreadable(Exception):
    """The stored row is no checkpoint of this release."""


class ThreadCheckpoints(BaseCheckpointSaver[str]):
    """The last checkpoint of each thread. `configurable` of a config: `thread_id` (a place's key),
    `domain`, `asker`.

    Raises SQLAlchemyError when the database is away."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Raises Unreadable."""
        configurable = config["configurable"]
        query = select(ThreadRow.checkpoint).filter_by(**_key_of(configurable))
        with self._engine.connect() as connection:
            text = connection.scalar(query)
        if text is None:
            return None
        try:
            stored = json.loads(text)
            checkpoint: Checkpoint = stored["checkpoint"]
            location = {**configurable, "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
            return CheckpointTuple({"configurable": location}, checkpoint, stored["metadata"])
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
        configurable = config["configurable"]
        values = {
            "checkpoint_id": checkpoint["id"],
            # JSON, not a serializer of objects: stored data must not become code.
            "checkpoint": json.dumps(
                {"checkpoint": checkpoint, "metadata": metadata}, ensure_ascii=False
            ),
        }
        with self._engine.begin() as connection:
            try:
                _write(connection, configurable, values)
            except IntegrityError as error:
                raise Overtaken from error
        return {
            "configurable": {**configurable, "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
        }

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Nothing: an interrupted step runs again as a whole."""


def _key_of(configurable: dict[str, Any]) -> dict[str, Any]:
    return {
        "place": configurable["thread_id"], "domain": configurable["domain"], "format": FORMAT,
    }  # fmt: skip


def _write(connection: Connection, configurable: dict[str, Any], values: dict[str, str]) -> None:
    key, parent = _key_of(configurable), configurable.get("checkpoint_id")
    if parent:
        change = update(ThreadRow).filter_by(**key, checkpoint_id=parent).values(**values)
        if not connection.execute(change).rowcount:
            raise Overtaken
    else:
        connection.execute(insert(ThreadRow).values(**key, **values, begun_at=now()))
    person = {"place": key["place"], "person": configurable["asker"]}
    if connection.scalar(select(PersonRow.place).filter_by(**person)) is None:
        connection.execute(insert(PersonRow).values(**person))
