"""Uses of runbook entries, and people's grades of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Engine, Index, String, Text, delete, func, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.features.track_record.record import EntryUse
from bot.questions.personal import PersonalTable
from durable.database import insert_once, table_of
from durable.migration import migrate


class _Base(DeclarativeBase):
    pass


class UseRow(_Base):
    __tablename__ = "bot_runbook_uses"
    __table_args__ = (Index("bot_runbook_uses_entry", "domain", "entry"),)

    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    entry: Mapped[str] = mapped_column(
        String(24), primary_key=True, comment="of its place and words"
    )
    domain: Mapped[str] = mapped_column(String(64))
    document: Mapped[str] = mapped_column(String(200))
    name: Mapped[str] = mapped_column(Text, comment="the alert's")
    began_at: Mapped[datetime] = mapped_column(comment="UTC, of the alert")
    resolved_at: Mapped[datetime | None]
    outcome: Mapped[str] = mapped_column(
        String(16), default="", comment="unknown | resolved | failed; '' nobody used it"
    )
    message_ts: Mapped[str] = mapped_column(
        String(40), default="", comment="of the question how it did; '-' Slack refused it"
    )


class GradeRow(_Base):
    __tablename__ = "bot_runbook_grades"

    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    entry: Mapped[str] = mapped_column(String(24), primary_key=True)
    number: Mapped[int] = mapped_column(
        primary_key=True, comment="from 0; no person in the key: grades of erased people count"
    )
    user: Mapped[str] = mapped_column(String(40))
    grade: Mapped[str] = mapped_column(String(16), comment="fixed | short | area | wrong")
    at: Mapped[datetime] = mapped_column(comment="UTC, by Slack's clock")


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(UseRow), question="question_id",
        plain="entry document name outcome message_ts",
    ),
    PersonalTable(
        table=table_of(GradeRow), question="question_id", people=("user",), plain="entry grade"
    ),
)  # fmt: skip
"""Names are of alerts, which programs write."""
_COLUMNS = [UseRow.__table__.c[name] for name in EntryUse.__dataclass_fields__]


def create_tables(engine: Engine) -> None:
    migrate(engine, _Base.metadata, "track record")


class TrackRecordStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def begin(self, use: EntryUse) -> None:
        """Record a use that may become one; a second time it changes nothing."""
        insert_once(self._engine, UseRow, **vars(use))

    def of_question(self, question_id: str) -> list[EntryUse]:
        """By the alert's name."""
        return self._uses(UseRow.question_id == question_id)

    def of_entry(self, domain: str, entry: str) -> list[EntryUse]:
        return self._uses(UseRow.domain == domain, UseRow.entry == entry, UseRow.outcome != "")

    def set(self, question_id: str, *only: ColumnElement[bool], **values: object) -> None:
        """Set columns of a question's uses."""
        change = update(UseRow).where(UseRow.question_id == question_id, *only)
        with self._engine.begin() as connection:
            connection.execute(change.values(**values))

    def settle(self, use: EntryUse) -> None:
        values = {"outcome": use.outcome, "resolved_at": use.resolved_at}
        self.set(use.question_id, UseRow.entry == use.entry, **values)

    def delete(self, question_id: str) -> None:
        """With its grades."""
        with self._engine.begin() as connection:
            for row in (UseRow, GradeRow):
                connection.execute(delete(row).where(row.question_id == question_id))

    def grade(self, use: EntryUse, user: str, grade: str, at: datetime) -> None:
        """One grade per person and use: the last press counts, whichever is handled last."""
        key = {"question_id": use.question_id, "entry": use.entry}
        of_use = GradeRow.question_id == use.question_id, GradeRow.entry == use.entry
        while True:
            query = select(GradeRow.number, GradeRow.user).where(*of_use)
            with self._engine.connect() as connection:
                people = {row.number: row.user for row in connection.execute(query)}
            if user in people.values():
                mine = (*of_use, GradeRow.user == user, GradeRow.at <= at)
                with self._engine.begin() as connection:
                    connection.execute(update(GradeRow).where(*mine).values(grade=grade, at=at))
                return
            number = max(people, default=-1) + 1
            if insert_once(
                self._engine, GradeRow, **key, number=number, user=user, grade=grade, at=at
            ):
                return
            # Another worker took the number: perhaps for a press of the same person.

    def grades(self, question_id: str) -> Mapping[str, Mapping[str, int]]:
        """Entry → grade → people."""
        query = (
            select(GradeRow.entry, GradeRow.grade, func.count().label("people"))
            .where(GradeRow.question_id == question_id)
            .group_by(GradeRow.entry, GradeRow.grade)
        )
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                counts[row.entry][row.grade] = row.people
        return dict(counts)

    def wrong_since(
        self, domain: str, since: datetime, *, limit: int = 10
    ) -> list[tuple[EntryUse, int]]:
        """Uses that were graded wrong since then, the latest first, and by how many people."""
        query = (
            select(*_COLUMNS, func.count().label("people"))
            .join(
                GradeRow,
                (GradeRow.question_id == UseRow.question_id) & (GradeRow.entry == UseRow.entry),
            )
            .where(UseRow.domain == domain, GradeRow.grade == "wrong", GradeRow.at >= since)
            .group_by(*_COLUMNS)
            .order_by(func.max(GradeRow.at).desc())
            .limit(limit)
        )
        with self._engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
        counts = [row.pop("people") for row in rows]
        return [(EntryUse(**row), people) for row, people in zip(rows, counts, strict=True)]

    def _uses(self, *where: ColumnElement[bool]) -> list[EntryUse]:
        query = select(*_COLUMNS).where(*where).order_by(UseRow.name, UseRow.entry)
        with self._engine.connect() as connection:
            return [EntryUse(**row) for row in connection.execute(query).mappings()]
