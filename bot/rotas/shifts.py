"""Determines who is on shift at a time; shifts may overlap. Pure; all times UTC."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from config.errors import ConfigError


@dataclass(frozen=True)
class Shift:
    """`who` is a Slack user or group id, or an e-mail address; empty when the rota names nobody."""

    start: datetime
    end: datetime
    who: str


@dataclass(frozen=True)
class RotaTurn:
    """A turn ends when another person gets the shift, or the same person a new one."""

    who: str
    """Slack id or e-mail; empty while nobody is on call."""
    until: datetime | None
    """None: as far as the shifts were read."""


def named_at(shifts: Sequence[Shift], at: datetime, *, rota: str) -> str:
    """Who has the shift at a moment; empty in a gap.

    Of overlapping shifts the one that started last counts, of those that started together the
    shortest: calendars make overrides that way. Raises ConfigError, naming `rota`, for a shift
    that names nobody."""
    nameless = [shift for shift in shifts if shift.start <= at < shift.end and not shift.who]
    ruling = _ruling(shifts, at)
    if nameless and not ruling:
        raise ConfigError(
            f"the rota {rota!r}: the shift that is on names no Slack id or e-mail address",
            remedy="write who has it into its title, or invite them",
        )
    return ruling.who if ruling else ""


def turn_at(shifts: Sequence[Shift], at: datetime) -> RotaTurn:
    """A shift that names nobody counts as a gap."""
    _, turn = next(turns_between(shifts, at, at))
    return turn


def begins_after(shifts: Sequence[Shift], after: datetime) -> datetime | None:
    """The start of the next person's turn; a gap is not a turn."""
    turns = turns_between(shifts, after)
    return next((start for start, turn in turns if start > after and turn.who), None)


def turns_between(
    shifts: Sequence[Shift], start: datetime, end: datetime | None = None
) -> Iterator[tuple[datetime, RotaTurn]]:
    """The turns and gaps from `start` to `end`, in order, each with its start, or `start` where it
    had begun before. For a moment, `start` = `end`, the one turn then; without an end, all."""
    named = (one for one in shifts if one.who and one.end > start)
    waiting = deque(sorted(named, key=lambda one: one.start))
    moments = {moment for one in waiting for moment in (one.start, one.end) if moment > start}
    on: list[Shift] = []
    began, before = start, None
    for moment in (start, *sorted(moments)):
        while waiting and waiting[0].start <= moment:
            on.append(waiting.popleft())
        on = [one for one in on if one.end > moment]
        now = _ruling(on, moment)
        if moment > start and _is_change(before, now, moment):
            yield began, RotaTurn(before.who if before else "", moment)
            began = moment
            if end and moment >= end:
                return
        before = now
    yield began, RotaTurn(before.who if before else "", None)


def _ruling(shifts: Sequence[Shift], at: datetime) -> Shift | None:
    now = [shift for shift in shifts if shift.who and shift.start <= at < shift.end]
    return max(now, key=lambda shift: (shift.start, shift.start - shift.end), default=None)


def _is_change(before: Shift | None, now: Shift | None, moment: datetime) -> bool:
    """Someone else, or the next shift of the same person; not their shift inside another."""
    if before is None or now is None:
        return before is not now
    return before.who != now.who or (before.end == moment and now.start == moment)
