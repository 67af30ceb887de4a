"""Gaps in the database: each change of one is made once, whichever worker makes it.

What is kept of gaps in the documents: which questions are in one, what became of it, and what a
human's words for it became. No question's words: these are read from the question itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from bot.db import PersonalTable, batches, now
from bot.features.gaps.questions import FailureSignals, GapState
from config.models import Vectors
from durable.migration import migrate

_METADATA = MetaData()

gaps = Table(
    "bot_gaps",
    _METADATA,
    Column("id", String(40), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("state", String(16), nullable=False, comment="see bot/features/gaps/questions.py"),
    Column("document", String(200), nullable=False, default="", comment="nearest to it"),
    Column("heading", Text, nullable=False, default="", comment="of that document"),
    Column(
        "asked_of",
        String(120),
        nullable=False,
        default="",
        comment="what the places it waits for were like when it was last asked anew",
    ),
    Column("opened_at", DateTime, nullable=False),
    Column("changed_at", DateTime, nullable=False, comment="its state, UTC"),
    Column("touched_at", DateTime, nullable=False, comment="its questions or its state, UTC"),
    Index("bot_gaps_domain", "domain", "state"),
)

gap_questions = Table(
    "bot_gap_questions",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("gap", String(40), nullable=False, comment="empty: looked at, and in none"),
    Column("domain", String(64), nullable=False),
    Column("asker", String(40), nullable=False),
    Column("why", String(16), nullable=False, default=""),
    Column("marks", Text, nullable=False, comment="what was known of it when it was looked at"),
    Column("near", Float, nullable=False, default=0.0, comment="cosine of the nearest passage"),
    Column("name", Text, nullable=False, default="", comment="a model's short form of its words"),
    Column("asked_at", DateTime, nullable=False),
    Index("bot_gap_questions_gap", "gap"),
)

gap_vectors = Table(
    "bot_gap_vectors",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("domain", String(64), nullable=False),
    Column("vector", LargeBinary, nullable=False, comment="of its words; float32"),
    Column("embedder", String(200), nullable=False, default="", comment="which model made it"),
    Column("asked_at", DateTime, nullable=False),
)

gap_changes = Table(
    "bot_gap_changes",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("gap", String(40), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("by", String(40), nullable=False, default="", comment="who decided; empty: the bot"),
    Column("generation", Integer, nullable=False, default=0),
    Column("at", DateTime, nullable=False),
    Index("bot_gap_changes_gap", "gap"),
)

gap_drafts = Table(
    "bot_gap_drafts",
    _METADATA,
    Column("id", String(80), primary_key=True, comment="of the suggestion"),
    Column("gap", String(40), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("by", String(40), nullable=False, comment="whose words were suggested"),
    Column("outcome", String(16), nullable=False, default="", comment="accepted | dismissed"),
    Column("decided_by", String(40), nullable=False, default=""),
    Column("words", Text, nullable=False, default="", comment="as they were accepted"),
    Column("words_by", String(40), nullable=False, default=""),
    Column("document", String(200), nullable=False, default=""),
    Column("heading", Text, nullable=False, default=""),
    Column("made_at", DateTime, nullable=False),
    Column("decided_at", DateTime),
    Index("bot_gap_drafts_gap", "gap"),
)

gap_looks = Table(
    "bot_gap_looks",
    _METADATA,
    Column("domain", String(64), primary_key=True),
    Column("generation", Integer, nullable=False, default=0, comment="after which was asked anew"),
    Column("reported", String(40), nullable=False, default="", comment="planned time, UTC"),
    Column("busy_until", DateTime, nullable=False, comment="somebody is looking"),
)

KEPT_OF_GAPS = (
    PersonalTable(
        table=gap_questions, at="asked_at", people=("asker",), words={"name": "asker"},
        question="question_id",
    ),
    PersonalTable(table=gap_vectors, at="asked_at", question="question_id"),
    PersonalTable(
        table=gap_drafts, at="made_at", people=("by", "decided_by", "words_by"),
        words={"words": "words_by"}, question="question_id",
    ),
    PersonalTable(table=gap_changes, at="at", people=("by",)),
    PersonalTable(table=gaps, at="touched_at"),
)  # fmt: skip


def create_gap_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "gaps")


LONGEST_LOOK = timedelta(minutes=10)
"""After that, whoever looked has died."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A question that was looked at."""

    question_id: str
    gap: str
    """Empty: in none."""
    domain: str
    marks: str


