"""The rows of a timeline: what happened, in order, and what the thread doesn't say. Pure.

Nothing is inferred: a row is on record or in a message, and the rest is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from bot.feature import TimelineEntry

RUN = timedelta(minutes=1)
"""Messages of one author that follow each other within this time are one row."""
QUIET = timedelta(minutes=15)
"""Time without anything that is worth a row."""


@dataclass(frozen=True, kw_only=True)
class ThreadMessage(TimelineEntry):
    """A message of the thread; `what` is empty, or says that files were sent."""

    program: str = ""
    """Name of the program that wrote it."""
    edited: bool = False


@dataclass(frozen=True, kw_only=True)
class Row:
    entry: TimelineEntry
    more: tuple[TimelineEntry, ...] = ()
    """Further ones like it."""

    @property
    def until(self) -> datetime:
        return self.more[-1].at if self.more else self.entry.at


@dataclass(frozen=True, kw_only=True)
class Pause:
    """A time in which nothing happened."""

    start: datetime
    end: datetime


@dataclass(frozen=True, kw_only=True)
class AlertTimes:
    """An alert from its first firing to its end, as far as they are known."""

    name: str
    began_at: datetime | None = None
    ended_at: datetime | None = None
    first_act: TimelineEntry | None = None
    """The first that a person wrote or pressed after it fired."""
    act_before_end: bool = False
    """Whether a person wrote or pressed anything shortly before its end."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    rows: Sequence[Row | Pause]
    """In order of time."""
    alerts: Sequence[AlertTimes]
    read_until: datetime | None = None
    """Where the thread has more messages than were read: when the last one that was read was sent.
    What nobody did later is not known then."""

    @property
    def span(self) -> tuple[datetime, datetime]:
        rows = [row for row in self.rows if isinstance(row, Row)]
        return rows[0].entry.at, max(row.until for row in rows)

    @property
    def unknown(self) -> Iterator[tuple[str, str]]:
        """(what is unknown, why): for people to fill in."""
        for one in self.alerts:
            if one.began_at and not one.first_act and not self.read_until:
                yield f"Who saw {one.name} first", "nobody wrote or pressed anything after it fired"
            if one.began_at and not one.ended_at:
                yield f"When {one.name} ended", "no message says that it is over"
            is_read = not self.read_until or (one.ended_at and one.ended_at <= self.read_until)
            if one.ended_at and is_read and not one.act_before_end:
                yield (
                    f"Who resolved {one.name}",
                    f"nobody wrote or pressed anything in the {minutes(QUIET)} before its end",
                )
        yield "Impact", "for people to fill in"
        yield "Cause", "for people to fill in"


def timeline_of(
    entries: Iterable[TimelineEntry], *, read_until: datetime | None = None
) -> Timeline | None:
    """None where nothing happened. `read_until`: see `Timeline`."""
    ordered = sorted(entries, key=lambda one: one.at)
    rows = list(_runs(ordered))
    if not rows:
        return None
    return Timeline(
        rows=list(_with_pauses(rows, read_until)),
        alerts=list(_alerts(ordered)),
        read_until=read_until,
    )


def minutes(span: timedelta) -> str:
    """`under a minute`, `12 min`, `2 h 5 min`."""
    count = int(span.total_seconds() // 60)
    if count < 1:
        return "under a minute"
    return f"{count} min" if count < 60 else f"{count // 60} h {count % 60} min"


def _runs(ordered: Sequence[TimelineEntry]) -> Iterator[Row]:
    """Alerts that take turns are one run each, until something else happens."""
    runs: list[list[TimelineEntry]] = []
    for entry in ordered:
        latest = next((one for one in reversed(runs) if one[0].episode == entry.episode), None)
        if latest and _continues(latest, entry):
            latest.append(entry)
            continue
        if runs and not (entry.alert and runs[-1][0].alert):
            yield from map(_row, runs)
            runs = []
        runs.append([entry])
    yield from map(_row, runs)


def _row(run: Sequence[TimelineEntry]) -> Row:
    return Row(entry=run[0], more=tuple(run[1:]))


def _continues(run: Sequence[TimelineEntry], entry: TimelineEntry) -> bool:
    first = run[0]
    if isinstance(first, ThreadMessage) and isinstance(entry, ThreadMessage):
        is_same = (first.by, first.program) == (entry.by, entry.program)
        return is_same and entry.at - run[-1].at <= RUN
    # A firing again is news only where the alert had ended.
    is_repeat = bool(entry.alert) and not entry.edge
    return is_repeat and (first.episode, _verb(first)) == (entry.episode, _verb(entry))


def _verb(entry: TimelineEntry) -> str:
    return entry.what.partition(" ")[0]


def _with_pauses(rows: Sequence[Row], read_until: datetime | None) -> Iterator[Row | Pause]:
    latest = rows[0].until
    yield rows[0]
    for before, row in pairwise(rows):
        latest = max(latest, before.until)
        is_read = not read_until or row.entry.at <= read_until
        if is_read and row.entry.at - latest >= QUIET:
            yield Pause(start=latest, end=row.entry.at)
        yield row


def _alerts(ordered: Sequence[TimelineEntry]) -> Iterator[AlertTimes]:
    acts = [one for one in ordered if one.by]
    for episode in dict.fromkeys(one.episode for one in ordered if one.episode):
        mine = [one for one in ordered if one.episode == episode]
        began = next((one.at for one in mine if one.edge == "began"), None)
        ended = next((one.at for one in mine if one.edge == "ended"), None)
        yield AlertTimes(
            name=mine[0].alert,
            began_at=began,
            ended_at=ended,
            first_act=next((one for one in acts if began and one.at >= began), None),
            act_before_end=any(ended - QUIET <= one.at <= ended for one in acts if ended),
        )
