"""Which digests were sent, to whom, and when each was due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Engine, String, and_, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.questions.personal import PersonalTable
from bot.questions.tables import WITHDRAWN, FeedbackRow, QuestionRow
from durable.database import insert_once, naive_utc, table_of
from durable.migration import migrate

_FORMAT = "%Y%m%dT%H%M%S"
EMPTY = "-"
"""In place of a message's ts for an empty digest."""


@dataclass(frozen=True)
class Period:
    """One digest of a domain."""

    domain: str
    at: datetime
    """When it is due, UTC and aware."""

    @property
    def key(self) -> str:
        return f"{self.at:{_FORMAT}}"

    @property
    def subject(self) -> str:
        """Subject of the digest's timer."""
        return f"{self.domain}@{self.key}"

    @classmethod
    def of(cls, subject: str) -> Period:
        domain, _, at = subject.rpartition("@")
        return cls(domain, datetime.strptime(at, _FORMAT).replace(tzinfo=UTC))


class _Base(DeclarativeBase):
    pass


class DigestRow(_Base):
    """A digest that was begun, was sent, or had nothing to say."""

    __tablename__ = "bot_digests"

    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    period: Mapped[str] = mapped_column(
        String(20), primary_key=True, comment="when it was due, UTC"
    )
    at: Mapped[datetime] = mapped_column(comment="the same, to count from")
    recipient: Mapped[str] = mapped_column(String(40), default="", comment="a person, or a channel")
    channel: Mapped[str] = mapped_column(String(40), default="", comment="as Slack told it")
    ts: Mapped[str] = mapped_column(String(40), default="", comment="'' not posted; '-' was empty")


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(DigestRow), at="at", people=("recipient",), plain="period channel ts"
    ),
)


def create_tables(engine: Engine) -> None:
    migrate(engine, _Base.metadata, "digests")


class DigestStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def begin(self, period: Period) -> tuple[str, str]:
        """Record a digest once. Returns its recipient's id, empty while undecided, and its
        message's ts, empty while it isn't known to be sent."""
        at = naive_utc(period.at)
        insert_once(self._engine, DigestRow, domain=period.domain, period=period.key, at=at)
        query = select(DigestRow.recipient, DigestRow.ts).where(_is(period))
        with self._engine.connect() as connection:
            recipient, ts = connection.execute(query).one()
        return recipient, ts

    def set(self, period: Period, **values: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(update(DigestRow).where(_is(period)).values(**values))

    def previous_due(self, period: Period) -> datetime | None:
        """When the last digest before this one was due, sent or empty; UTC, aware."""
        query = (
            select(DigestRow.at)
            .where(DigestRow.domain == period.domain, DigestRow.ts != "")
            .where(DigestRow.at < naive_utc(period.at))
            .order_by(DigestRow.at.desc())
        )
        with self._engine.connect() as connection:
            at = connection.scalar(query.limit(1))
        return at.replace(tzinfo=UTC) if at else None

    def conversation_with(self, person: str) -> str:
        """Channel of their direct messages with the bot; empty before their first digest."""
        query = (
            select(DigestRow.channel)
            .where(DigestRow.recipient == person, DigestRow.channel != "")
            .order_by(DigestRow.at.desc())
        )
        with self._engine.connect() as connection:
            return connection.scalar(query.limit(1)) or ""

    def unhelpful_answers(self, domain: str, since: datetime) -> list[str]:
        """Unresolved questions whose answer got *Not helpful* since then (UTC, naive); sorted."""
        query = (
            select(QuestionRow.id)
            .join(FeedbackRow, FeedbackRow.question_id == QuestionRow.id)
            .where(QuestionRow.domain == domain, QuestionRow.resolved_by == "")
            .where(QuestionRow.state != WITHDRAWN)
            .where(FeedbackRow.verdict == "unhelpful", FeedbackRow.given_at >= since)
        )
        with self._engine.connect() as connection:
            return sorted(set(connection.scalars(query)))


def _is(period: Period) -> ColumnElement[bool]:
    return and_(DigestRow.domain == period.domain, DigestRow.period == period.key)
