"""Digests that were sent, or had nothing to say: one for each domain and time."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Engine, MetaData, String, Table

from bot.memory.kept_table import KeptTable
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
KEPT_DIGESTS = KeptTable(table=digests, at="at", people=("recipient",))


def create_digests(engine: Engine) -> None:
    migrate(engine, _METADATA, "digests")
