"""Time that has passed, for tests: what is on record was longer ago."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Column, Engine, Table, select, update

from bot.bus.timers import TimerRow
from bot.features.handoff.store import CallRow
from bot.questions.tables import HandoffRow
from durable.database import table_of

_CALLS, _HANDOFFS = table_of(CallRow), table_of(HandoffRow)
_MOMENTS: tuple[tuple[Table, tuple[Column[Any], ...], str], ...] = (
    (_CALLS, (_CALLS.c.question_id, _CALLS.c.step), "called_at"),
    (_HANDOFFS, (_HANDOFFS.c.question_id,), "requested_at"),
    (_HANDOFFS, (_HANDOFFS.c.question_id,), "taken_at"),
    (TimerRow, (TimerRow.key,), "due_at"),
)


def rewind(engine: Engine, minutes: float, question_id: str = "") -> None:
    """Of one question's hand-off, or of all; and every timer of theirs."""
    for table, key, moment in _MOMENTS:
        with engine.begin() as connection:
            for row in connection.execute(select(table)).mappings().all():
                mine = row.get("question_id") or row.get("subject")
                if row[moment] is None or (question_id and mine != question_id):
                    continue
                same = [column == row[column.name] for column in key]
                earlier = row[moment] - timedelta(minutes=minutes)
                connection.execute(update(table).where(*same).values({moment: earlier}))
