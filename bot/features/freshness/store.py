"""Tables for outdated documents; stores of flags, contradictions and reminders of owners."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Engine, Index, String, Text, func, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.questions.personal import Authors, PersonalTable
from durable.database import insert_once, now, replace_row, table_of
from durable.migration import migrate

OPEN = "open"
"""State of a contradiction that nobody has settled."""


class Base(DeclarativeBase):
    """Migration part `aging`."""


class HelpfulSeenRow(Base):
    __tablename__ = "bot_helpful_seen"
    question_id: Mapped[str] = mapped_column(
        String(80), primary_key=True, comment="its verdict was looked at"
    )
    domain: Mapped[str] = mapped_column(String(64))
    given_at: Mapped[datetime] = mapped_column(comment="when that verdict was given, UTC")


class HelpedPlaceRow(Base):
    __tablename__ = "bot_helped_places"
    __table_args__ = (Index("bot_helped_places_document", "domain", "document"),)
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    place: Mapped[str] = mapped_column(
        String(24), primary_key=True, comment="a mark of document, heading and row"
    )
    domain: Mapped[str] = mapped_column(String(64))
    document: Mapped[str] = mapped_column(String(255))
    kept: Mapped[str] = mapped_column(Text, comment="what the place said, as JSON")
    marked_at: Mapped[datetime] = mapped_column(comment="when it was marked helpful, UTC")


class CitedDayRow(Base):
    __tablename__ = "bot_cited_days"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[str] = mapped_column(
        String(255), primary_key=True, comment="'': the day was counted"
    )
    day: Mapped[datetime] = mapped_column(primary_key=True, comment="its midnight, UTC")
    answers: Mapped[int] = mapped_column(comment="answers that cited it")


class OwnerReminderRow(Base):
    __tablename__ = "bot_owners_reminded"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[str] = mapped_column(
        String(255), primary_key=True, comment="'': the week's reminders are done"
    )
    reminded_at: Mapped[datetime]


class FlagRow(Base):
    __tablename__ = "bot_flags"
    __table_args__ = (Index("bot_flags_document", "domain", "document"),)
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    document: Mapped[str] = mapped_column(String(255))
    place: Mapped[str] = mapped_column(String(24))
    kept: Mapped[str] = mapped_column(Text, comment="what the place said, as JSON")
    words: Mapped[str] = mapped_column(Text, comment="what is out of date, in a reader's words")
    flagged_by: Mapped[str] = mapped_column(String(40))
    question_id: Mapped[str] = mapped_column(String(80))
    outcome: Mapped[str] = mapped_column(String(16), default="", comment="'' while it waits")
    decided_by: Mapped[str] = mapped_column(String(40), default="")
    flagged_at: Mapped[datetime]


class ContradictionRow(Base):
    __tablename__ = "bot_contradictions"
    __table_args__ = (Index("bot_contradictions_domain", "domain", "state"),)
    id: Mapped[str] = mapped_column(
        String(40), primary_key=True, comment="of two places: the same in either order"
    )
    domain: Mapped[str] = mapped_column(String(64))
    one: Mapped[str] = mapped_column(Text, comment="a place and marks of what it said, as JSON")
    other: Mapped[str] = mapped_column(Text)
    about: Mapped[str] = mapped_column(Text, comment="on what they differ")
    state: Mapped[str] = mapped_column(String(16), comment="open | one | other | none")
    decided_by: Mapped[str] = mapped_column(String(40), default="")
    found_at: Mapped[datetime] = mapped_column(comment="when it last became open")
    met_at: Mapped[datetime] = mapped_column(comment="when it was last met")


class ContradictionSightingRow(Base):
    __tablename__ = "bot_contradictions_met"
    contradiction: Mapped[str] = mapped_column(String(40), primary_key=True)
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    met_at: Mapped[datetime]


PERSONAL_TABLES = (
    PersonalTable(table=table_of(HelpfulSeenRow), at="given_at", question="question_id"),
    PersonalTable(
        table=table_of(HelpedPlaceRow), at="marked_at", question="question_id", documents="kept",
        plain="place document", drawn_from="document",
    ),
    PersonalTable(table=table_of(CitedDayRow), at="day", plain="document"),
    PersonalTable(table=table_of(OwnerReminderRow), plain="document"),
    PersonalTable(
        table=table_of(FlagRow), at="flagged_at", people=("flagged_by", "decided_by"),
        words={"words": Authors(by=("flagged_by",))}, question="question_id", documents="kept",
        plain="id document place outcome", drawn_from="document",
    ),
    PersonalTable(
        table=table_of(ContradictionRow), at="met_at", people=("decided_by",),
        documents="one other about", plain="id state", drawn_from="one other",
    ),
    PersonalTable(
        table=table_of(ContradictionSightingRow), at="met_at", question="question_id",
        plain="contradiction",
    ),
)  # fmt: skip


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, Base.metadata, "aging")


class FlagStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def count(self, user: str, since: datetime) -> int:
        query = select(func.count()).where(FlagRow.flagged_by == user, FlagRow.flagged_at > since)
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def exists(self, flag: str) -> bool:
        with self._engine.connect() as connection:
            query = select(FlagRow.id).where(FlagRow.id == flag)
            return connection.execute(query).first() is not None

    def add(self, flag: str, **values: str) -> None:
        """Store a flag once: an attempt before a crash may have stored it."""
        insert_once(self._engine, FlagRow, id=flag, flagged_at=now(), **values)

    def set_outcome(self, flag: str, outcome: str, by: str) -> None:
        """The first outcome stays."""
        change = update(FlagRow).where(FlagRow.id == flag, FlagRow.outcome == "")
        with self._engine.begin() as connection:
            connection.execute(change.values(outcome=outcome, decided_by=by[:40]))

    def waiting_since(self, domain: str, since: datetime) -> list[FlagRow]:
        """Newest first."""
        return self._flags(domain, FlagRow.outcome == "", FlagRow.flagged_at >= since)

    def active(self, domain: str, documents: Collection[str]) -> list[FlagRow]:
        """Waiting or accepted, newest first."""
        in_documents = FlagRow.document.in_(documents)
        return self._flags(domain, in_documents, FlagRow.outcome.in_(("", "accepted")))

    def _flags(self, domain: str, *where: ColumnElement[bool]) -> list[FlagRow]:
        query = select(FlagRow).where(FlagRow.domain == domain, *where)
        query = query.order_by(FlagRow.flagged_at.desc()).limit(200)
        with self._engine.connect() as connection:
            return [FlagRow(**row) for row in connection.execute(query).mappings()]


class ContradictionStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, contradiction: str) -> ContradictionRow | None:
        query = select(ContradictionRow).where(ContradictionRow.id == contradiction)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return ContradictionRow(**row) if row else None

    def open_in(
        self, domain: str, since: datetime | None = None
    ) -> list[tuple[ContradictionRow, int]]:
        """Each with the questions whose answer met it, most first. `since`: only those that opened
        later; UTC, without a zone."""
        sightings = (
            select(func.count())
            .select_from(ContradictionSightingRow)
            .where(ContradictionSightingRow.contradiction == ContradictionRow.id)
            .scalar_subquery()
        )
        query = (
            select(ContradictionRow, sightings.label("times"))
            .where(ContradictionRow.domain == domain, ContradictionRow.state == OPEN)
            .order_by(sightings.desc(), ContradictionRow.found_at.desc(), ContradictionRow.id)
        )
        if since:
            query = query.where(ContradictionRow.found_at >= since)
        with self._engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
        times = [row.pop("times") for row in rows]
        return [(ContradictionRow(**row), count) for row, count in zip(rows, times, strict=True)]

    def add(self, contradiction: str, domain: str, **values: object) -> bool:
        """False where it exists."""
        return insert_once(
            self._engine, ContradictionRow, id=contradiction, domain=domain, state=OPEN,
            decided_by="", met_at=now(), **values,
        )  # fmt: skip

    def add_sighting(self, contradiction: str, question_id: str, domain: str) -> None:
        insert_once(
            self._engine, ContradictionSightingRow, contradiction=contradiction,
            question_id=question_id, domain=domain, met_at=now(),
        )  # fmt: skip

    def set(self, contradiction: str, *where: ColumnElement[bool], **values: object) -> None:
        """`where`: nothing is changed unless that is so."""
        change = update(ContradictionRow).where(ContradictionRow.id == contradiction, *where)
        with self._engine.begin() as connection:
            connection.execute(change.values(**values))

    def settle(self, contradiction: str, choice: str, user: str) -> bool:
        """Whether it is settled by this user in this way, now or before; the first one settles."""
        self.set(contradiction, ContradictionRow.state == OPEN, state=choice, decided_by=user)
        row = self.get(contradiction)
        return row is not None and (row.state, row.decided_by) == (choice, user)


class ReminderStore:
    """When owners of documents were last reminded."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def last(self, domain: str) -> dict[str, datetime]:
        """Time of the last reminder by document; under '' the last time reminders were sent."""
        query = select(OwnerReminderRow.document, OwnerReminderRow.reminded_at).where(
            OwnerReminderRow.domain == domain
        )
        with self._engine.connect() as connection:
            return {row.document: row.reminded_at for row in connection.execute(query)}

    def set(self, domain: str, documents: Collection[str], at: datetime) -> None:
        with self._engine.begin() as connection:
            for document in ("", *documents):
                replace_row(
                    connection, OwnerReminderRow, domain=domain, document=document, reminded_at=at
                )
