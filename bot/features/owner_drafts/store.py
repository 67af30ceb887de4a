"""Drafts on record: added once, decided once, each person's messages counted.

What was suggested to the owners of documents, and the messages that say so."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from bot.bus.events import Suggestion
from bot.db import PersonalTable, now
from bot.slack.messages import ERASED
from durable.migration import migrate

_METADATA = MetaData()

owner_drafts = Table(
    "bot_owner_drafts",
    _METADATA,
    Column("key", String(16), primary_key=True, comment="of the suggestion's id, hashed"),
    Column("id", Text, nullable=False),
    Column("kind", String(24), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("document", Text, nullable=False),
    Column("title", Text, nullable=False, default=""),
    Column("url", Text, nullable=False, default="", comment="opens the place meant"),
    Column("heading", Text, nullable=False, default=""),
    Column("question", Text, nullable=False, default=""),
    Column("words", Text, nullable=False, default=""),
    Column("by", String(40), nullable=False, default="", comment="whose words they are"),
    Column("question_id", String(80), nullable=False, default=""),
    Column("channel", String(40), nullable=False, default=""),
    Column("permalink", Text, nullable=False, default=""),
    Column("made_at", DateTime, nullable=False),
    Column("state", String(16), nullable=False, comment="waiting | accepted | dismissed | gone"),
    Column("addressee", String(40), nullable=False, default=""),
    Column(
        "role",
        String(16),
        nullable=False,
        default="",
        comment="owner | editor | manager | admin | escalation",
    ),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("decided_at", DateTime),
    Column("decided_event", String(160), nullable=False, default="", comment="whose work it is"),
    Column("final_heading", Text, nullable=False, default=""),
    Column("final_words", Text, nullable=False, default=""),
    Column("final_by", String(40), nullable=False, default=""),
    Column("reason", Text, nullable=False, default=""),
    Column(
        "comment",
        String(16),
        nullable=False,
        default="",
        comment="made | off | refused | gone | later; empty while nobody tried",
    ),
    Column("comment_why", Text, nullable=False, default=""),
    Index("bot_owner_drafts_question", "question_id"),
    Index("bot_owner_drafts_waiting", "state", "domain"),
)

owner_messages = Table(
    "bot_owner_messages",
    _METADATA,
    Column("key", String(16), primary_key=True),
    Column("part", Integer, primary_key=True, comment="0 the draft, 1 its reminder"),
    Column("domain", String(64), nullable=False),
    Column("addressee", String(40), nullable=False),
    Column("channel", String(40), nullable=False, default=""),
    Column("ts", String(40), nullable=False, default="", comment="empty: about to be posted"),
    Column("at", DateTime, nullable=False),
    Column("withdrawn", Boolean, nullable=False, default=False, comment="shows no words any more"),
    Index("bot_owner_messages_addressee", "addressee", "at"),
)

KEPT_OF_OWNERS = (
    PersonalTable(
        table=owner_drafts,
        at="made_at",
        people=("by", "addressee", "decided_by", "final_by"),
        words={
            "words": "by", "question": "by", "final_words": "final_by", "reason": "decided_by",
        },
        question="question_id",
    ),
    PersonalTable(table=owner_messages, at="at", people=("addressee",)),
)  # fmt: skip


def create_owner_tables(engine: Engine) -> None:
    migrate(engine, _METADATA, "bot-owners")


DAY = timedelta(days=1)
MOST_A_DAY = 5
"""Messages to one person in 24 hours, reminders included; what is more waits in their Home."""
REMINDER = 1


@dataclass(frozen=True, kw_only=True)
class OwnerDraft:
    """A suggestion, and what became of it; see `bot.memory.owner_tables`."""

    key: str
    id: str
    kind: str
    domain: str
    document: str
    title: str
    url: str
    heading: str
    question: str
    words: str
    by: str
    question_id: str
    channel: str
    permalink: str
    made_at: datetime
    state: str
    addressee: str
    role: str
    decided_by: str
    decided_at: datetime | None
    decided_event: str
    final_heading: str
    final_words: str
    final_by: str
    reason: str
    comment: str
    comment_why: str

    @property
    def waits(self) -> bool:
        return self.state == "waiting"

    @property
    def mark(self) -> str:
        """By which our comment is known again among those of its document."""
        return f"[copilot {self.key[:8]}]"


@dataclass(frozen=True, kw_only=True)
class DraftMessage:
    key: str
    part: int
    addressee: str
    channel: str
    ts: str


def key_of(suggestion_id: str) -> str:
    """Short enough for a button, a timer and the end of a comment; ids are of any length."""
    return hashlib.sha256(suggestion_id.encode()).hexdigest()[:16]


class DraftStore:
    """Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._claiming = threading.Lock()
        create_owner_tables(engine)

    def add(self, suggestion: Suggestion) -> str:
        """Its key; a known one stays as it is."""
        key = key_of(suggestion.id)
        values = {
            name: getattr(suggestion, name)
            for name in (
                "id", "kind", "domain", "document", "heading", "question", "words", "by",
                "question_id", "channel", "permalink",
            )
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(
                    insert(owner_drafts).values(key=key, made_at=now(), state="waiting", **values)
                )
        except IntegrityError:
            return key
        return key

    def get(self, key: str) -> OwnerDraft | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(owner_drafts).where(owner_drafts.c.key == key)).first()
        return _draft(row) if row else None

    def note(self, key: str, **values: Any) -> None:
        """Set these columns."""
        with self._engine.begin() as connection:
            connection.execute(update(owner_drafts).where(owner_drafts.c.key == key).values(values))

    def decide(self, key: str, state: str, **values: Any) -> bool:
        """Whether this was the first decision."""
        change = update(owner_drafts).where(
            owner_drafts.c.key == key, owner_drafts.c.state == "waiting"
        )
        with self._engine.begin() as connection:
            done = connection.execute(change.values(state=state, decided_at=now(), **values))
            return done.rowcount > 0

    def waiting(self, user: str, domains: Collection[str], limit: int) -> Sequence[OwnerDraft]:
        """Addressed to this person or in these domains; the oldest first."""
        theirs = or_(owner_drafts.c.addressee == user, owner_drafts.c.domain.in_(list(domains)))
        query = (
            select(owner_drafts)
            .where(owner_drafts.c.state == "waiting", theirs)
            .order_by(owner_drafts.c.made_at, owner_drafts.c.key)
            .limit(limit)
        )
        with self._engine.connect() as connection:
            return [_draft(row) for row in connection.execute(query)]

    def messages(self, key: str) -> dict[int, DraftMessage]:
        """By part; also those that are about to be posted."""
        query = select(owner_messages).where(owner_messages.c.key == key)
        with self._engine.connect() as connection:
            return {row.part: _message(row) for row in connection.execute(query)}

    def claim(self, draft: OwnerDraft, part: int) -> int:
        """The how manieth of today this message is, once it may be posted; 0: not today.

        Workers that claim the last place at the same moment may all be refused: each counts after
        it has claimed."""
        mine = and_(owner_messages.c.key == draft.key, owner_messages.c.part == part)
        values = {
            "key": draft.key, "part": part, "domain": draft.domain, "addressee": draft.addressee,
            "at": now(),
        }  # fmt: skip
        with self._claiming:
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(owner_messages).values(**values))
            except IntegrityError:
                return max(1, self.sent_lately(draft.addressee))
            if (count := self.sent_lately(draft.addressee)) <= MOST_A_DAY:
                return count
            with self._engine.begin() as connection:
                connection.execute(delete(owner_messages).where(mine))
            return 0

    def sent_lately(self, user: str) -> int:
        query = select(func.count()).where(
            owner_messages.c.addressee == user, owner_messages.c.at > now() - DAY
        )
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def posted(self, key: str, part: int, channel: str, ts: str) -> None:
        mine = and_(owner_messages.c.key == key, owner_messages.c.part == part)
        with self._engine.begin() as connection:
            connection.execute(update(owner_messages).where(mine).values(channel=channel, ts=ts))

    def conversation_with(self, user: str) -> str:
        """The id of their direct messages, as far as an earlier message told it."""
        query = select(owner_messages.c.channel).where(
            owner_messages.c.addressee == user, owner_messages.c.channel != ""
        )
        with self._engine.connect() as connection:
            return str(connection.execute(query.limit(1)).scalar() or "")

    def withdrawn(self) -> list[tuple[str, int]]:
        """Messages that show words which were erased, or whose question was."""
        joined = owner_messages.outerjoin(owner_drafts, owner_drafts.c.key == owner_messages.c.key)
        people = (owner_drafts.c.by, owner_drafts.c.final_by, owner_drafts.c.decided_by)
        erased = or_(*(column == ERASED for column in people))
        query = (
            select(owner_messages.c.key, owner_messages.c.part)
            .select_from(joined)
            .where(owner_messages.c.withdrawn.is_(False), owner_messages.c.ts != "")
            .where(or_(owner_drafts.c.key.is_(None), erased))
            .limit(200)
        )
        with self._engine.connect() as connection:
            return [(row.key, row.part) for row in connection.execute(query)]

    def withdraw(self, key: str, part: int) -> None:
        mine = and_(owner_messages.c.key == key, owner_messages.c.part == part)
        with self._engine.begin() as connection:
            connection.execute(update(owner_messages).where(mine).values(withdrawn=True))


def _draft(row: Row[Any]) -> OwnerDraft:
    known = row._mapping
    return OwnerDraft(**{name: known[name] for name in OwnerDraft.__dataclass_fields__})


def _message(row: Row[Any]) -> DraftMessage:
    known = row._mapping
    return DraftMessage(**{name: known[name] for name in DraftMessage.__dataclass_fields__})
