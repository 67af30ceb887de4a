"""The reply: what changed, newest first, each line with its link. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.blocks.kit import (
    Json,
    context,
    link,
    local_date_time,
    local_time,
    section,
    sections,
    short,
)
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import BACKTICK_LOOKALIKE, sanitize_mrkdwn

MAX_LINES = 10
"""A person reads them at night, on a phone."""
MAX_NAMES = 6
_LINE, _AUTHOR, _NAME = 180, 40, 60
"""Characters."""


@dataclass(frozen=True, kw_only=True)
class ChangeLine:
    at: datetime
    label: str
    """Plain text of a message, or a document's title."""
    url: str
    by: str = ""
    """Name of a person or bot."""
    user: str = ""
    """Slack id of who wrote the message."""
    profile: str = ""
    """URL of the person's profile."""
    document: str = ""
    """Id of an edited document."""


@dataclass(frozen=True, kw_only=True)
class ChannelCount:
    channel: str
    others: int
    """Messages that name none of the systems."""
    read_back_to: datetime | None = None
    """Where there were too many to read all."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """All that the reply says."""

    since: datetime
    until: datetime
    alert_at: datetime
    names: Sequence[str]
    """Systems that were looked for; empty where the alert names none."""
    common: Sequence[str] = ()
    """Names in most of the messages, which were not looked for."""
    lines: Sequence[ChangeLine] = ()
    """Newest first."""
    channels: Sequence[ChannelCount] = ()
    """Those that were read."""
    not_joined: Sequence[str] = ()
    closed: int = 0
    """Channels that not everyone here may read, or that can't be read at all."""
    documents: bool = True
    """Whether the documents could be looked at."""


def changes_message(changes: Changes) -> SlackMessage:
    lines = [_line(one, changes) for one in changes.lines[:MAX_LINES]]
    if lines:
        after = sum(one.at > changes.alert_at for one in changes.lines[:MAX_LINES])
        lines.insert(after, f"— {_time(changes, changes.alert_at)} *the alert* —")
    more = len(changes.lines) - MAX_LINES
    if more > 0:
        lines.append(f"and {more} older")
    text = _head(changes)
    blocks = [section(text), *sections(lines), *_foot(changes)]
    return SlackMessage(text=text, blocks=blocks)


def _head(changes: Changes) -> str:
    span = f"*What changed?* {_time(changes, changes.since)} – {_time(changes, changes.until)}"
    where = _listed([_channel(one.channel) for one in changes.channels], "and")
    places = f" in {where}" if where else ""
    if not changes.names:
        return f"{span}: this alert names no system that I can look for."
    names = _names(changes.names)
    if changes.lines:
        return f"{span}{places}, by the names {names}:"
    return f"{span}: nothing{places} names {names}."


def _time(changes: Changes, at: datetime) -> str:
    is_short = changes.until - changes.since < timedelta(days=1)
    return local_time(at) if is_short else local_date_time(at)


def _foot(changes: Changes) -> list[Json]:
    notes = []
    others = [one for one in changes.channels if one.others]
    if others:
        counts = (f"{one.others} in {_channel(one.channel)}" for one in others)
        notes.append(f"Other messages of that time: {', '.join(counts)}")
    for one in changes.channels:
        if one.read_back_to:
            back = _time(changes, one.read_back_to)
            notes.append(f"{_channel(one.channel)} has too many messages: I read back to {back}")
    if changes.common:
        notes.append(f"Most messages name {_names(changes.common, 'and')}: I did not go by that")
    if changes.not_joined:
        where = _listed(list(map(_channel, changes.not_joined)), "and")
        notes.append(f"I'm not in {where}: invite me there")
    if changes.closed:
        what = "1 change channel" if changes.closed == 1 else f"{changes.closed} change channels"
        notes.append(f"Left out: {what} that not everyone here may read, or that I can't")
    if not changes.documents:
        notes.append("I could not look for edited documents")
    if changes.lines:
        notes.append("Listed because they name these systems. That says nothing about the cause")
    return [context(["\n".join(f"{one}." for one in notes)])] if notes else []


def _line(line: ChangeLine, changes: Changes) -> str:
    label = link(line.url, short(line.label, _LINE))
    who = short(line.by, _AUTHOR)
    by = link(line.profile, who) if line.profile else sanitize_mrkdwn(who)
    what = "document edited" if line.document else by
    return f"• {_time(changes, line.at)} · {what}: {label}"


def _channel(channel: str) -> str:
    return f"<#{channel}>"


def _names(names: Sequence[str], last: str = "or") -> str:
    items = [
        f"`{sanitize_mrkdwn(short(one, _NAME).replace('`', BACKTICK_LOOKALIKE))}`"
        for one in names[:MAX_NAMES]
    ]
    more = len(names) - MAX_NAMES
    return _listed([*items, f"{more} more"] if more > 0 else items, last)


def _listed(items: Sequence[str], last: str) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return f" {last} ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
