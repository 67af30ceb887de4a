"""Declarations of stored text: whose words each column holds, and until when.

Export, erasure, purge and the table of docs/privacy.md are loops over these. Words of people who
are not named in the row itself (the author of a message that somebody else asked about, or ticked
as a solution) are found by `bot_word_authors`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from sqlalchemy import ColumnElement, Connection, Engine, Index, String, Table, false, or_, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.questions.tables import (
    ExplanationRow,
    FeedbackRow,
    HandoffRow,
    PostRow,
    QuestionRow,
    ScreenshotRow,
)
from durable.database import insert_once, now, table_of
from durable.migration import migrate
from index.permissions.words import Words

Part = Literal["message", "thread", "resolution"]
"""What another person's words became of a question: its text (asked about by the shortcut), a part
of its thread (read for the answer and the self-contained question), or its solution."""


@dataclass(frozen=True, kw_only=True)
class Authors:
    """Whose words a column holds."""

    by: tuple[str, ...] = ()
    """Columns with ids of authors."""
    asker: bool = False
    """Also of the asker of the row's question."""
    parts: tuple[Part, ...] = ()
    """Also of these authors in `bot_word_authors`."""
    shared: Callable[[str], str] = lambda text: text
    """Stored text → as much of it as is exported to an author of whom only words are in the row."""


@dataclass(frozen=True, kw_only=True)
class PersonalTable:
    """How a table of the bot is purged, exported and erased; names of columns, those of text
    complete."""

    table: Table
    at: str = ""
    """Time of a row, UTC without a zone; the row is deleted `retention.days` of its domain later.
    Empty: deleted with its question, or by a rule of its own."""
    domain: str = "domain"
    owner: str = ""
    """The person to whom the whole row belongs: erased with them."""
    people: tuple[str, ...] = ()
    """Slack user ids, or e-mail addresses of people who asked by the API; they become `ERASED`, so
    none is part of a key."""
    blank: tuple[str, ...] = ()
    """The same, but they become empty."""
    words: Mapping[str, Authors] = field(default_factory=dict)
    documents: str = ""
    """Columns with text of documents, separated by spaces."""
    plain: str = ""
    """Columns of ids, states and times: nobody's words."""
    drawn_from: str = ""
    """Columns that name the documents of the row's text, as an id or in JSON: the row is deleted
    with any of them."""
    emptied: str = ""
    """Columns that become empty instead; the row stays."""
    moot: ColumnElement[bool] = field(default_factory=false)
    """Rows that are deleted all the same."""
    restated: str = ""
    """Column with a self-contained question: empty once a document that it may repeat is
    deleted."""
    question: str = ""
    """Column of the question id whose deletion deletes the row; empty: none."""
    until: str = ""
    """For the docs, where a rule of its own deletes the row."""


def declared_columns(of: PersonalTable) -> frozenset[str]:
    groups = (of.people, of.blank, of.words, of.documents.split(), of.plain.split())
    return frozenset({of.owner, of.question, of.at, of.domain}.union(*groups))


def naming(of: PersonalTable, names: Collection[str]) -> list[ColumnElement[bool]]:
    """Conditions for rows that name a person."""
    authors = (column for words in of.words.values() for column in words.by)
    every = dict.fromkeys((*filter(None, [of.owner]), *of.people, *of.blank, *authors))
    return [of.table.c[one].in_(names) for one in every]


def authored_by(of: PersonalTable, column: str, names: Collection[str]) -> ColumnElement[bool]:
    """Condition for rows in which this column holds the person's words and nobody else's."""
    words, c = of.words[column], of.table.c
    conditions = [c[one].in_(names) for one in words.by]
    if words.asker:
        of_asker = select(QuestionRow.id).where(QuestionRow.asker.in_(names))
        conditions.append(c[of.question].in_(of_asker))
    return or_(false(), *conditions)


def written_by(of: PersonalTable, column: str, names: Collection[str]) -> ColumnElement[bool]:
    """Condition for rows in which this column may hold words of the person's."""
    words, conditions = of.words[column], [authored_by(of, column, names)]
    if words.parts:
        shared = select(WordAuthorRow.question_id).where(
            WordAuthorRow.person.in_(names), WordAuthorRow.part.in_(words.parts)
        )
        conditions.append(of.table.c[of.question].in_(shared))
    return or_(*conditions)


