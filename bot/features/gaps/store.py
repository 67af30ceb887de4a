"""Gaps in the database. Each change of a gap is made once, by any worker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Float,
    Index,
    String,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.features.gaps.questions import FailureSignals, GapState
from bot.questions.personal import Authors, PersonalTable, nothing
from config.models import Vectors
from durable.database import batches, insert_once, now, table_of
from durable.migration import migrate

MAX_COLLECTION_TIME = timedelta(minutes=10)
"""A worker that has held a domain for longer has died."""


class Base(DeclarativeBase):
    """Migration part `gaps`. No text of a question is stored here but in `bot_questions`."""


class GapRow(Base):
    __tablename__ = "bot_gaps"
    __table_args__ = (Index("bot_gaps_domain", "domain", "state"),)
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    state: Mapped[GapState] = mapped_column(
        String(16), comment="see bot/features/gaps/questions.py"
    )
    document: Mapped[str] = mapped_column(String(200), default="", comment="nearest to it")
    heading: Mapped[str] = mapped_column(Text, default="", comment="of that document")
    asked_of: Mapped[str] = mapped_column(
        String(120),
        default="",
        comment="what the places it waits for were like when it was last asked anew",
    )
    opened_at: Mapped[datetime]
    changed_at: Mapped[datetime] = mapped_column(comment="its state, UTC")
    touched_at: Mapped[datetime] = mapped_column(comment="its questions or its state, UTC")


class GapQuestionRow(Base):
    __tablename__ = "bot_gap_questions"
    __table_args__ = (Index("bot_gap_questions_gap", "gap"),)
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    gap: Mapped[str] = mapped_column(String(40), comment="empty: looked at, and in none")
    domain: Mapped[str] = mapped_column(String(64))
    asker: Mapped[str] = mapped_column(String(40))
    why: Mapped[str] = mapped_column(String(16), default="")
    marks: Mapped[str] = mapped_column(Text, comment="what was known of it when it was looked at")
    near: Mapped[float] = mapped_column(Float, default=0.0, comment="cosine of the nearest passage")
    name: Mapped[str] = mapped_column(Text, default="", comment="a model's short form of its words")
    asked_at: Mapped[datetime]


class GapVectorRow(Base):
    __tablename__ = "bot_gap_vectors"
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    vector: Mapped[bytes] = mapped_column(comment="of its words; float32")
    embedder: Mapped[str] = mapped_column(String(200), default="", comment="which model made it")
    asked_at: Mapped[datetime]


class GapChangeRow(Base):
    __tablename__ = "bot_gap_changes"
    __table_args__ = (Index("bot_gap_changes_gap", "gap"),)
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    gap: Mapped[str] = mapped_column(String(40))
    domain: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    by: Mapped[str] = mapped_column(String(40), default="", comment="who decided; empty: the bot")
    generation: Mapped[int] = mapped_column(default=0)
    at: Mapped[datetime]


class GapDraftRow(Base):
    __tablename__ = "bot_gap_drafts"
    __table_args__ = (Index("bot_gap_drafts_gap", "gap"),)
    id: Mapped[str] = mapped_column(String(80), primary_key=True, comment="of the suggestion")
    gap: Mapped[str] = mapped_column(String(40))
    question_id: Mapped[str] = mapped_column(String(80))
    domain: Mapped[str] = mapped_column(String(64))
    by: Mapped[str] = mapped_column(String(40), comment="whose words were suggested")
    outcome: Mapped[str] = mapped_column(String(16), default="", comment="accepted | dismissed")
    decided_by: Mapped[str] = mapped_column(String(40), default="")
    words: Mapped[str] = mapped_column(Text, default="", comment="as they were accepted")
    words_by: Mapped[str] = mapped_column(String(40), default="")
    document: Mapped[str] = mapped_column(String(200), default="")
    heading: Mapped[str] = mapped_column(Text, default="")
    made_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]


class GapLookRow(Base):
    __tablename__ = "bot_gap_looks"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    generation: Mapped[int] = mapped_column(default=0, comment="after which was asked anew")
    reported: Mapped[str] = mapped_column(String(40), default="", comment="planned time, UTC")
    busy_until: Mapped[datetime] = mapped_column(comment="somebody is looking")


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(GapQuestionRow), at="asked_at", people=("asker",),
        words={"name": Authors(by=("asker",), parts=("message", "thread"), shared=nothing)},
        question="question_id", plain="gap why marks", restated="name",
    ),
    PersonalTable(
        table=table_of(GapVectorRow), at="asked_at", question="question_id",
        plain="vector embedder",
    ),
    PersonalTable(
        table=table_of(GapDraftRow), at="made_at", people=("by", "decided_by", "words_by"),
        words={
            "words": Authors(by=("words_by", "decided_by"), parts=("resolution",)),
            "heading": Authors(by=("decided_by",)),
        },
        question="question_id", plain="id gap outcome document", drawn_from="document",
        emptied="heading",
    ),
    PersonalTable(table=table_of(GapChangeRow), at="at", people=("by",), plain="gap state"),
    PersonalTable(
        table=table_of(GapRow), at="touched_at", documents="heading",
        plain="id state document asked_of", drawn_from="document", emptied="heading",
    ),
    PersonalTable(table=table_of(GapLookRow), plain="reported"),
)  # fmt: skip


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, Base.metadata, "gaps")


class GapStore:
    """Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        create_tables(engine)

    def questions(self, domain: str = "") -> dict[str, GapQuestionRow]:
        """Questions by id, oldest first: all that were examined, also those in no gap."""
        query = select(GapQuestionRow).order_by(GapQuestionRow.asked_at, GapQuestionRow.question_id)
        if domain:
            query = query.where(GapQuestionRow.domain == domain)
        with self.engine.connect() as connection:
            rows = connection.execute(query).mappings()
            return {row["question_id"]: GapQuestionRow(**row) for row in rows}

    def add(
        self, signals: FailureSignals, *, gap: str, why: str = "", near: float = 0.0,
        vector: Vectors | None = None, embedder: str = "", name: str = "",
    ) -> None:  # fmt: skip
        """Store an examined question; an existing one stays where it is. `gap`: empty for none."""
        values = {
            "question_id": signals.question_id, "gap": gap, "domain": signals.domain, "why": why,
            "asker": signals.asker, "marks": signals.marks, "near": near, "name": name,
            "asked_at": signals.asked_at,
        }  # fmt: skip
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(GapQuestionRow).values(**values))
                if vector is not None:
                    connection.execute(
                        insert(GapVectorRow).values(
                            question_id=signals.question_id,
                            domain=signals.domain,
                            vector=np.asarray(vector, np.float32).tobytes(),
                            embedder=embedder,
                            asked_at=signals.asked_at,
                        )
                    )
                if gap:
                    touch = update(GapRow).where(GapRow.id == gap)
                    connection.execute(touch.values(touched_at=now()))
        except IntegrityError:
            return

    def update_question(self, question_id: str, **values: str) -> None:
        change = update(GapQuestionRow).where(GapQuestionRow.question_id == question_id)
        with self.engine.begin() as connection:
            connection.execute(change.values(**values))

    def drop(self, ids: Collection[str]) -> None:
        """Delete questions that are in no gap any more."""
        with self.engine.begin() as connection:
            for batch in batches(ids):
                for row in (GapQuestionRow, GapVectorRow):
                    connection.execute(delete(row).where(row.question_id.in_(batch)))

    def vectors(self, ids: Collection[str]) -> dict[str, Vectors]:
        """Vectors by question id."""
        query = select(GapVectorRow.question_id, GapVectorRow.vector)
        vectors: dict[str, Vectors] = {}
        with self.engine.connect() as connection:
            for batch in batches(ids):
                rows = connection.execute(query.where(GapVectorRow.question_id.in_(batch)))
                vectors |= {row.question_id: np.frombuffer(row.vector, np.float32) for row in rows}
        return vectors

    def outdated_vectors(self, domain: str, embedder: str) -> list[str]:
        """Ids of the questions whose vector is another embedder's."""
        query = select(GapVectorRow.question_id).where(
            GapVectorRow.domain == domain, GapVectorRow.embedder != embedder
        )
        with self.engine.connect() as connection:
            return list(connection.scalars(query))

    def replace_vectors(self, vectors: Iterable[tuple[str, Vectors]], embedder: str) -> None:
        """`vectors`: question id and vector."""
        with self.engine.begin() as connection:
            for question_id, vector in vectors:
                change = update(GapVectorRow).where(GapVectorRow.question_id == question_id)
                stored = np.asarray(vector, np.float32).tobytes()
                connection.execute(change.values(vector=stored, embedder=embedder))

    def open(self, gap: str, domain: str, *, asked_at: datetime) -> bool:
        """Whether the gap is new."""
        values = {
            "id": gap, "domain": domain, "state": "open", "document": "", "heading": "",
            "asked_of": "", "opened_at": asked_at, "changed_at": now(), "touched_at": now(),
        }  # fmt: skip
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(GapRow).values(**values))
                _add_change(connection, gap=gap, domain=domain, state="open")
        except IntegrityError:
            return False
        return True

    def get(self, gap: str) -> GapRow | None:
        return next(iter(self._gaps(GapRow.id == gap)), None)

    def in_domain(self, domain: str) -> list[GapRow]:
        """Oldest first."""
        return self._gaps(GapRow.domain == domain)

    def move(self, gap: GapRow, state: GapState, *, by: str = "", generation: int = 0) -> bool:
        """Move a gap to another state, unless its state has changed since `gap` was read."""
        if state == gap.state:
            return False
        change = update(GapRow).where(GapRow.id == gap.id, GapRow.state == gap.state)
        with self.engine.begin() as connection:
            values = {"state": state, "changed_at": now(), "touched_at": now()}
            moved = connection.execute(change.values(**values)).rowcount > 0
            if moved:
                _add_change(
                    connection, gap=gap.id, domain=gap.domain, state=state, by=by,
                    generation=generation,
                )  # fmt: skip
        return moved

    def set(self, gap: str, **values: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(update(GapRow).where(GapRow.id == gap).values(**values))

    def delete_empty(self, domain: str) -> None:
        """Delete gaps that have no questions any more."""
        with_questions = select(GapQuestionRow.gap)
        with self.engine.begin() as connection:
            empty = connection.scalars(
                select(GapRow.id).where(GapRow.domain == domain, GapRow.id.not_in(with_questions))
            ).all()
            for batch in batches(empty):
                for column in (GapRow.id, GapChangeRow.gap, GapDraftRow.gap):
                    connection.execute(delete(column.class_).where(column.in_(batch)))

    def counts(self) -> Mapping[tuple[str, str], int]:
        """(domain, state) → gaps that have questions."""
        query = (
            select(GapRow.domain, GapRow.state, func.count())
            .where(GapRow.id.in_(select(GapQuestionRow.gap)))
            .group_by(GapRow.domain, GapRow.state)
        )
        with self.engine.connect() as connection:
            return {(row[0], row[1]): int(row[2]) for row in connection.execute(query)}

    def changes(self, domain: str) -> list[GapChangeRow]:
        """Changes of all its gaps, oldest first."""
        query = select(GapChangeRow).where(GapChangeRow.domain == domain).order_by(GapChangeRow.id)
        with self.engine.connect() as connection:
            return [GapChangeRow(**row) for row in connection.execute(query).mappings()]

    def claim_domain(self, domain: str) -> bool:
        """Whether this worker may examine the domain's questions now; until `release_domain`."""
        self._add_domain(domain)
        change = update(GapLookRow).where(
            GapLookRow.domain == domain, GapLookRow.busy_until <= now()
        )
        with self.engine.begin() as connection:
            claim = change.values(busy_until=now() + MAX_COLLECTION_TIME)
            return connection.execute(claim).rowcount > 0

    def release_domain(self, domain: str) -> None:
        self.set_progress(domain, busy_until=now())

    def progress(self, domain: str) -> tuple[int, str]:
        """The generation that was last asked again, and the planned time of the last report."""
        query = select(GapLookRow.generation, GapLookRow.reported)
        with self.engine.connect() as connection:
            row = connection.execute(query.where(GapLookRow.domain == domain)).first()
        return (row.generation, row.reported) if row else (0, "")

    def set_progress(self, domain: str, **values: object) -> None:
        self._add_domain(domain)
        change = update(GapLookRow).where(GapLookRow.domain == domain)
        with self.engine.begin() as connection:
            connection.execute(change.values(**values))

    def _add_domain(self, domain: str) -> None:
        query = select(GapLookRow.domain).where(GapLookRow.domain == domain)
        with self.engine.connect() as connection:
            exists = connection.execute(query).first() is not None
        if not exists:
            insert_once(
                self.engine, GapLookRow, domain=domain, generation=0, reported="", busy_until=now()
            )

    def _gaps(self, where: ColumnElement[bool]) -> list[GapRow]:
        query = select(GapRow).where(where).order_by(GapRow.opened_at, GapRow.id)
        with self.engine.connect() as connection:
            return [GapRow(**row) for row in connection.execute(query).mappings()]


def _add_change(connection: Connection, **values: Any) -> None:
    connection.execute(insert(GapChangeRow).values(**values, at=now()))
