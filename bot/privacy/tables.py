"""Loops over the declarations of stored text: purge, export and erasure; and the deletion of
questions with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Select, delete, false, func, or_, select, update

from agents.answer_cache.store import create_table as create_cache_table
from agents.thread.store import create_thread_tables, forget_places, slack_place
from bot.questions.personal import (
    QUESTION_TABLES,
    PersonalTable,
    authored_by,
    naming,
    written_by,
)
from bot.questions.personal import create_tables as create_author_table
from bot.questions.tables import (
    PostRow,
    QuestionRow,
    create_tables,
    private_post_key,
)
from bot.slack.messages import ERASED
from durable.database import batches, now

_SECRET = frozenset({"event_id", "vector"})
"""Columns that no export has: keys of the product's own, and figures made of text."""


class ProposedAnswer(Protocol):
    """A person's answer to a question, proposed for the golden set."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def by(self) -> str:
        """Slack user id."""


@dataclass(frozen=True, kw_only=True)
class FeatureTables:
    """Stored text of the bot's features."""

    tables: Sequence[PersonalTable]
    creators: Sequence[Callable[[Engine], None]]
    """Each creates some missing tables; safe when several workers start at once."""
    proposals: Callable[[Engine], Sequence[ProposedAnswer]]

    @property
    def every(self) -> Sequence[PersonalTable]:
        """Those of questions included."""
        return (*self.tables, *QUESTION_TABLES)

    def create(self, engine: Engine) -> None:
        """All tables with personal data, those of the core included."""
        create_core = (create_tables, create_author_table, create_thread_tables, create_cache_table)
        for create in (*create_core, *self.creators):
            create(engine)


def purge_features(
    connection: Connection, days_of: Callable[[str], int], tables: Sequence[PersonalTable]
) -> int:
    """Delete expired rows. Returns how many. `days_of`: domain → days."""
    count = 0
    for one in (one for one in tables if one.at):
        columns = one.table.c
        domain = columns[one.domain]
        for name in connection.scalars(select(domain).distinct()).all():
            before = now() - timedelta(days=days_of(name))
            expired = delete(one.table).where(domain == name, columns[one.at] < before)
            count += connection.execute(expired).rowcount
    return count


def forget_with_questions(
    connection: Connection, ids: Collection[str], tables: Sequence[PersonalTable]
) -> None:
    """`ids`: of questions that are deleted, few enough for one statement."""
    for one in tables:
        if one.question:
            column = one.table.c[one.question]
            connection.execute(delete(one.table).where(column.in_(list(ids))))


def rows_of(
    connection: Connection, names: Collection[str], tables: Sequence[PersonalTable]
) -> dict[str, list[Mapping[str, Any]]]:
    """Table → its rows that name the person or hold their words, without words of others.

    A row that belongs to somebody else has only its key, and what concerns this person."""
    return {one.table.name: list(_rows(connection, names, one)) for one in tables}


def _rows(
    connection: Connection, names: Collection[str], one: PersonalTable
) -> Iterator[Mapping[str, Any]]:
    """Each row once."""
    theirs = {column: written_by(one, column, names) for column in one.words}
    conditions = [*naming(one, names), *theirs.values()]
    if not conditions:
        return
    flags = [condition.label(f"_{column}") for column, condition in theirs.items()]
    flags += [authored_by(one, column, names).label(f"_own_{column}") for column in one.words]
    keys = {column.name for column in one.table.primary_key}
    for row in connection.execute(select(one.table, *flags).where(or_(*conditions))).mappings():
        is_whole = not one.owner or row[one.owner] in names
        people = {name for name in (*one.people, *one.blank) if row[name] in names}
        held = {name: row[name] for name in theirs if row[f"_{name}"] and row[name]}
        for name, text in held.items():
            if not row[f"_own_{name}"]:
                held[name] = one.words[name].shared(text)
        named = people or any(row[by] in names for words in one.words.values() for by in words.by)
        if not (is_whole and (one.owner or named)):
            columns = keys | people | {name for name, text in held.items() if text}
        elif one.owner:
            columns = set(one.table.c.keys())
        else:
            columns = set(one.table.c.keys()) - one.words.keys() | held.keys()
        if columns - keys:
            yield {
                name: held.get(name, row[name])
                for name in one.table.c.keys()  # noqa: SIM118 - columns, not a dict
                if name in columns and name not in _SECRET
            }


def erase_in_features(
    connection: Connection,
    names: Collection[str],
    tables: Sequence[PersonalTable],
    busy: Collection[str] = (),
) -> dict[str, int]:
    """Erase a person's words, their own rows, then their id. Returns table → rows that named them.

    Conditions of one table lead to another: all words are erased before any row or id. `busy`:
    questions that a worker still answers; their rows stay."""
    for one in tables:
        for column in one.words:
            nothing = None if one.table.c[column].nullable else ""
            mine = update(one.table).where(written_by(one, column, names))
            connection.execute(mine.values({column: nothing}))
    counts: dict[str, int] = {}
    for one in tables:
        columns, people = one.table.c, (*one.people, *one.blank)
        named = [columns[name].in_(names) for name in (one.owner, *people) if name]
        query = select(func.count()).select_from(one.table).where(or_(false(), *named))
        counts[one.table.name] = int(connection.execute(query).scalar_one())
        if one.owner:
            own = delete(one.table).where(columns[one.owner].in_(names))
            if one.question:
                own = own.where(columns[one.question].not_in(list(busy)))
            connection.execute(own)
        for name in people:
            mine = update(one.table).where(columns[name].in_(names))
            connection.execute(mine.values({name: "" if name in one.blank else ERASED}))
    return counts


def delete_questions(
    connection: Connection, ids: Collection[str], tables: Sequence[PersonalTable]
) -> int:
    """Delete questions with everything that hangs on them, and the state of their threads.
    `tables`: of features."""
    for batch in batches(ids):
        events = connection.scalars(select(QuestionRow.event_id).where(QuestionRow.id.in_(batch)))
        private = [*map(private_post_key, events)]
        forget_threads_of(connection, batch)
        connection.execute(delete(PostRow).where(PostRow.question_id.in_(private)))
        forget_with_questions(connection, batch, (*tables, *QUESTION_TABLES))
    return len(ids)


def forget_threads_of(connection: Connection, ids: Collection[str]) -> int:
    """Delete the state of these questions' threads. Returns how many."""
    places = select(QuestionRow.channel, QuestionRow.thread_ts).where(QuestionRow.id.in_(ids))
    rows = connection.execute(places).all()
    return forget_places(connection, (slack_place(*row) for row in rows))


def ids_of(connection: Connection, query: Select[Any]) -> set[str]:
    return set(connection.scalars(query))
