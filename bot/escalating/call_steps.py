"""In which order people are called for a hand-off, and when the next of them is due. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.handoff.kept_calls import AGAIN, FIRST, LEVEL, HandoffCall
from config.domain import Escalation, EscalationLevel

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
