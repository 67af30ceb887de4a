"""The calls of hand-offs on record: each made once.

Who was called for a hand-off when, and who was told of it.

In which order people are called for a hand-off, and when the next of them is due. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from sqlalchemy import Column, DateTime, Engine, MetaData, String, Table, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.db import PersonalTable, now
from config.domain import Escalation, EscalationLevel
from durable.migration import expanding, migrate

_METADATA = MetaData()
calls = Table(
    "bot_calls",
    _METADATA,
    Column("question_id", String(80), primary_key=True),
    Column("step", String(40), primary_key=True, comment="first | again | level-2 | … | told-…"),
    Column("domain", String(64), nullable=False, default=""),
    Column("who", String(40), nullable=False, default="", comment="person or group; '' nobody"),
    Column("label", String(80), nullable=False, default="", comment="the level's name"),
    Column("why", String(200), nullable=False, default="", comment="why somebody else or nobody"),
    Column("called_at", DateTime, nullable=False, comment="UTC"),
    Column("ts", String(40), nullable=False, default="", comment="of its message, once posted"),
    Column("channel", String(40), nullable=False, server_default="", comment="of a direct message"),
)
KEPT_CALLS = PersonalTable(table=calls, at="called_at", people=("who",), question="question_id")
_STEPS = (expanding("ALTER TABLE bot_calls ADD COLUMN channel VARCHAR(40) NOT NULL DEFAULT ''"),)


def create_calls(engine: Engine) -> None:
    migrate(engine, _METADATA, "calls", _STEPS)


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


class CallStore:
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


NOT_AT_ALL = timedelta(0)


@dataclass(frozen=True)
class CallStep:
    name: str
    wait: timedelta
    """After the call before it."""
    level: EscalationLevel | None = None
    """None: whoever is called first."""


@dataclass(frozen=True)
class NextCall:
    step: CallStep
    due_at: datetime
    """UTC, without a zone."""


def steps_of(escalation: Escalation) -> list[CallStep]:
    again = timedelta(minutes=escalation.remind_minutes)
    return [
        CallStep(FIRST, NOT_AT_ALL),
        *([CallStep(AGAIN, again)] if again else []),
        *(
            CallStep(f"{LEVEL}{number}", timedelta(minutes=level.after_minutes), level)
            for number, level in enumerate(escalation.levels, start=1)
        ),
    ]


def next_call(escalation: Escalation, called: Sequence[HandoffCall]) -> NextCall | None:
    """None once everybody was called. `called`: in time order, the first call among them.

    Nobody waits for people who could not be reached."""
    steps = steps_of(escalation)
    made = {one.step: one for one in called}
    reached = max((at for at, step in enumerate(steps) if step.name in made), default=0)
    for step in steps[reached + 1 :]:
        first = made.get(FIRST)  # None: a release that called once had asked
        if step.name == AGAIN and first and not first.who:
            continue
        wait = step.wait if called[-1].who else NOT_AT_ALL
        return NextCall(step, called[-1].called_at + wait)
    return None


def lasting(time: timedelta) -> str:
    """`15 minutes`, `3 hours`, `2 days`."""
    minutes = max(1, round(time.total_seconds() / 60))
    for unit, length in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * length:
            return f"{round(minutes / length)} {unit}s"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
