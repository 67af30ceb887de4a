"""Rewrites stored answers in batches, each in a short transaction of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Engine, select, update

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

    def without_trace(stored: StoredAnswer) -> str | None:
        return json.dumps({**json.loads(stored.answer), "trace": None}, ensure_ascii=False)

    return rewrite_answers(engine, without_trace, QuestionRow.asked_at >= since, _HAS_TRACE)


def rewrite_answers(
    engine: Engine, rewrite: Callable[[StoredAnswer], str | None], *which: ColumnElement[bool]
) -> int:
    """Replace stored answers. Returns how many.

    `rewrite` returns the new text; None deletes it, the same text changes nothing. An
    answer that is replaced meanwhile stays; one that is no JSON is deleted."""
    count = 0
    for rows in _batches(engine, which):
        with engine.begin() as connection:
            for row in rows:
                try:
                    text = rewrite(row)
                except ValueError:
                    text = None
                if text != row.answer:
                    same = QuestionRow.id == row.id, QuestionRow.answer == row.answer
                    change = update(QuestionRow).where(*same).values(answer=text)
                    count += connection.execute(change).rowcount
    return count


def _batches(engine: Engine, which: Sequence[ColumnElement[bool]]) -> Iterator[list[StoredAnswer]]:
    columns = QuestionRow.id, QuestionRow.domain, QuestionRow.answer
    query = select(*columns).where(QuestionRow.answer.is_not(None), *which)
    last = ""
    while True:
        page = query.where(QuestionRow.id > last).order_by(QuestionRow.id).limit(_BATCH)
        with engine.connect() as connection:
            rows = [
                StoredAnswer(row.id, row.domain, row.answer or "")
                for row in connection.execute(page)
            ]
        if not rows:
            return
        yield rows
        last = rows[-1].id
