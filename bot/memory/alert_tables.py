"""Alerts that bots posted: each kind's episodes, and each time that one fired or was resolved."""

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
    UniqueConstraint,
)

from bot.memory.kept_table import KeptTable
from durable.migration import migrate

_METADATA = MetaData()

alert_episodes = Table(
    "bot_alert_episodes",
    _METADATA,
    Column("id", String(48), primary_key=True, comment="kind-number"),
    Column("kind", String(40), nullable=False, comment="of channel, name and row"),
    Column("number", Integer, nullable=False, comment="from 1, for each kind"),
    Column("domain", String(64), nullable=False),
    Column("channel", String(40), nullable=False),
    Column("named", String(40), nullable=False, comment="of channel and name alone"),
    Column("name", Text, nullable=False),
    Column("outcome", String(16), nullable=False, comment="found | several | other_scope | none"),
    Column("elsewhere", String(40), nullable=False, default="", comment="a public channel"),
    Column("question_id", String(80), nullable=False, comment="the message that is answered"),
    Column("began_at", DateTime, nullable=False),
    Column("last_at", DateTime, nullable=False),
    Column("resolved_at", DateTime, comment="empty while it fires"),
    UniqueConstraint("kind", "number", name="bot_alert_episode"),
    Index("bot_alert_episodes_question", "question_id"),
    Index("bot_alert_episodes_named", "named"),
    Index("bot_alert_episodes_last", "domain", "last_at"),
)

alert_occurrences = Table(
    "bot_alert_occurrences",
    _METADATA,
    Column("id", String(120), primary_key=True, comment="message, kind and status"),
    Column("episode", String(48), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("status", String(10), nullable=False, comment="firing | resolved"),
    Column("places", Text, nullable=False, comment="what it fired on, as a JSON list"),
    Column("at", DateTime, nullable=False, comment="when the bot's message was sent"),
    Index("bot_alert_occurrences_episode", "episode", "at"),
    Index("bot_alert_occurrences_domain", "domain", "at"),
)

KEPT_ALERTS = (
    KeptTable(table=alert_episodes, at="last_at", question="question_id"),
    KeptTable(table=alert_occurrences, at="at", question="question_id"),
)


def create_alert_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "alerts")
