"""Determines who is on shift at a time; shifts may overlap. Pure; all times UTC."""

from __future__ import annotations

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
    before = _ruling(shifts, at)
    for moment in _bounds(shifts, at):
        now = _ruling(shifts, moment)
        if _is_change(before, now, moment):
            return RotaTurn(before.who if before else "", moment)
    return RotaTurn(before.who if before else "", None)


def begins_after(shifts: Sequence[Shift], after: datetime) -> datetime | None:
    """The start of the next person's turn; a gap is not a turn."""
    before = _ruling(shifts, after)
    for moment in _bounds(shifts, after):
        now = _ruling(shifts, moment)
        if now and _is_change(before, now, moment):
            return moment
        before = now
    return None


def _ruling(shifts: Sequence[Shift], at: datetime) -> Shift | None:
    now = [shift for shift in shifts if shift.who and shift.start <= at < shift.end]
    return max(now, key=lambda shift: (shift.start, shift.start - shift.end), default=None)


def _bounds(shifts: Sequence[Shift], after: datetime) -> Iterator[datetime]:
    moments = {moment for shift in shifts for moment in (shift.start, shift.end)}
    yield from sorted(moment for moment in moments if moment > after)


def _is_change(before: Shift | None, now: Shift | None, moment: datetime) -> bool:
    """Someone else, or the next shift of the same person; not their shift inside another."""
    if before is None or now is None:
        return before is not now
    return before.who != now.who or (before.end == moment and now.start == moment)
