"""What is kept of gaps in the documents: which questions are in one, what became of it, and what a
human's words for it became. No question's words: these are read from the question itself."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

from bot.memory.kept_table import KeptTable
from durable.migration import migrate

_METADATA = MetaData()

gaps = Table(
    "bot_gaps",
    _METADATA,
    Column("id", String(40), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("state", String(16), nullable=False, comment="see bot/gaps/gap_states.py"),
    Column("document", String(200), nullable=False, default="", comment="nearest to it"),
    Column("heading", Text, nullable=False, default="", comment="of that document"),
    Column(
        "asked_of",
        String(120),
        nullable=False,
        default="",
        comment="what the places it waits for were like when it was last asked anew",
    ),
    Column("opened_at", DateTime, nullable=False),
    Column("changed_at", DateTime, nullable=False, comment="its state, UTC"),
    Column("touched_at", DateTime, nullable=False, comment="its questions or its state, UTC"),
    Index("bot_gaps_domain", "domain", "state"),
)

gap_questions = Table(
    "bot_gap_questions",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("gap", String(40), nullable=False, comment="empty: looked at, and in none"),
    Column("domain", String(64), nullable=False),
    Column("asker", String(40), nullable=False),
    Column("why", String(16), nullable=False, default=""),
    Column("marks", Text, nullable=False, comment="what was known of it when it was looked at"),
    Column("near", Float, nullable=False, default=0.0, comment="cosine of the nearest passage"),
    Column("name", Text, nullable=False, default="", comment="a model's short form of its words"),
    Column("asked_at", DateTime, nullable=False),
    Index("bot_gap_questions_gap", "gap"),
)

gap_vectors = Table(
    "bot_gap_vectors",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("vector", LargeBinary, nullable=False, comment="of its words; float32"),
    Column("embedder", String(200), nullable=False, default="", comment="which model made it"),
    Column("asked_at", DateTime, nullable=False),
)

gap_changes = Table(
    "bot_gap_changes",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("gap", String(40), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("by", String(40), nullable=False, default="", comment="who decided; empty: the bot"),
    Column("generation", Integer, nullable=False, default=0),
    Column("at", DateTime, nullable=False),
    Index("bot_gap_changes_gap", "gap"),
)

gap_drafts = Table(
    "bot_gap_drafts",
    _METADATA,
    Column("id", String(80), primary_key=True, comment="of the suggestion"),
    Column("gap", String(40), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("by", String(40), nullable=False, comment="whose words were suggested"),
    Column("outcome", String(16), nullable=False, default="", comment="accepted | dismissed"),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("words", Text, nullable=False, default="", comment="as they were accepted"),
    Column("words_by", String(40), nullable=False, default=""),
    Column("document", String(200), nullable=False, default=""),
    Column("heading", Text, nullable=False, default=""),
    Column("made_at", DateTime, nullable=False),
    Column("decided_at", DateTime),
    Index("bot_gap_drafts_gap", "gap"),
)

gap_looks = Table(
    "bot_gap_looks",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("generation", Integer, nullable=False, default=0, comment="after which was asked anew"),
    Column("reported", String(40), nullable=False, default="", comment="planned time, UTC"),
    Column("busy_until", DateTime, nullable=False, comment="somebody is looking"),
)

KEPT_OF_GAPS = (
    KeptTable(
        table=gap_questions, at="asked_at", people=("asker",), words={"name": "asker"},
        question="question_id",
    ),
    KeptTable(table=gap_vectors, at="asked_at", question="question_id"),
    KeptTable(
        table=gap_drafts, at="made_at", people=("by", "decided_by", "words_by"),
        words={"words": "words_by"}, question="question_id",
    ),
    KeptTable(table=gap_changes, at="at", people=("by",)),
    KeptTable(table=gaps, at="touched_at"),
)  # fmt: skip


def create_gap_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "gaps")
