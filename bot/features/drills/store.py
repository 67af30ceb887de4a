"""Drills and what they showed, by domain."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, String, Text, delete, func, insert, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.drill.checks import Finding
from bot.bus.events import matching_fields
from bot.questions.personal import PersonalTable
from bot.questions.tables import WITHDRAWN, QuestionRow
from durable.database import batches, insert_once, now, replace_row, table_of
from durable.migration import migrate

FINE = "fine"
"""Outcome of an entry without findings; else the kind of the first one."""


class _Base(DeclarativeBase):
    pass


class DrillRow(_Base):
    """The latest drill of a domain."""

    __tablename__ = "bot_drills"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    due: Mapped[str] = mapped_column(String(20), comment="when it was due, UTC")
    step: Mapped[int] = mapped_column(comment="batches that are done; -1: it is over")
    document: Mapped[str] = mapped_column(Text, comment="where it goes on")
    position: Mapped[int] = mapped_column(comment="in that document")
    began_at: Mapped[datetime]


class DrillResultRow(_Base):
    """What the latest drill of an entry showed."""

    __tablename__ = "bot_drill_results"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(32), primary_key=True, comment="of what the entry says")
    due: Mapped[str] = mapped_column(String(20), comment="of the drill")
    generation: Mapped[int]
    document: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text, comment="the alert, and where the entry is")
    outcome: Mapped[str] = mapped_column(String(16))
    findings: Mapped[str] = mapped_column(Text, comment="JSON")
    documents: Mapped[str] = mapped_column(Text, comment="that these speak of, JSON")
    drilled_at: Mapped[datetime]


class DrillNoticeRow(_Base):
    """What the owner of a document heard last."""

    __tablename__ = "bot_drill_notices"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[str] = mapped_column(String(500), primary_key=True)
    findings: Mapped[str] = mapped_column(String(32), comment="their hash")
    at: Mapped[datetime]


PERSONAL_TABLES = (
    PersonalTable(table=table_of(DrillRow), at="began_at", plain="due document"),
    PersonalTable(
        table=table_of(DrillResultRow), at="drilled_at", documents="title findings",
        plain="key due document outcome documents", drawn_from="documents",
    ),
    PersonalTable(table=table_of(DrillNoticeRow), at="at", plain="document findings"),
)  # fmt: skip


def create_tables(engine: Engine) -> None:
    migrate(engine, _Base.metadata, "drills")


@dataclass(frozen=True, kw_only=True)
class DrillState:
    domain: str
    due: str
    step: int
    document: str
    position: int


@dataclass(frozen=True, kw_only=True)
class DrillResult:
    key: str
    document: str
    title: str
    """`Name, Title › Heading`."""
    generation: int
    findings: tuple[Finding, ...]
    drilled_at: datetime
    """UTC, without a zone."""

    @property
    def outcome(self) -> str:
        return self.findings[0].kind if self.findings else FINE

    @property
    def documents(self) -> list[str]:
        others = (each for one in self.findings for each in one.documents)
        return list(dict.fromkeys(filter(None, (self.document, *others))))


class DrillStore:
    """Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def begin(self, domain: str, due: str) -> None:
        """Begin the drill that is due then, in place of an earlier one."""
        first = {"due": due, "step": 0, "document": "", "position": 0, "began_at": now()}
        if not insert_once(self._engine, DrillRow, domain=domain, **first):
            earlier = (DrillRow.domain == domain, DrillRow.due < due)
            with self._engine.begin() as connection:
                connection.execute(update(DrillRow).where(*earlier).values(**first))

    def state(self, domain: str) -> DrillState | None:
        """None before the first drill."""
        with self._engine.connect() as connection:
            row = connection.execute(select(DrillRow).where(DrillRow.domain == domain)).first()
        if row is None:
            return None
        return DrillState(
            domain=domain, due=row.due, step=row.step, document=row.document, position=row.position
        )

    def advance(self, state: DrillState, document: str, position: int) -> None:
        """Note where the next batch goes on; nothing where another worker was faster."""
        values = {"step": state.step + 1, "document": document, "position": position}
        with self._engine.begin() as connection:
            connection.execute(update(DrillRow).where(*_is(state)).values(**values))

    def finish(self, state: DrillState) -> None:
        """Forget entries that this drill did not meet."""
        old = (DrillResultRow.domain == state.domain, DrillResultRow.due != state.due)
        with self._engine.begin() as connection:
            connection.execute(delete(DrillResultRow).where(*old))
            connection.execute(update(DrillRow).where(*_is(state)).values(step=-1))

    def save(self, state: DrillState, results: Sequence[DrillResult]) -> None:
        """In place of earlier ones of the same entries."""
        rows = [
            {
                "domain": state.domain, "due": state.due, "key": one.key,
                "document": one.document, "title": one.title, "generation": one.generation,
                "outcome": one.outcome, "documents": json.dumps(one.documents),
                "findings": json.dumps([asdict(each) for each in one.findings]),
                "drilled_at": one.drilled_at,
            }
            for one in {one.key: one for one in results}.values()
        ]  # fmt: skip
        with self._engine.begin() as connection:
            for some in batches(rows):
                connection.execute(
                    delete(DrillResultRow).where(
                        DrillResultRow.domain == state.domain,
                        DrillResultRow.key.in_([row["key"] for row in some]),
                    )
                )
                connection.execute(insert(DrillResultRow), some)

    def results(self, domain: str, keys: Collection[str]) -> dict[str, DrillResult]:
        """By key; at most a few hundred keys."""
        return {one.key: one for one in self._results(domain, DrillResultRow.key.in_(keys))}

    def to_mend(self, domain: str) -> list[DrillResult]:
        """Entries with findings, by document and title."""
        return self._results(domain, DrillResultRow.outcome != FINE)

    def counts(self, domain: str) -> Mapping[str, int]:
        """Outcome → number of entries."""
        query = (
            select(DrillResultRow.outcome, func.count())
            .where(DrillResultRow.domain == domain, DrillResultRow.document != "")
            .group_by(DrillResultRow.outcome)
        )
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def last_at(self, domain: str) -> datetime | None:
        """When an entry was drilled last, UTC without a zone."""
        query = select(func.max(DrillResultRow.drilled_at)).where(DrillResultRow.domain == domain)
        with self._engine.connect() as connection:
            return connection.scalar(query)

    def notice(self, domain: str, document: str) -> tuple[str, datetime | None]:
        """(hash of the findings, when) of what its owner heard last."""
        query = select(DrillNoticeRow.findings, DrillNoticeRow.at).where(
            DrillNoticeRow.domain == domain, DrillNoticeRow.document == document
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return (row.findings, row.at) if row else ("", None)

    def set_notice(self, domain: str, document: str, findings: str, at: datetime) -> None:
        values = {"domain": domain, "document": document, "findings": findings, "at": at}
        with self._engine.begin() as connection:
            replace_row(connection, DrillNoticeRow, **values)

    def recent_texts(self, domain: str, channels: Sequence[str], limit: int = 30) -> list[str]:
        """Texts of questions that were answered in these channels, the latest first."""
        query = (
            select(QuestionRow.text)
            .where(QuestionRow.domain == domain, QuestionRow.channel.in_(channels))
            .where(QuestionRow.state != WITHDRAWN, QuestionRow.answer.is_not(None))
            .order_by(QuestionRow.asked_at.desc())
        )
        with self._engine.connect() as connection:
            return list(connection.scalars(query.limit(limit)))

    def _results(self, domain: str, which: ColumnElement[bool]) -> list[DrillResult]:
        query = select(DrillResultRow).where(DrillResultRow.domain == domain, which)
        query = query.order_by(DrillResultRow.document, DrillResultRow.title)
        with self._engine.connect() as connection:
            return [_result(row) for row in connection.execute(query)]


def _result(row: Any) -> DrillResult:
    stored = (matching_fields(Finding, one) for one in json.loads(row.findings))
    findings = (Finding(**{**one, "documents": tuple(one["documents"])}) for one in stored)
    return DrillResult(
        key=row.key, document=row.document, title=row.title, generation=row.generation,
        findings=tuple(findings), drilled_at=row.drilled_at,
    )  # fmt: skip


def _is(state: DrillState) -> list[ColumnElement[bool]]:
    return [
        DrillRow.domain == state.domain, DrillRow.due == state.due, DrillRow.step == state.step
    ]  # fmt: skip