class Base(DeclarativeBase):
    """Migration part `word authors`."""


class WordAuthorRow(Base):
    __tablename__ = "bot_word_authors"
    __table_args__ = (Index("bot_word_authors_person", "person"),)
    question_id: Mapped[str] = mapped_column(String(80), primary_key=True)
    part: Mapped[Part] = mapped_column(
        String(16), primary_key=True, comment="message | thread | resolution"
    )
    person: Mapped[str] = mapped_column(String(40), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]


def create_tables(engine: Engine) -> None:
    migrate(engine, Base.metadata, "word authors")


class WordAuthors:
    """Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def add(self, question_id: str, part: Part, people: Iterable[str], domain: str = "") -> None:
        """Record whose words became this part of a question, beside those who are named there."""
        for person in filter(None, dict.fromkeys(people)):
            insert_once(
                self._engine, WordAuthorRow, question_id=question_id, part=part, person=person,
                domain=domain, at=now(),
            )  # fmt: skip

    def of(self, question_id: str, part: Part) -> list[str]:
        query = select(WordAuthorRow.person).where(
            WordAuthorRow.question_id == question_id, WordAuthorRow.part == part
        )
        with self._engine.connect() as connection:
            return list(connection.scalars(query))


def questions_with_words_of(
    connection: Connection, names: Collection[str], *parts: Part
) -> list[str]:
    """Ids of questions in which these people are not named, and whose parts hold their words."""
    query = select(WordAuthorRow.question_id).where(WordAuthorRow.person.in_(names))
    if parts:
        query = query.where(WordAuthorRow.part.in_(parts))
    return sorted(set(connection.scalars(query)))


class StoredQuestion(Protocol):
    """A question on record, or a row of these columns."""

    @property
    def domain(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def asker(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def answer(self) -> str | None: ...


def people_s_words(answer: str) -> str:
    """Of an answer (JSON) the self-contained question, where it repeats no documents."""
    try:
        stored = json.loads(answer)
    except ValueError:
        return ""
    is_people_s = stored.get("restated_from") == []
    return str(stored.get("standalone_question") or "") if is_people_s else ""


def question_words(record: StoredQuestion) -> Words:
    """The question, self-contained as far as a reader may see that."""
    try:
        stored = json.loads(record.answer) if record.answer else {}
    except ValueError:
        stored = {}
    own, sources = record.text.strip(), stored.get("restated_from")
    text = str(stored.get("standalone_question") or "").strip() or own
    if text == own:
        sources = ()
    return Words(
        text=text, own=own, domain=record.domain, author=record.asker, place=record.channel,
        drawn_from=None if sources is None else frozenset(sources),
    )  # fmt: skip


def nothing(text: str) -> str:
    return ""


QUESTION_TABLES = (
    PersonalTable(
        table=table_of(QuestionRow), owner="asker", people=("resolved_by",), question="id",
        words={"text": Authors(by=("asker",), parts=("message",)),
            "answer": Authors(
                by=("asker",), parts=("message", "thread"), shared=people_s_words
            ),
        },
        plain="event_id channel thread_ts state path reference",
    ),
    PersonalTable(
        table=table_of(ScreenshotRow), question="question_id",
        words={"said": Authors(asker=True, parts=("message",))},
    ),
    PersonalTable(
        table=table_of(ExplanationRow), question="question_id",
        until="`ONCALL_EXPLANATION_DAYS` from `at`, with its question at the latest",
        words={"explanation": Authors(asker=True, parts=("message", "thread"), shared=nothing)},
    ),
    PersonalTable(table=table_of(PostRow), question="question_id", plain="channel ts"),
    PersonalTable(
        table=table_of(FeedbackRow), owner="user", question="question_id",
        words={"correction": Authors(by=("user",)), "source": Authors(by=("user",))},
        plain="verdict reason",
    ),
    PersonalTable(
        table=table_of(HandoffRow), question="question_id",
        people=("requested_by", "taken_by", "resolved_by"), blank=("called",),
        words={"resolution": Authors(by=("resolved_by",), parts=("resolution",))},
        plain="channel card_ts",
    ),
    PersonalTable(
        table=table_of(WordAuthorRow), at="at", owner="person", question="question_id",
        plain="part",
    ),
)  # fmt: skip
"""Questions and what hangs on them; `bot.privacy.retention` purges them by the question's age."""
