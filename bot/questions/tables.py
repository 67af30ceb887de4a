"""Questions, their posts, feedback and hand-offs in the shared database: any worker can go on."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Engine,
    Exists,
    Float,
    Index,
    String,
    Text,
    UniqueConstraint,
    and_,
    func,
    or_,
    select,
)
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Mapped, mapped_column

from durable.migration import expanding, migrate


class Base(DeclarativeBase):
    """Migration part `bot`: `migrate` makes its tables once, so they stay in one module."""


FORGOTTEN = "forgotten"
"""State of a question whose text was deleted while its hand-off is still open."""
WITHDRAWN = "withdrawn"
"""State of a question that its asker deleted: its text is deleted, and nothing more is done."""


class QuestionRow(Base):
    __tablename__ = "bot_questions"
    __table_args__ = (
        Index("bot_questions_thread", "channel", "thread_ts"),
        Index("bot_questions_asker", "asker", "asked_at"),
        Index("bot_questions_domain", "domain", "asked_at"),
    )
    id: Mapped[str] = mapped_column(
        String(80), primary_key=True, comment="channel:ts of the asking message"
    )
    event_id: Mapped[str] = mapped_column(String(120), comment="the event that owns the answer")
    domain: Mapped[str] = mapped_column(String(64), default="")
    channel: Mapped[str] = mapped_column(String(40))
    thread_ts: Mapped[str] = mapped_column(String(40))
    asker: Mapped[str] = mapped_column(String(40))
    text: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(
        String(16),
        comment="working | answered | posted | failed | silent | limited | withdrawn | forgotten",
    )
    answer: Mapped[str | None] = mapped_column(
        Text, comment="the answer as JSON, kept before it is posted"
    )
    path: Mapped[str] = mapped_column(String(40), default="")
    confidence: Mapped[float] = mapped_column(Float, default=0.0)
    generation: Mapped[int] = mapped_column(default=0)
    tokens: Mapped[int] = mapped_column(default=0)
    """Of rows that older releases wrote; see `agents.ledger.ledger`."""
    reference: Mapped[str] = mapped_column(String(16), default="")
    resolved_by: Mapped[str] = mapped_column(String(40), default="")
    asked_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]


class PostRow(Base):
    __tablename__ = "bot_posts"
    __table_args__ = (UniqueConstraint("channel", "ts", name="bot_posts_message"),)
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    part: Mapped[int] = mapped_column(
        primary_key=True, comment="0 is the placeholder's own message"
    )
    channel: Mapped[str] = mapped_column(String(40))
    ts: Mapped[str] = mapped_column(String(40))


class FeedbackRow(Base):
    __tablename__ = "bot_feedback"
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    user: Mapped[str] = mapped_column(String(40), primary_key=True)
    verdict: Mapped[str] = mapped_column(String(16), comment="helpful | unhelpful")
    reason: Mapped[str] = mapped_column(String(40), default="")
    correction: Mapped[str] = mapped_column(Text, default="")
    source: Mapped[str] = mapped_column(Text, default="", comment="where the right answer is")
    given_at: Mapped[datetime]
    private: Mapped[bool | None] = mapped_column(
        comment="typed where only the asker sees the answer; NULL: by an older release"
    )


class HandoffRow(Base):
    __tablename__ = "bot_handoffs"
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    channel: Mapped[str] = mapped_column(String(40))
    card_ts: Mapped[str] = mapped_column(String(40), default="")
    called: Mapped[str] = mapped_column(
        String(40), default="", comment="user or group that was called"
    )
    requested_by: Mapped[str] = mapped_column(String(40))
    taken_by: Mapped[str] = mapped_column(String(40), default="")
    resolved_by: Mapped[str] = mapped_column(String(40), default="")
    resolution: Mapped[str] = mapped_column(Text, default="")
    requested_at: Mapped[datetime]
    taken_at: Mapped[datetime | None]
    resolved_at: Mapped[datetime | None]


class ScreenshotBase(DeclarativeBase):
    """Migration part `bot-screenshots`."""


class ScreenshotRow(ScreenshotBase):
    __tablename__ = "bot_screenshots"
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    said: Mapped[str] = mapped_column(Text, comment="what was read in its pictures, as JSON")


class ExplanationBase(DeclarativeBase):
    """Migration part `bot-explanations`."""


class ExplanationRow(ExplanationBase):
    """Kept for days, not as long as its question."""

    __tablename__ = "bot_explanations"
    __table_args__ = (Index("bot_explanations_at", "at"),)
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    at: Mapped[datetime] = mapped_column(comment="UTC")
    explanation: Mapped[str] = mapped_column(Text, comment="JSON: why its answer was given")


def private_post_key(event_id: str) -> str:
    """The id under which the posts of an event's private answer are recorded."""
    return f"{event_id}/private"[:80]


PRIVATE_POST_KEY = func.substr(QuestionRow.event_id + "/private", 1, 80)
"""The same of a question, in SQL."""


def sent_privately(question_id: ColumnElement[str] | InstrumentedAttribute[str]) -> Exists:
    """Whether the answer was sent to its asker alone."""
    sent = select(PostRow.question_id).join(QuestionRow, PostRow.question_id == PRIVATE_POST_KEY)
    return sent.where(QuestionRow.id == question_id).exists()


def typed_privately() -> ColumnElement[bool]:
    """Of a row of feedback: whether its words were typed where only the asker sees the answer, in
    a direct message or below an answer that was sent privately."""
    is_unknown = and_(FeedbackRow.private.is_(None), sent_privately(FeedbackRow.question_id))
    is_direct = FeedbackRow.question_id.startswith("D")
    return or_(FeedbackRow.private.is_(True), is_unknown, is_direct)


_STEPS = (expanding("ALTER TABLE bot_feedback ADD COLUMN private BOOLEAN"),)


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, Base.metadata, "bot", _STEPS)
    migrate(engine, ScreenshotBase.metadata, "bot-screenshots")
    migrate(engine, ExplanationBase.metadata, "bot-explanations")
