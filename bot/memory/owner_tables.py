"""What was suggested to the owners of documents, and the messages that say so."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from bot.memory.kept_table import KeptTable
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
    KeptTable(
        table=owner_drafts,
        at="made_at",
        people=("by", "addressee", "decided_by", "final_by"),
        words={
            "words": "by", "question": "by", "final_words": "final_by", "reason": "decided_by",
        },
        question="question_id",
    ),
    KeptTable(table=owner_messages, at="at", people=("addressee",)),
)  # fmt: skip


def create_owner_tables(engine: Engine) -> None:
    migrate(engine, _METADATA, "bot-owners")
