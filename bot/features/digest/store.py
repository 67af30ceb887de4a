"""Which digests were sent, to whom, and when the one before was due.

Digests that were sent, or had nothing to say: one for each domain and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    ColumnElement,
    DateTime,
    Engine,
    MetaData,
    String,
    Table,
    and_,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from bot.db import PersonalTable
from bot.features.digest.schedule import Period
from durable.migration import migrate

_METADATA = MetaData()
digests = Table(
    "bot_digests",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("period", String(20), primary_key=True, comment="when it was due, UTC"),
    Column("at", DateTime, nullable=False, comment="the same, to count from"),
    Column("recipient", String(40), nullable=False, default="", comment="a person, or a channel"),
    Column("channel", String(40), nullable=False, default="", comment="as Slack told it"),
    Column("ts", String(40), nullable=False, default="", comment="'' not posted; '-' was empty"),
)
KEPT_DIGESTS = PersonalTable(table=digests, at="at", people=("recipient",))


def create_digests(engine: Engine) -> None:
    migrate(engine, _METADATA, "digests")


EMPTY = "-"
"""In a message's place where there was nothing to say."""


@dataclass(frozen=True)
class KeptDigest:
    recipient: str
    """A person's or a channel's id; empty while it isn't decided."""
    ts: str
    """Empty while it is not known to be sent."""


class DigestStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_digests(engine)

    def begin(self, period: Period) -> KeptDigest:
        """What is on record of it; from now on something is."""
        at = period.at.replace(tzinfo=None)
        try:
            with self._engine.begin() as connection:
                connection.execute(
                    insert(digests).values(domain=period.domain, period=period.key, at=at)
                )
        except IntegrityError:
            pass  # before a crash, or by another worker
        query = select(digests.c.recipient, digests.c.ts).where(_is(period))
        with self._engine.connect() as connection:
            row = connection.execute(query).one()
        return KeptDigest(row.recipient, row.ts)

    def goes_to(self, period: Period, recipient: str) -> None:
        self._set(period, recipient=recipient)

    def placed(self, period: Period, channel: str) -> None:
        """The conversation that Slack put it into."""
        self._set(period, channel=channel)

    def done(self, period: Period, ts: str) -> None:
        self._set(period, ts=ts)

    def before(self, period: Period) -> datetime | None:
        """When the last one before was due, sent or empty; UTC, aware."""
        query = (
            select(digests.c.at)
            .where(digests.c.domain == period.domain, digests.c.ts != "")
            .where(digests.c.at < period.at.replace(tzinfo=None))
            .order_by(digests.c.at.desc())
        )
        with self._engine.connect() as connection:
            found = connection.scalar(query.limit(1))
        return found.replace(tzinfo=UTC) if found else None

    def conversation_with(self, person: str) -> str:
        """Their direct messages with the bot, by an earlier digest; empty before the first."""
        query = (
            select(digests.c.channel)
            .where(digests.c.recipient == person, digests.c.channel != "")
            .order_by(digests.c.at.desc())
        )
        with self._engine.connect() as connection:
            return connection.scalar(query.limit(1)) or ""

    def _set(self, period: Period, **values: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(update(digests).where(_is(period)).values(**values))


def _is(period: Period) -> ColumnElement[bool]:
    return and_(digests.c.domain == period.domain, digests.c.period == period.key)
