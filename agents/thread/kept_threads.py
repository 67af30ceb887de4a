"""The table of what is kept of threads, and who asked in them: found, handed out, deleted.

`agents.thread.thread_checkpoints` reads and writes the state in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    select,
)

from durable.migration import migrate

_METADATA = MetaData()

threads = Table(
    "agent_threads",
    _METADATA,
    Column("place", String(64), primary_key=True, comment="see `key_of`"),
    Column("domain", String(64), primary_key=True),
    Column("format", Integer, primary_key=True, autoincrement=False),
    Column("checkpoint_id", String(64), nullable=False),
    Column("checkpoint", Text, nullable=False, comment="JSON"),
    Column("begun_at", DateTime, nullable=False, comment="UTC"),
    Index("agent_threads_begun", "domain", "begun_at"),
)
people = Table(
    "agent_thread_people",
    _METADATA,
    Column("place", String(64), primary_key=True),
    Column("person", String(320), primary_key=True, comment="see `Conversation.asker`"),
    Index("agent_thread_people_person", "person"),
)


def create_thread_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "threads")


def slack_place(channel: str, thread_ts: str) -> str:
    return f"slack/{channel}/{thread_ts}"


def key_of(place: str) -> str:
    """A place may name a person and a conversation as a client calls it: of any length, and not
    for a column that is looked through."""
    return hashlib.sha256(place.encode()).hexdigest()


def forget_places(connection: Connection, places: Iterable[str]) -> int:
    """Threads of which something was kept."""
    return _forget(connection, [key_of(place) for place in places])


def forget_begun_before(connection: Connection, domain: str, before: datetime) -> int:
    """`before`: UTC, without a zone."""
    old = select(threads.c.place).where(threads.c.domain == domain, threads.c.begun_at < before)
    return _forget(connection, list(connection.scalars(old)))


def forget_threads_of(connection: Connection, names: Collection[str]) -> int:
    """Whole threads in which one of these people asked: what is left of them is in Slack."""
    theirs = select(people.c.place).where(people.c.person.in_(names))
    return _forget(connection, list(connection.scalars(theirs)))


def kept_of(connection: Connection, names: Collection[str]) -> list[dict[str, Any]]:
    """Every turn of these people, as `EarlierTurn` has it, with its domain; what can't be read is
    handed out as it is."""
    theirs = select(people.c.place).where(people.c.person.in_(names))
    turns = _turns_where(connection, threads.c.place.in_(theirs))
    return [turn for turn in turns if turn.get("asker") in names or "unreadable" in turn]


def kept_at(connection: Connection, place: str) -> list[dict[str, Any]]:
    """The same of one place, whoever asked: of each domain the oldest first."""
    return _turns_where(connection, threads.c.place == key_of(place))


def _turns_where(connection: Connection, chosen: ColumnElement[bool]) -> list[dict[str, Any]]:
    query = select(threads.c.domain, threads.c.checkpoint).where(chosen)
    found: list[dict[str, Any]] = []
    for row in connection.execute(query.order_by(threads.c.checkpoint_id)):
        try:
            turns = json.loads(row.checkpoint)["checkpoint"]["channel_values"]["turns"]
            read = [{"domain": row.domain, **turn} for turn in turns]
        except (ValueError, KeyError, TypeError):
            read = [{"domain": row.domain, "unreadable": row.checkpoint}]
        found += read
    return found


def last_domain(connection: Connection, place: str) -> str:
    """Of the newest turn that is kept of a thread; '' for none. Ids of checkpoints grow."""
    query = select(threads.c.domain).where(threads.c.place == key_of(place))
    newest = query.order_by(threads.c.checkpoint_id.desc()).limit(1)
    return connection.scalar(newest) or ""


def domains_kept(connection: Connection) -> list[str]:
    return list(connection.scalars(select(threads.c.domain).distinct()))


def _forget(connection: Connection, keys: Collection[str]) -> int:
    gone = 0
    for key in set(keys):
        gone += connection.execute(delete(threads).where(threads.c.place == key)).rowcount > 0
        connection.execute(delete(people).where(people.c.place == key))
    return gone
