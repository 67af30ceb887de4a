"""What the bot remembers in the shared database, so that any worker can carry on."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from durable.migration import migrate

metadata = MetaData()
FORGOTTEN = "forgotten"
"""State of a question whose words are gone while its hand-off is still open."""
WITHDRAWN = "withdrawn"
"""State of a question that was taken back: its words are gone, and it wants nothing any more."""

questions = Table(
    "bot_questions",
    metadata,
    Column("id", String(80), primary_key=True, comment="channel:ts of the asking message"),
    Column("event_id", String(120), nullable=False, comment="the event that owns the answer"),
    Column("domain", String(64), nullable=False, default=""),
    Column("channel", String(40), nullable=False),
    Column("thread_ts", String(40), nullable=False),
    Column("asker", String(40), nullable=False),
    Column("text", Text, nullable=False),
    Column(
        "state",
        String(16),
        nullable=False,
        comment="working | answered | posted | failed | silent | limited | withdrawn | forgotten",
    ),
    Column("answer", Text, comment="the answer as JSON, kept before it is posted"),
    Column("path", String(40), nullable=False, default=""),
    Column("confidence", Float, nullable=False, default=0.0),
    Column("generation", Integer, nullable=False, default=0),
    Column("tokens", Integer, nullable=False, default=0),
    Column("reference", String(16), nullable=False, default=""),
    Column("resolved_by", String(40), nullable=False, default=""),
    Column("asked_at", DateTime, nullable=False),
    Column("answered_at", DateTime),
    Index("bot_questions_thread", "channel", "thread_ts"),
    Index("bot_questions_asker", "asker", "asked_at"),
    Index("bot_questions_domain", "domain", "asked_at"),
)

posts = Table(
    "bot_posts",
    metadata,
    Column("question_id", String(80), primary_key=True),
    Column("part", Integer, primary_key=True, comment="0 is the placeholder's own message"),
    Column("channel", String(40), nullable=False),
    Column("ts", String(40), nullable=False),
    UniqueConstraint("channel", "ts", name="bot_posts_message"),
)

feedback = Table(
    "bot_feedback",
    metadata,
    Column("question_id", String(80), primary_key=True),
    Column("user", String(40), primary_key=True),
    Column("verdict", String(16), nullable=False, comment="helpful | unhelpful"),
    Column("reason", String(40), nullable=False, default=""),
    Column("correction", Text, nullable=False, default=""),
    Column("source", Text, nullable=False, default="", comment="where the right answer is"),
    Column("given_at", DateTime, nullable=False),
)

handoffs = Table(
    "bot_handoffs",
    metadata,
    Column("question_id", String(80), primary_key=True),
    Column("channel", String(40), nullable=False),
    Column("card_ts", String(40), nullable=False, default=""),
    Column(
        "called", String(40), nullable=False, default="", comment="user or group that was called"
    ),
    Column("requested_by", String(40), nullable=False),
    Column("taken_by", String(40), nullable=False, default=""),
    Column("resolved_by", String(40), nullable=False, default=""),
    Column("resolution", Text, nullable=False, default=""),
    Column("requested_at", DateTime, nullable=False),
    Column("taken_at", DateTime),
    Column("resolved_at", DateTime),
)


_read_pictures = MetaData()
screenshots = Table(
    "bot_screenshots",
    _read_pictures,
    Column("question_id", String(80), primary_key=True),
    Column("said", Text, nullable=False, comment="what was read in its pictures, as JSON"),
)


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, metadata, "bot")
    migrate(engine, _read_pictures, "bot-screenshots")
