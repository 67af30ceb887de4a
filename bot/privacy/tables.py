"""Rules over tables with personal data: purge, export, erase; and the deletion of questions with
everything that belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Select, delete, or_, select, update

from agents.answer_cache.store import create_table as create_cache_table
from agents.thread.store import create_thread_tables, forget_places, slack_place
from bot.questions.tables import (
    FeedbackRow,
    HandoffRow,
    PersonalTable,
    PostRow,
    QuestionRow,
    ScreenshotRow,
    create_tables,
    private_post_key,
)
from bot.slack.messages import ERASED
from durable.database import batches, now


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
    """Personal data of the bot's features."""

    tables: Sequence[PersonalTable]
    creators: Sequence[Callable[[Engine], None]]
    """Each creates some missing tables; safe when several workers start at once."""
    proposals: Callable[[Engine], Sequence[ProposedAnswer]]

    def create(self, engine: Engine) -> None:
        """All tables with personal data, those of the core included."""
        create_core = (create_tables, create_thread_tables, create_cache_table)
        for create in (*create_core, *self.creators):
            create(engine)


def purge_features(
    connection: Connection, days_of: Callable[[str], int], tables: Sequence[PersonalTable]
) -> int:
    """Delete expired rows. Returns how many. `days_of`: domain → days."""
    count = 0
    for one in tables:
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
    """Table → its rows that name the person."""
    by_table: dict[str, list[Mapping[str, Any]]] = {}
    for one in tables:
        mine = [one.table.c[name].in_(names) for name in one.people]
        rows = connection.execute(select(one.table).where(or_(*mine))).mappings() if mine else ()
        by_table[one.table.name] = [dict(row) for row in rows]
    return by_table


def erase_in_features(
    connection: Connection, names: Collection[str], tables: Sequence[PersonalTable]
) -> int:
    """Erase a person's words, then their id. Returns how many rows named them."""
    count = 0
    for one in tables:
        columns = one.table.c
        for words, author in one.words.items():
            mine = update(one.table).where(columns[author].in_(names))
            connection.execute(mine.values({words: ""}))
        for name in one.people:
            mine = update(one.table).where(columns[name].in_(names))
            count += connection.execute(mine.values({name: ERASED})).rowcount
    return count


def delete_questions(
    connection: Connection, ids: Collection[str], tables: Sequence[PersonalTable]
) -> int:
    """Delete questions with their answers, posts, feedback, hand-offs, and the state of their
    threads. `tables`: of features."""
    for batch in batches(ids):
        events = connection.scalars(select(QuestionRow.event_id).where(QuestionRow.id.in_(batch)))
        keys = [*batch, *map(private_post_key, events)]
        places = select(QuestionRow.channel, QuestionRow.thread_ts).where(QuestionRow.id.in_(batch))
        forget_places(connection, (slack_place(*row) for row in connection.execute(places)))
        connection.execute(delete(PostRow).where(PostRow.question_id.in_(keys)))
        forget_screenshots(connection, batch)
        connection.execute(delete(FeedbackRow).where(FeedbackRow.question_id.in_(batch)))
        connection.execute(delete(HandoffRow).where(HandoffRow.question_id.in_(batch)))
        forget_with_questions(connection, batch, tables)
        connection.execute(delete(QuestionRow).where(QuestionRow.id.in_(batch)))
    return len(ids)


def forget_screenshots(connection: Connection, ids: Collection[str]) -> None:
    """Delete the text of pictures in these questions."""
    for batch in batches(ids):
        connection.execute(delete(ScreenshotRow).where(ScreenshotRow.question_id.in_(batch)))


def ids_of(connection: Connection, query: Select[Any]) -> set[str]:
    return set(connection.scalars(query))
