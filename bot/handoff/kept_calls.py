"""The calls of hand-offs on record: each made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.memory.call_tables import calls, create_calls
from bot.memory.kept_table import now

FIRST = "first"
AGAIN = "again"
LEVEL = "level-"
"""And its number, from 1."""
SHIFT = "shift-"
"""And when it began, a level's with its number before: whoever came on call while everybody before
had been called."""
FREED = "freed"
"""Whoever had taken it is gone."""
TOLD = "told-"
"""Not a call: that somebody heard what became of it."""
DIRECT = "."
"""Between a step and the number of a person who was called in a direct message of their own."""
GIVEN_UP = "-"
"""In a message's place where Slack takes none."""


@dataclass(frozen=True, kw_only=True)
class HandoffCall:
    question_id: str
    step: str
    domain: str = ""
    who: str = ""
    label: str = ""
    why: str = ""
    called_at: datetime
    """UTC, without a zone."""
    ts: str = ""
    channel: str = ""
    """Of a direct message, as Slack told it."""


class Calls:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_calls(engine)

    def of(self, question_id: str) -> Sequence[HandoffCall]:
        """One for each step of the escalation, in the order in which they were made."""
        found = self.everything_of(question_id)
        return [one for one in found if not one.step.startswith(TOLD) and DIRECT not in one.step]

    def everything_of(self, question_id: str) -> Sequence[HandoffCall]:
        """Also each person who was called or told directly."""
        query = select(calls).where(calls.c.question_id == question_id)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(calls.c.called_at)).mappings().all()
        return [
            HandoffCall(**{one.name: row[one.name] for one in fields(HandoffCall)}) for row in rows
        ]

    def get(self, question_id: str, step: str) -> HandoffCall | None:
        found = (one for one in self.everything_of(question_id) if one.step == step)
        return next(found, None)

    def keep(
        self,
        question_id: str,
        step: str,
        domain: str,
        *,
        who: str = "",
        label: str = "",
        why: str = "",
    ) -> bool:
        """False when this step is on record already, as it was then."""
        values = {
            "question_id": question_id, "step": step, "domain": domain, "who": who,
            "label": label[:80], "why": why[:200], "called_at": now(),
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(calls).values(**values))
        except IntegrityError:
            return False
        return True

    def posted(self, question_id: str, step: str, ts: str) -> None:
        self._set(question_id, step, ts=ts)

    def placed(self, question_id: str, step: str, channel: str) -> None:
        """The conversation that Slack put its message into."""
        self._set(question_id, step, channel=channel)

    def _set(self, question_id: str, step: str, **values: str) -> None:
        change = update(calls).where(calls.c.question_id == question_id, calls.c.step == step)
        with self._engine.begin() as connection:
            connection.execute(change.values(**values))
