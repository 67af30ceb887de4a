"""Checklists in the database: begun once, pressed once for each press.

Checklists in the shared database: the steps as they were when it began, and every press.

What stands at a step is told by its presses in order of their time, whoever stored them when."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from bot.db import PersonalTable
from bot.features.checklists.progress import (
    Checklist,
    ChecklistProgress,
    Press,
    Runbook,
    StepReport,
    standing_of,
)
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
    PersonalTable(table=checklists, at="started_at", people=("started_by",)),
    PersonalTable(table=presses, at="began", people=("by",)),
    PersonalTable(table=reports, at="began", people=("by",), words={"words": "by"}),
    PersonalTable(table=checklist_posts, at="began"),
)


def create_checklist_tables(engine: Engine) -> None:
    """Safe when several workers start at once."""
    migrate(engine, _METADATA, "checklists")


_runbooks = TypeAdapter(Runbook)


def checklist_id(channel: str, thread_ts: str, document: str, place: Collection[str]) -> str:
    """The same section in the same thread is one checklist. `place`: tab and headings."""
    named = "\x1f".join((channel, thread_ts, document, *place))
    return hashlib.sha256(named.encode()).hexdigest()[:24]


class ChecklistStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_checklist_tables(engine)

    def begin(self, checklist: Checklist) -> bool:
        """False where it was begun already."""
        return self._insert(
            checklists,
            id=checklist.id,
            domain=checklist.domain,
            channel=checklist.channel,
            thread_ts=checklist.thread_ts,
            question_id=checklist.question_id,
            document=checklist.document,
            runbook=_runbooks.dump_json(checklist.runbook).decode(),
            generation=checklist.generation,
            changed=checklist.changed,
            started_by=checklist.started_by,
            started_at=checklist.started_at,
            closed=0,
        )

    def get(self, checklist_id: str) -> Checklist | None:
        query = select(checklists).where(checklists.c.id == checklist_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return _checklist(row) if row else None

    def open_since(self, since: datetime, domain: str = "") -> list[Checklist]:
        """Those begun since then that nobody has finished, oldest first."""
        query = (
            select(checklists)
            .where(checklists.c.closed == 0, checklists.c.started_at >= since)
            .order_by(checklists.c.started_at)
        )
        if domain:
            query = query.where(checklists.c.domain == domain)
        with self._engine.connect() as connection:
            return [_checklist(row) for row in connection.execute(query)]

    def press(self, checklist: Checklist, press: Press) -> None:
        """A press that is known already does nothing."""
        self._insert(
            presses,
            checklist=checklist.id,
            domain=checklist.domain,
            began=checklist.started_at,
            **vars(press),
        )
        if press.act == "finish":
            self._set(checklist, closed=1)

    def report(self, checklist: Checklist, report: StepReport) -> None:
        self._insert(
            reports,
            checklist=checklist.id,
            domain=checklist.domain,
            began=checklist.started_at,
            **vars(report),
        )

    def standing(self, checklist: Checklist) -> ChecklistProgress:
        of_it = presses.c.checklist == checklist.id
        about = reports.c.checklist == checklist.id
        with self._engine.connect() as connection:
            pressed = [_of(Press, row) for row in connection.execute(select(presses).where(of_it))]
            said = [
                _of(StepReport, row) for row in connection.execute(select(reports).where(about))
            ]
        return standing_of(checklist, pressed, said)

    def compared(self, checklist: Checklist, generation: int, changed: str) -> None:
        """What became of the runbook in a later generation."""
        self._set(checklist, generation=generation, changed=changed)

    def posts(self, checklist: Checklist) -> Mapping[int, str]:
        """Part → timestamp of its message."""
        query = select(checklist_posts).where(checklist_posts.c.checklist == checklist.id)
        with self._engine.connect() as connection:
            return {row.part: row.ts for row in connection.execute(query)}

    def posted(self, checklist: Checklist, part: int, ts: str) -> None:
        self._insert(
            checklist_posts,
            checklist=checklist.id,
            part=part,
            domain=checklist.domain,
            ts=ts,
            began=checklist.started_at,
        )

    def _set(self, checklist: Checklist, **values: Any) -> None:
        change = update(checklists).where(checklists.c.id == checklist.id).values(**values)
        with self._engine.begin() as connection:
            connection.execute(change)

    def _insert(self, table: Any, **values: Any) -> bool:
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(table).values(**values))
        except IntegrityError:
            return False
        return True


def _checklist(row: Row[Any]) -> Checklist:
    known = row._mapping
    names = set(Checklist.__dataclass_fields__) - {"runbook"}
    values = {name: known[name] for name in names}
    return Checklist(runbook=_runbooks.validate_json(known["runbook"]), **values)


def _of(kind: Any, row: Row[Any]) -> Any:
    return kind(**{name: row._mapping[name] for name in kind.__dataclass_fields__})
