"""The tables of the bot's features, purged, handed out and erased by one rule.

Deleting questions with all that hangs on them: the one place that knows what does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Select, delete, or_, select, update

from agents.thread.store import forget_places, slack_place
from bot.db import PersonalTable, batches, now
from bot.posting.posts import post_key
from bot.questions.tables import FeedbackRow, HandoffRow, PostRow, QuestionRow, ScreenshotRow
from bot.slack.messages import ERASED


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
    """What the bot's features hold of people."""

    tables: Sequence[PersonalTable]
    creators: Sequence[Callable[[Engine], None]]
    """Each makes some of the tables where they are missing; safe when several workers start at
    once."""
    proposals: Callable[[Engine], Sequence[ProposedAnswer]]

    def create(self, engine: Engine) -> None:
        for create in self.creators:
            create(engine)


def purge_features(
    connection: Connection,
    days_of: Callable[[str], int],
    tables: Sequence[PersonalTable],
) -> int:
    """Delete what is older than its domain keeps; how many rows went. `days_of`: domain → days."""
    gone = 0
    for kept in tables:
        columns = kept.table.c
        domain = columns[kept.domain]
        for name in connection.scalars(select(domain).distinct()).all():
            before = now() - timedelta(days=days_of(name))
            old = delete(kept.table).where(domain == name, columns[kept.at] < before)
            gone += connection.execute(old).rowcount
    return gone


def forget_with_questions(
    connection: Connection, ids: Collection[str], tables: Sequence[PersonalTable]
) -> None:
    """`ids`: of questions that go, few enough for one statement."""
    for kept in tables:
        if kept.question:
            column = kept.table.c[kept.question]
            connection.execute(delete(kept.table).where(column.in_(list(ids))))


def rows_of(
    connection: Connection, user: str, tables: Sequence[PersonalTable]
) -> dict[str, list[Mapping[str, Any]]]:
    """Table → its rows that name the person."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for kept in tables:
        named = [kept.table.c[name] == user for name in kept.people]
        rows = connection.execute(select(kept.table).where(or_(*named))).mappings() if named else ()
        found[kept.table.name] = [dict(row) for row in rows]
    return found


def erase_in_features(connection: Connection, user: str, tables: Sequence[PersonalTable]) -> int:
    """Take a person's words, then their id; how many rows named them."""
    touched = 0
    for kept in tables:
        columns = kept.table.c
        for words, whose in kept.words.items():
            mine = update(kept.table).where(columns[whose] == user)
            connection.execute(mine.values({words: ""}))
        for name in kept.people:
            mine = update(kept.table).where(columns[name] == user)
            touched += connection.execute(mine.values({name: ERASED})).rowcount
    return touched


def delete_questions(
    connection: Connection, ids: Collection[str], tables: Sequence[PersonalTable]
) -> int:
    """With their answers, posts, feedback and hand-offs, whoever gave them, and what the agents
    keep of their threads. `tables`: of features."""
    for batch in batches(ids):
        events = connection.scalars(select(QuestionRow.event_id).where(QuestionRow.id.in_(batch)))
        keys = [*batch, *map(post_key, events)]
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
    """What was read in the pictures of questions whose words go."""
    for batch in batches(ids):
        connection.execute(delete(ScreenshotRow).where(ScreenshotRow.question_id.in_(batch)))


def ids_of(connection: Connection, query: Select[Any]) -> set[str]:
    return set(connection.scalars(query))