@dataclass(frozen=True, kw_only=True)
class GapRow:
    id: str
    domain: str
    state: GapState
    document: str
    heading: str
    asked_of: str
    opened_at: datetime
    changed_at: datetime


class GapStore:
    """Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        create_gap_tables(engine)

    def members(self, domain: str = "") -> dict[str, Member]:
        query = select(
            gap_questions.c.question_id, gap_questions.c.gap, gap_questions.c.domain,
            gap_questions.c.marks,
        ).order_by(gap_questions.c.asked_at, gap_questions.c.question_id)  # fmt: skip
        if domain:
            query = query.where(gap_questions.c.domain == domain)
        with self.engine.connect() as connection:
            rows = connection.execute(query).mappings()
            return {row["question_id"]: Member(**row) for row in rows}

    def add(
        self, signs: FailureSignals, *, gap: str, why: str = "", near: float = 0.0,
        vector: Vectors | None = None, embedder: str = "", name: str = "",
    ) -> None:  # fmt: skip
        """A question that was looked at; one that is known already stays where it is."""
        values = {
            "question_id": signs.question_id, "gap": gap, "domain": signs.domain, "why": why,
            "asker": signs.asker, "marks": signs.marks, "near": near, "name": name,
            "asked_at": signs.asked_at,
        }  # fmt: skip
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(gap_questions).values(**values))
                if vector is not None:
                    connection.execute(
                        insert(gap_vectors).values(
                            question_id=signs.question_id,
                            domain=signs.domain,
                            vector=np.asarray(vector, np.float32).tobytes(),
                            embedder=embedder,
                            asked_at=signs.asked_at,
                        )
                    )
                if gap:
                    touched = update(gaps).where(gaps.c.id == gap)
                    connection.execute(touched.values(touched_at=now()))
        except IntegrityError:
            return

    def note(self, signs: FailureSignals, why: str) -> None:
        """What is known of a question by now; it stays in its gap."""
        change = update(gap_questions).where(gap_questions.c.question_id == signs.question_id)
        with self.engine.begin() as connection:
            connection.execute(change.values(marks=signs.marks, why=why))

    def drop(self, ids: Collection[str]) -> None:
        """Questions that are in no gap any more."""
        with self.engine.begin() as connection:
            for batch in batches(ids):
                for table in (gap_questions, gap_vectors):
                    connection.execute(delete(table).where(table.c.question_id.in_(batch)))

    def name(self, question_id: str, name: str) -> None:
        change = update(gap_questions).where(gap_questions.c.question_id == question_id)
        with self.engine.begin() as connection:
            connection.execute(change.values(name=name))

    def open(self, gap: str, domain: str, *, asked_at: datetime) -> bool:
        """Whether it began now, and was not there."""
        values = {
            "id": gap, "domain": domain, "state": "open", "document": "", "heading": "",
            "asked_of": "", "opened_at": asked_at, "changed_at": now(), "touched_at": now(),
        }  # fmt: skip
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(gaps).values(**values))
                self._changed(connection, gap, domain, "open", "", 0)
        except IntegrityError:
            return False
        return True

    def get(self, gap: str) -> GapRow | None:
        return next(iter(self._gaps(gaps.c.id == gap)), None)

    def of(self, domain: str) -> list[GapRow]:
        return self._gaps(gaps.c.domain == domain)

    def move(self, gap: GapRow, state: GapState, *, by: str = "", generation: int = 0) -> bool:
        """To another state, if nobody has moved it since; its history tells."""
        if state == gap.state:
            return False
        change = update(gaps).where(gaps.c.id == gap.id, gaps.c.state == gap.state)
        with self.engine.begin() as connection:
            values = {"state": state, "changed_at": now(), "touched_at": now()}
            moved = connection.execute(change.values(**values)).rowcount > 0
            if moved:
                self._changed(connection, gap.id, gap.domain, state, by, generation)
        return moved

    def set(self, gap: str, **values: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(update(gaps).where(gaps.c.id == gap).values(**values))

    def forget_empty(self, domain: str) -> None:
        """Gaps whose questions are all gone."""
        inhabited = select(gap_questions.c.gap)
        with self.engine.begin() as connection:
            empty = connection.scalars(
                select(gaps.c.id).where(gaps.c.domain == domain, gaps.c.id.not_in(inhabited))
            ).all()
            for batch in batches(empty):
                for table, column in (
                    (gaps, gaps.c.id), (gap_changes, gap_changes.c.gap),
                    (gap_drafts, gap_drafts.c.gap),
                ):  # fmt: skip
                    connection.execute(delete(table).where(column.in_(batch)))

    def counts(self) -> Mapping[tuple[str, str], int]:
        """(domain, state) → gaps that have questions."""
        query = (
            select(gaps.c.domain, gaps.c.state, func.count())
            .where(gaps.c.id.in_(select(gap_questions.c.gap)))
            .group_by(gaps.c.domain, gaps.c.state)
        )
        with self.engine.connect() as connection:
            return {(row[0], row[1]): int(row[2]) for row in connection.execute(query)}

    def look(self, domain: str) -> bool:
        """Whether to look now: nobody else is at it."""
        self._begin(domain)
        free = update(gap_looks).where(
            gap_looks.c.domain == domain, gap_looks.c.busy_until <= now()
        )
        with self.engine.begin() as connection:
            taken = connection.execute(free.values(busy_until=now() + LONGEST_LOOK))
            return taken.rowcount > 0

    def looked(self, domain: str) -> None:
        self.noted(domain, busy_until=now())

    def noted(self, domain: str, **values: object) -> None:
        self._begin(domain)
        change = update(gap_looks).where(gap_looks.c.domain == domain)
        with self.engine.begin() as connection:
            connection.execute(change.values(**values))

    def last(self, domain: str) -> tuple[int, str]:
        """The generation after which was asked anew, and the report sent last."""
        query = select(gap_looks.c.generation, gap_looks.c.reported)
        with self.engine.connect() as connection:
            row = connection.execute(query.where(gap_looks.c.domain == domain)).first()
        return (row.generation, row.reported) if row else (0, "")

    def _begin(self, domain: str) -> None:
        values = {"domain": domain, "generation": 0, "reported": "", "busy_until": now()}
        try:
            with self.engine.begin() as connection:
                known = select(gap_looks.c.domain).where(gap_looks.c.domain == domain)
                if connection.execute(known).first() is None:
                    connection.execute(insert(gap_looks).values(**values))
        except IntegrityError:
            return

    def _gaps(self, where: ColumnElement[bool]) -> list[GapRow]:
        columns = [gaps.c[name] for name in GapRow.__dataclass_fields__]
        query = select(*columns).where(where).order_by(gaps.c.opened_at, gaps.c.id)
        with self.engine.connect() as connection:
            return [GapRow(**row) for row in connection.execute(query).mappings()]

    @staticmethod
    def _changed(
        connection: Connection, gap: str, domain: str, state: str, by: str, generation: int
    ) -> None:
        values = {
            "gap": gap, "domain": domain, "state": state, "by": by, "generation": generation,
            "at": now(),
        }  # fmt: skip
        connection.execute(insert(gap_changes).values(**values))
