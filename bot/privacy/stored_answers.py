"""Reads all stored answers in batches, and replaces some of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Engine, select, update

from bot.questions.tables import QuestionRow


@dataclass(frozen=True)
class StoredAnswer:
    id: str
    """Of its question."""
    domain: str
    answer: str
    """JSON."""


_BATCH = 200
"""Answers in memory at once; with the trace of older releases, one takes 200 kB."""
_HAS_TRACE = QuestionRow.answer.like('%"trace":{%')


def slim_answers(engine: Engine, since: datetime) -> int:
    """Delete the trace from answers that older releases stored. Returns how many.

    `since`: when their questions were asked at the earliest, UTC without a zone."""
    count = 0
    for answers in answers_where(engine, QuestionRow.asked_at >= since, _HAS_TRACE):
        with engine.begin() as connection:
            for stored in answers:
                slim = {**json.loads(stored.answer), "trace": None}
                count += replace_answer(connection, stored, json.dumps(slim, ensure_ascii=False))
    return count


def answers_where(engine: Engine, *which: ColumnElement[bool]) -> Iterator[list[StoredAnswer]]:
    """A batch at a time, so that no transaction is long."""
    columns = QuestionRow.id, QuestionRow.domain, QuestionRow.answer
    query = select(*columns).where(QuestionRow.answer.is_not(None), *which)
    last = ""
    while True:
        page = query.where(QuestionRow.id > last).order_by(QuestionRow.id).limit(_BATCH)
        with engine.connect() as connection:
            rows = connection.execute(page).all()
        if not rows:
            return
        yield [StoredAnswer(row.id, row.domain, row.answer or "") for row in rows]
        last = rows[-1].id


def replace_answer(connection: Connection, stored: StoredAnswer, text: str | None) -> bool:
    """False where the answer was replaced since it was read."""
    same = QuestionRow.id == stored.id, QuestionRow.answer == stored.answer
    return connection.execute(update(QuestionRow).where(*same).values(answer=text)).rowcount > 0
