"""What the bot remembers of documents that grow old: who was helped by what, what is flagged, what
contradicts what."""

from __future__ import annotations

from sqlalchemy import (
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

helpful_seen = Table(
    "bot_helpful_seen",
    _METADATA,
    Column("question_id", String(80), primary_key=True, comment="its verdict was looked at"),
    Column("domain", String(64), nullable=False),
    Column("given_at", DateTime, nullable=False, comment="when that verdict was given, UTC"),
)

helped_places = Table(
    "bot_helped_places",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("place", String(24), primary_key=True, comment="a mark of document, heading and row"),
    Column("domain", String(64), nullable=False),
    Column("document", String(255), nullable=False),
    Column("kept", Text, nullable=False, comment="what the place said, as JSON"),
    Column("marked_at", DateTime, nullable=False, comment="when it was marked helpful, UTC"),
    Index("bot_helped_places_document", "domain", "document"),
)

cited_days = Table(
    "bot_cited_days",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("document", String(255), primary_key=True, comment="'': the day was counted"),
    Column("day", DateTime, primary_key=True, comment="its midnight, UTC"),
    Column("answers", Integer, nullable=False, comment="answers that cited it"),
)

owners_reminded = Table(
    "bot_owners_reminded",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("document", String(255), primary_key=True, comment="'': the week's reminders are done"),
    Column("reminded_at", DateTime, nullable=False),
)

flags = Table(
    "bot_flags",
    _METADATA,
    Column("id", String(40), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("document", String(255), nullable=False),
    Column("place", String(24), nullable=False),
    Column("kept", Text, nullable=False, comment="what the place said, as JSON"),
    Column("words", Text, nullable=False, comment="what is out of date, in a reader's words"),
    Column("flagged_by", String(40), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("outcome", String(16), nullable=False, default="", comment="'' while it waits"),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("flagged_at", DateTime, nullable=False),
    Index("bot_flags_document", "domain", "document"),
)

contradictions = Table(
    "bot_contradictions",
    _METADATA,
    Column("id", String(40), primary_key=True, comment="of two places: the same in either order"),
    Column("domain", String(64), nullable=False),
    Column("one", Text, nullable=False, comment="a place and marks of what it said, as JSON"),
    Column("other", Text, nullable=False),
    Column("about", Text, nullable=False, comment="on what they differ"),
    Column("state", String(16), nullable=False, comment="open | one | other | none"),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("found_at", DateTime, nullable=False, comment="when it last became open"),
    Column("met_at", DateTime, nullable=False, comment="when it was last met"),
    Index("bot_contradictions_domain", "domain", "state"),
)

contradictions_met = Table(
    "bot_contradictions_met",
    _METADATA,
    Column("contradiction", String(40), primary_key=True),
    Column("question_id", String(80), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("met_at", DateTime, nullable=False),
)

AGING_KEPT = (
    KeptTable(table=helpful_seen, at="given_at", question="question_id"),
    KeptTable(table=helped_places, at="marked_at", question="question_id"),
    KeptTable(table=cited_days, at="day"),
    KeptTable(
        table=flags,
        at="flagged_at",
        people=("flagged_by", "decided_by"),
        words={"words": "flagged_by"},
        question="question_id",
    ),
    KeptTable(table=contradictions, at="met_at", people=("decided_by",)),
    KeptTable(table=contradictions_met, at="met_at", question="question_id"),
)


def create_aging_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "aging")
