"""Checklists in the shared database: the steps as they were when it began, and every press.

What stands at a step is told by its presses in order of their time, whoever stored them when."""

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

checklists = Table(
    "bot_checklists",
    _METADATA,
    Column("id", String(40), primary_key=True, comment="of thread, document and heading"),
    Column("domain", String(64), nullable=False),
    Column("channel", String(40), nullable=False),
    Column("thread_ts", String(40), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("document", String(200), nullable=False),
    Column("runbook", Text, nullable=False, comment="title, heading, address, steps: as JSON"),
    Column("generation", Integer, nullable=False, comment="that it was last compared with"),
    Column("changed", String(16), nullable=False, comment="'' | changed | gone, since it began"),
    Column("started_by", String(40), nullable=False),
    Column("started_at", DateTime, nullable=False),
    Column("closed", Integer, nullable=False, comment="1: finished"),
    Index("bot_checklists_open", "domain", "closed", "started_at"),
)

presses = Table(
    "bot_checklist_presses",
    _METADATA,
    Column("id", String(120), primary_key=True, comment="of the press: the same comes in once"),
    Column("checklist", String(40), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("step", Integer, nullable=False, comment="place from 0; -1: the whole"),
    Column("act", String(16), nullable=False, comment="done | skipped | undone | take | finish"),
    Column("by", String(40), nullable=False),
    Column("at", DateTime, nullable=False, comment="UTC, by Slack's clock"),
    Column("began", DateTime, nullable=False, comment="its checklist, with which it goes"),
    Index("bot_checklist_presses_of", "checklist"),
)

reports = Table(
    "bot_checklist_reports",
    _METADATA,
    Column("id", String(120), primary_key=True),
    Column("checklist", String(40), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("step", Integer, nullable=False),
    Column("words", Text, nullable=False),
    Column("by", String(40), nullable=False),
    Column("at", DateTime, nullable=False),
    Column("began", DateTime, nullable=False),
    Index("bot_checklist_reports_of", "checklist"),
)

checklist_posts = Table(
    "bot_checklist_posts",
    _METADATA,
    Column("checklist", String(40), primary_key=True),
    Column("part", Integer, primary_key=True, comment="from 0; from 1000: its summary"),
    Column("domain", String(64), nullable=False),
    Column("ts", String(40), nullable=False),
    Column("began", DateTime, nullable=False),
    UniqueConstraint("checklist", "ts", name="bot_checklist_posts_message"),
)

CHECKLISTS_KEPT = (
    KeptTable(table=checklists, at="started_at", people=("started_by",)),
    KeptTable(table=presses, at="began", people=("by",)),
    KeptTable(table=reports, at="began", people=("by",), words={"words": "by"}),
    KeptTable(table=checklist_posts, at="began"),
)


def create_checklist_tables(engine: Engine) -> None:
    """Safe when several workers start at once."""
    migrate(engine, _METADATA, "checklists")
