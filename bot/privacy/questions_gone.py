"""Deleting questions with all that hangs on them: the one place that knows what does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, select

from agents.thread.store import forget_places, slack_place
from bot.memory.kept_table import KeptTable, batches
from bot.memory.state_tables import feedback, handoffs, posts, questions, screenshots
from bot.message.private import post_key
from bot.privacy.feature_tables import forget_with_questions


def delete_questions(
    connection: Connection, ids: Collection[str], tables: Sequence[KeptTable]
) -> int:
    """With their answers, posts, feedback and hand-offs, whoever gave them, and what the agents
    keep of their threads. `tables`: of features."""
    for batch in batches(ids):
        events = connection.scalars(select(questions.c.event_id).where(questions.c.id.in_(batch)))
        keys = [*batch, *map(post_key, events)]
        places = select(questions.c.channel, questions.c.thread_ts).where(questions.c.id.in_(batch))
        forget_places(connection, (slack_place(*row) for row in connection.execute(places)))
        connection.execute(delete(posts).where(posts.c.question_id.in_(keys)))
        forget_screenshots(connection, batch)
        connection.execute(delete(feedback).where(feedback.c.question_id.in_(batch)))
        connection.execute(delete(handoffs).where(handoffs.c.question_id.in_(batch)))
        forget_with_questions(connection, batch, tables)
        connection.execute(delete(questions).where(questions.c.id.in_(batch)))
    return len(ids)


def forget_screenshots(connection: Connection, ids: Collection[str]) -> None:
    """What was read in the pictures of questions whose words go."""
    for batch in batches(ids):
        connection.execute(delete(screenshots).where(screenshots.c.question_id.in_(batch)))


def ids_of(connection: Connection, query: Select[Any]) -> set[str]:
    return set(connection.scalars(query))
