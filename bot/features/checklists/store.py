"""Checklists in the shared database: the steps as they were at the start, and every press.

The state of a step follows from its presses ordered by time, independent of the worker and the time
of storing."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Engine, Index, Row, String, Text, UniqueConstraint, or_, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.runbooks.step import RunbookStep
from bot.feature import ChecklistRun
from bot.features.checklists.progress import (
    Checklist,
    ChecklistProgress,
    Press,
    PressedChecklist,
    Runbook,
    StepReport,
    progress_of,
    run_of,
)
from bot.questions.personal import Authors, PersonalTable
from durable.database import batches, insert_once, now, read_stored, table_of
from durable.migration import migrate


class _Base(DeclarativeBase):
    pass


class ChecklistRow(_Base):
    __tablename__ = "bot_checklists"
    __table_args__ = (Index("bot_checklists_open", "domain", "closed", "started_at"),)

    id: Mapped[str] = mapped_column(
        String(40), primary_key=True, comment="of thread, document and heading"
    )
    domain: Mapped[str] = mapped_column(String(64))
    channel: Mapped[str] = mapped_column(String(40))
    thread_ts: Mapped[str] = mapped_column(String(40))
    question_id: Mapped[str] = mapped_column(String(80))
    document: Mapped[str] = mapped_column(String(200))
    runbook: Mapped[str] = mapped_column(Text, comment="title, heading, address, steps: as JSON")
    generation: Mapped[int] = mapped_column(comment="that it was last compared with")
    changed: Mapped[str] = mapped_column(String(16), comment="'' | changed | gone, since it began")
    started_by: Mapped[str] = mapped_column(String(40))
    started_at: Mapped[datetime]
    closed: Mapped[int] = mapped_column(comment="1: finished")


class PressRow(_Base):
    __tablename__ = "bot_checklist_presses"
    __table_args__ = (Index("bot_checklist_presses_of", "checklist"),)

    id: Mapped[str] = mapped_column(
        String(120), primary_key=True, comment="of the press: the same comes in once"
    )
    checklist: Mapped[str] = mapped_column(String(40))
    domain: Mapped[str] = mapped_column(String(64))
    step: Mapped[int] = mapped_column(comment="place from 0; -1: the whole")
    act: Mapped[str] = mapped_column(
        String(16), comment="done | skipped | undone | take | finish | copied"
    )
    by: Mapped[str] = mapped_column(String(40))
    at: Mapped[datetime] = mapped_column(comment="UTC, by Slack's clock")
    began: Mapped[datetime] = mapped_column(comment="its checklist, with which it goes")


class ReportRow(_Base):
    __tablename__ = "bot_checklist_reports"
    __table_args__ = (Index("bot_checklist_reports_of", "checklist"),)

    id: Mapped[str] = mapped_column(String(120), primary_key=True)
    checklist: Mapped[str] = mapped_column(String(40))
    domain: Mapped[str] = mapped_column(String(64))
    step: Mapped[int]
    words: Mapped[str] = mapped_column(Text)
    by: Mapped[str] = mapped_column(String(40))
    at: Mapped[datetime]
    began: Mapped[datetime]


class ChecklistPostRow(_Base):
    __tablename__ = "bot_checklist_posts"
    __table_args__ = (UniqueConstraint("checklist", "ts", name="bot_checklist_posts_message"),)

    checklist: Mapped[str] = mapped_column(String(40), primary_key=True)
    part: Mapped[int] = mapped_column(primary_key=True, comment="from 0; from 1000: its summary")
    domain: Mapped[str] = mapped_column(String(64))
    ts: Mapped[str] = mapped_column(String(40))
    began: Mapped[datetime]


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(ChecklistRow), at="started_at", people=("started_by",), documents="runbook",
        plain="id channel thread_ts question_id document changed", drawn_from="document",
    ),
    PersonalTable(
        table=table_of(PressRow), at="began", people=("by",), plain="id checklist act"
    ),
    PersonalTable(
        table=table_of(ReportRow), at="began", people=("by",), words={"words": Authors(by=("by",))},
        plain="id checklist",
    ),
    PersonalTable(table=table_of(ChecklistPostRow), at="began", plain="checklist ts"),
)  # fmt: skip


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _Base.metadata, "checklists")


_runbooks = TypeAdapter(Runbook)
ABANDONED_AFTER = timedelta(days=7)
"""From its start, an unfinished checklist counts as over."""
MAX_RUNS = 200


def checklist_id(channel: str, thread_ts: str, document: str, place: Collection[str]) -> str:
    """The same section in the same thread is one checklist. `place`: tab and headings."""
    key = "\x1f".join((channel, thread_ts, document, *place))
    return hashlib.sha256(key.encode()).hexdigest()[:24]


class ChecklistStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def begin(self, checklist: Checklist) -> bool:
        """False where it exists already."""
        runbook = _runbooks.dump_json(checklist.runbook).decode()
        values = {**vars(checklist), "runbook": runbook, "closed": 0}
        return insert_once(self._engine, ChecklistRow, **values)

    def get(self, checklist_id: str) -> Checklist | None:
        query = select(ChecklistRow).where(ChecklistRow.id == checklist_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return _checklist(row) if row else None

    def finished(self, question_id: str) -> list[bool]:
        """Whether each checklist that was begun from this question's answer is finished."""
        query = select(ChecklistRow.closed).where(ChecklistRow.question_id == question_id)
        with self._engine.connect() as connection:
            return [bool(closed) for closed in connection.scalars(query)]

    def open_since(self, since: datetime, domain: str = "") -> list[Checklist]:
        """Unfinished checklists that began since then, oldest first."""
        query = (
            select(ChecklistRow)
            .where(ChecklistRow.closed == 0, ChecklistRow.started_at >= since)
            .order_by(ChecklistRow.started_at)
        )
        if domain:
            query = query.where(ChecklistRow.domain == domain)
        with self._engine.connect() as connection:
            return [_checklist(row) for row in connection.execute(query)]

    def in_thread(self, channel: str, thread_ts: str) -> list[Checklist]:
        """Oldest first."""
        query = select(ChecklistRow).where(
            ChecklistRow.channel == channel, ChecklistRow.thread_ts == thread_ts
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(ChecklistRow.started_at)).all()
        return [_checklist(row) for row in rows]

    def runs(self, domain: str) -> list[ChecklistRun]:
        """See `bot.feature.RunsOf`; at most `MAX_RUNS`."""
        abandoned = ChecklistRow.started_at < now() - ABANDONED_AFTER
        is_over = or_(ChecklistRow.closed == 1, abandoned)
        query = (
            select(ChecklistRow)
            .where(ChecklistRow.domain == domain, is_over)
            .order_by(ChecklistRow.started_at.desc(), ChecklistRow.id)
            .limit(MAX_RUNS)
        )
        presses: dict[str, list[Press]] = defaultdict(list)
        reports: dict[str, list[StepReport]] = defaultdict(list)
        with self._engine.connect() as connection:
            checklists = [_checklist(row) for row in connection.execute(query)]
            for ids in batches([one.id for one in checklists]):
                of_presses = select(PressRow).where(PressRow.checklist.in_(ids))
                for press in connection.execute(of_presses):
                    presses[press.checklist].append(_read(Press, press))
                of_reports = select(ReportRow).where(ReportRow.checklist.in_(ids))
                for report in connection.execute(of_reports):
                    reports[report.checklist].append(_read(StepReport, report))
        return [
            run_of(PressedChecklist(one, presses[one.id], reports[one.id])) for one in checklists
        ]

    def press(self, checklist: Checklist, press: Press) -> None:
        """Store a press; a second time it changes nothing."""
        self._add(PressRow, checklist, **vars(press))
        if press.act == "finish":
            self.set(checklist, closed=1)

    def report(self, checklist: Checklist, report: StepReport) -> None:
        self._add(ReportRow, checklist, **vars(report))

    def progress(self, checklist: Checklist) -> ChecklistProgress:
        return progress_of(checklist, *self.acts(checklist))

    def acts(self, checklist: Checklist) -> tuple[list[Press], list[StepReport]]:
        """In no order."""
        of_presses = select(PressRow).where(PressRow.checklist == checklist.id)
        of_reports = select(ReportRow).where(ReportRow.checklist == checklist.id)
        with self._engine.connect() as connection:
            presses = [_read(Press, row) for row in connection.execute(of_presses)]
            reports = [_read(StepReport, row) for row in connection.execute(of_reports)]
        return presses, reports

    def first_steps(self, questions: Collection[str]) -> Mapping[str, RunbookStep]:
        """Question → the step that was ticked first in its checklist."""
        checklists: list[Checklist] = []
        for batch in batches(questions):
            query = select(ChecklistRow).where(ChecklistRow.question_id.in_(batch))
            with self._engine.connect() as connection:
                checklists += [_checklist(row) for row in connection.execute(query)]
        steps: dict[str, RunbookStep] = {}
        for one in checklists:
            done = [(mark.at, step) for step, mark in self.progress(one).marks.items()
                    if mark.act == "done"]  # fmt: skip
            if done:
                steps.setdefault(one.question_id, one.runbook.steps[min(done)[1]])
        return steps

    def posts(self, checklist: Checklist) -> Mapping[int, str]:
        """Part → timestamp of its message."""
        query = select(ChecklistPostRow).where(ChecklistPostRow.checklist == checklist.id)
        with self._engine.connect() as connection:
            return {row.part: row.ts for row in connection.execute(query)}

    def add_post(self, checklist: Checklist, part: int, ts: str) -> None:
        self._add(ChecklistPostRow, checklist, part=part, ts=ts)

    def _add(self, row: type[_Base], checklist: Checklist, **values: Any) -> None:
        values |= {"checklist": checklist.id, "domain": checklist.domain}
        insert_once(self._engine, row, began=checklist.started_at, **values)

    def set(self, checklist: Checklist, **values: Any) -> None:
        change = update(ChecklistRow).where(ChecklistRow.id == checklist.id).values(**values)
        with self._engine.begin() as connection:
            connection.execute(change)


def _checklist(row: Row[Any]) -> Checklist:
    columns = row._mapping
    names = set(Checklist.__dataclass_fields__) - {"runbook"}
    values = {name: columns[name] for name in names}
    return Checklist(runbook=read_stored(_runbooks, columns["runbook"], "runbook"), **values)


def _read(kind: Any, row: Row[Any]) -> Any:
    return kind(**{name: row._mapping[name] for name in kind.__dataclass_fields__})
