"""Who was called for a hand-off when, and who was told of it."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Engine, MetaData, String, Table

from bot.memory.kept_table import KeptTable
from durable.migration import expanding, migrate

_METADATA = MetaData()
calls = Table(
    "bot_calls",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("step", String(40), primary_key=True, comment="first | again | level-2 | … | told-…"),
    Column("domain", String(64), nullable=False, default=""),
    Column("who", String(40), nullable=False, default="", comment="person or group; '' nobody"),
    Column("label", String(80), nullable=False, default="", comment="the level's name"),
    Column("why", String(200), nullable=False, default="", comment="why somebody else or nobody"),
    Column("called_at", DateTime, nullable=False, comment="UTC"),
    Column("ts", String(40), nullable=False, default="", comment="of its message, once posted"),
    Column("channel", String(40), nullable=False, server_default="", comment="of a direct message"),
)
KEPT_CALLS = KeptTable(table=calls, at="called_at", people=("who",), question="question_id")
_STEPS = (expanding("ALTER TABLE bot_calls ADD COLUMN channel VARCHAR(40) NOT NULL DEFAULT ''"),)


def create_calls(engine: Engine) -> None:
    migrate(engine, _METADATA, "calls", _STEPS)
