"""An entry's record in one line, and the question how it did. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from bot.blocks.kit import Json, actions, button, context, link, section, short
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.features.track_record.record import GRADES, MIN_USES, EntryUse, TrackRecord

GRADE = "runbook_grade"
"""Followed by the grade: the id of a button."""
MAX_ENTRIES = 5
"""Entries that one message asks about; an answer has as many."""
_MAX_NAME_CHARS = 80


def record_line(record: TrackRecord, today: datetime, name: str = "") -> str:
    """A plain sentence, no more precise than the numbers allow. `name`: of the alert, where the
    answer has several."""
    is_few = record.used < MIN_USES
    since = "" if is_few else f" since {_month(record.since, today)}"
    parts = [f"used {_times(record.used)}{since}"]
    if record.resolved or record.failed:
        number = _times(record.resolved) if is_few else str(record.resolved)
        parts.append(f"resolved {number if record.resolved else 'none'}")
    if record.unknown:
        parts.append(f"{record.unknown} with an unknown outcome")
    if record.failed_at:
        month = _month(record.failed_at, today)
        parts.append(f"last failed on {record.failed_at.day} {month}")
    if record.minutes is not None:
        parts.append(f"median {rounded(record.minutes)}")
    of = f" of {short(name, _MAX_NAME_CHARS)}" if name else ""
    return f"Track record{of}: {', '.join(parts)}"


def rounded(minutes: float) -> str:
    """`7 minutes`, `15 minutes`, `2 hours`."""
    whole = round(minutes)
    if whole < 1:
        return "under a minute"
    if whole >= 10:
        whole = 5 * round(minutes / 5)
    if whole >= 60:
        hours = round(minutes / 60)
        return "1 hour" if hours == 1 else f"{hours} hours"
    return "1 minute" if whole == 1 else f"{whole} minutes"


def grade_message(
    uses: Sequence[EntryUse], grades: Mapping[str, Mapping[str, int]]
) -> SlackMessage:
    """Asks how each entry did. `grades`: entry → grade → people."""
    blocks = [block for use in uses[:MAX_ENTRIES] for block in _question(use, grades)]
    return SlackMessage(text="How did the runbook do?", blocks=blocks)


def _question(use: EntryUse, grades: Mapping[str, Mapping[str, int]]) -> Iterator[Json]:
    # Blocks with such ids are no part of the conversation that the agents read.
    block = f"oncall_{GRADE}_{use.entry}"
    yield section(f"How did the runbook for *{_name(use)}* do?", block_id=block)
    value = f"{use.question_id} {use.entry}"
    buttons = [button(label, f"{GRADE}_{grade}", value) for grade, label in GRADES.items()]
    yield actions(buttons, block_id=f"{block}_buttons")
    counts = grades.get(use.entry, {})
    if parts := [f"{GRADES[one]}: {counts[one]}" for one in GRADES if counts.get(one)]:
        yield context([" · ".join(parts)], block_id=f"{block}_counts")


def wrong_line(use: EntryUse, people: int, url: str) -> str:
    """mrkdwn. `url`: of the alert; empty when the workspace's address is unknown."""
    by = "1 person" if people == 1 else f"{people} people"
    return f"{link(url, short(use.name, _MAX_NAME_CHARS))} by {by}"


def _name(use: EntryUse) -> str:
    return sanitize_mrkdwn(short(use.name, _MAX_NAME_CHARS))


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _month(at: datetime, today: datetime) -> str:
    return f"{at:%B}" if at.year == today.year else f"{at:%B %Y}"
