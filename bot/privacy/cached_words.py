"""What the answer cache holds of people's questions.

It holds no names. A question on record leads there by the words of its answer: to what was kept
for it, and to what it was given."""

from __future__ import annotations

from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from agents.answer_cache.store import create_table, drop_saying, kept_saying
from bot.memory.record import decoded
from bot.memory.state_tables import questions

log = structlog.get_logger()


def forget_cached(engine: Engine, question_id: str) -> None:
    """The answer to this question is not given again: somebody disliked it, or took back what was
    asked. What else is done goes on without it."""
    try:
        create_table(engine)
        with engine.begin() as connection:
            drop_saying(connection, answers_of(connection, questions.c.id == question_id))
    except SQLAlchemyError as error:
        log.error("the answer cache can't be written", cause=type(error).__name__)


def cached_of(engine: Engine, user: str) -> list[dict[str, Any]]:
    create_table(engine)
    with engine.connect() as connection:
        return kept_saying(connection, answers_of(connection, questions.c.asker == user))


def answers_of(connection: Connection, which: ColumnElement[bool]) -> set[str]:
    """Texts of the answers that these questions were given from documents."""
    stored = connection.scalars(
        select(questions.c.answer).where(which, questions.c.answer.is_not(None))
    )
    return {text for one in stored if one and (text := _text_of(one))}


def _text_of(answer: str) -> str:
    try:
        return decoded(answer).text
    except ValidationError:
        return ""  # of an older release, whose answers nobody gives again
