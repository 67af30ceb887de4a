"""Every column of text is declared; whatever a column holds of a person is exported and erased."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Engine, LargeBinary, String, Table, create_engine, insert, inspect

from agents.answer import Conversation, EarlierTurn
from agents.answer_cache.store import CachedAnswerStore, NewCacheEntry
from agents.thread.memory import ThreadMemory
from agents.thread.store import slack_place
from bot.features.registry import FEATURE_TABLES
from bot.privacy.other_tables import OTHER_TABLES
from bot.privacy.personal_data import PersonalData
from bot.questions.personal import PersonalTable, WordAuthorRow, declared_columns
from bot.questions.store import encode_answer
from bot.questions.tables import QuestionRow
from durable.database import now
from index.audit import AuditLog
from tests.bot.fakes import answer
from tests.contracts.every_table import make_every_table

PERSON, OTHER = "U0PERSON", "U0OTHER"
TABLES = {one.table.name: one for one in FEATURE_TABLES.every}
OWN, SHARED = "C1:own", "C1:shared"
"""A question that the person asked, and another's that holds words of theirs."""


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("every")
    engine = create_engine(f"sqlite:///{folder / 'state.sqlite'}")
    make_every_table(folder, engine)
    yield engine
    engine.dispose()


def test_each_column_of_text_is_declared_once(every: Engine) -> None:
    seen = inspect(every)
    assert not TABLES.keys() & OTHER_TABLES.keys()
    declared = {name: declared_columns(one) for name, one in TABLES.items()}
    declared |= {name: one.declared for name, one in OTHER_TABLES.items()}
    names = seen.get_table_names()
    assert set(names) == declared.keys()
    for table in names:
        columns = seen.get_columns(table)
        text = {c["name"] for c in columns if isinstance(c["type"], (String, LargeBinary, JSON))}
        assert text - declared[table] == set(), f"undeclared columns of {table}"
        unknown = declared[table] - {c["name"] for c in columns} - {"", "domain"}
        assert unknown == set(), f"no columns of {table}"


class Planted:
    """A sentence of the person's in each column of words, for each way of finding it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sentences: dict[str, str] = {}
        """Sentence → table."""
        self.unexported: list[str] = []
        for asker, question in ((PERSON, OWN), (OTHER, SHARED)):
            self.row(
                TABLES["bot_questions"],
                id=question,
                asker=asker,
                channel="C1",
                thread_ts=question[3:],
            )

    def sentence(self, table: str) -> str:
        text = f"heliotrope {len(self.sentences):02}"
        self.sentences[text] = table
        return text

    def row(self, of: PersonalTable, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(insert(of.table).values(**{**blank(of.table), **values}))

    def in_columns(self) -> None:
        """Once for each column of an author, for the asker, and for each part of a question."""
        for of in TABLES.values():
            for column, authors in of.words.items():
                for by in (*authors.by, *authors.by):
                    text, name = self.sentence(of.table.name), f"{len(self.sentences)}"
                    value = wrapped(of, column, text)
                    keys = {of.question: f"C2:{name}"} if of.question else {}
                    self.row(of, **{**unique(of, name), **keys, by: PERSON, column: value})
                if authors.asker:
                    text = self.sentence(of.table.name)
                    self.row(of, **{**unique(of, text), of.question: OWN, column: text})
                for part in authors.parts:
                    self.part(of, column, part)

    def part(self, of: PersonalTable, column: str, part: str) -> None:
        text = self.sentence(of.table.name)
        value = wrapped(of, column, text)
        if not of.words[column].shared(value):  # a model's words, drawn from who knows what
            del self.sentences[text]
            text = value = f"unexported {len(self.unexported)}"
            self.unexported.append(text)
        question = f"C3:{len(self.sentences)}-{len(self.unexported)}"
        author = {"question_id": question, "part": part, "person": PERSON, "at": now()}
        with self.engine.begin() as connection:
            connection.execute(insert(WordAuthorRow).values(domain="security", **author))
        named = {name: OTHER for name in (*of.people, of.owner) if name}
        self.row(of, **{**unique(of, question), **named, of.question: question, column: value})

    def elsewhere(self) -> None:
        """By the agents: threads and cached answers, of own questions and of others'."""
        for asker, question in ((PERSON, OWN), (OTHER, SHARED)):
            place = Conversation(
                place=slack_place("C1", question[3:]), message=question, asker=asker
            )
            text = self.sentence("threads")
            turn = EarlierTurn(
                id=question, asker=asker, asked=text if asker == PERSON else "and me?",
                question=text, path="", restated_from=(),
            )  # fmt: skip
            assert ThreadMemory(self.engine).remember(place, "security", turn) == ""
            reply = answer(f"As asked {question}.")
            with self.engine.begin() as connection:
                this = QuestionRow.__table__.c
                change = QuestionRow.__table__.update().where(this.id == question)  # type: ignore[attr-defined]
                connection.execute(change.values(answer=encode_answer(reply)))
            entry = NewCacheEntry(
                domain="security", key="k", question=self.sentence("cached"), vector=b"",
                text=reply.text, answer="{}", documents={},
            )  # fmt: skip
            CachedAnswerStore(self.engine).keep(entry)
        shared = {"question_id": SHARED, "part": "thread", "person": PERSON, "at": now()}
        with self.engine.begin() as connection:
            connection.execute(insert(WordAuthorRow).values(domain="security", **shared))


def blank(table: Table) -> dict[str, Any]:
    """A value for each column that needs one."""
    values: dict[type, Any] = {
        str: "",
        int: 0,
        float: 0.0,
        datetime: now(),
        bool: False,
        bytes: b"",
    }
    needed = (c for c in table.columns if not c.nullable and c.autoincrement is not True)
    return {c.name: values[c.type.python_type] for c in needed}


def unique(of: PersonalTable, name: str) -> dict[str, Any]:
    keys = (c for c in of.table.primary_key if c.type.python_type is str)
    return {one.name: name for one in keys}


def wrapped(of: PersonalTable, column: str, text: str) -> str:
    """As the column has it: answers are JSON."""
    if (of.table.name, column) != ("bot_questions", "answer"):
        return text
    return encode_answer(
        answer("From documents.", standalone_question=text, restated_from=frozenset())
    )


def test_export_and_erasure_find_every_planted_sentence_by_its_table(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    FEATURE_TABLES.create(engine)
    data = PersonalData(engine=engine, features=FEATURE_TABLES, audit=AuditLog(engine), inbox=None)
    planted = Planted(engine)
    planted.in_columns()
    planted.elsewhere()
    assert len(planted.sentences) >= 40
    exported = {table: json.dumps(rows, default=str) for table, rows in data.export(PERSON).items()}
    lost = {text: table for text, table in planted.sentences.items() if text not in exported[table]}
    assert lost == {}
    assert not any(text in str(data.export("U0NOBODY")) for text in planted.sentences)
    data.erase(PERSON)
    engine.dispose()
    with closing(sqlite3.connect(tmp_path / "state.sqlite")) as raw:
        left = "\n".join(raw.iterdump())
    assert planted.unexported
    assert [one for one in (*planted.sentences, *planted.unexported) if one in left] == []
    assert PERSON not in left
