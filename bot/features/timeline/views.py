"""A timeline as a Slack message, and as Markdown for a review. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Protocol

from bot.blocks.kit import (
    actions,
    button,
    context,
    link,
    local_date_time,
    local_time,
    sections,
    short,
)
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import BACKTICK_LOOKALIKE, BREAK, sanitize_mrkdwn, sanitize_plain
from bot.feature import TimelineEntry
from bot.features.timeline.rows import AlertTimes, Pause, Row, ThreadMessage, Timeline, minutes
from loaders.text.markdown import Span, escape, spans_to_markdown

TIMELINE, MARKDOWN, DOCUMENT = "timeline", "timeline_markdown", "timeline_document"
"""Ids of the buttons."""
MAX_QUOTE_CHARS, MAX_RUN_CHARS = 160, 320
"""Of one message, and of a run of them."""
MAX_CHARS = 7_500
"""Characters of a message's rows; Slack fails near 13,200 in all."""
MAX_ALERTS, MAX_UNKNOWN = 8, 12
"""Lines of a message; its Markdown has all."""
NOTE = "From the thread's messages, presses and alerts alone: nothing here is inferred."


@dataclass(frozen=True, kw_only=True)
class Thread:
    """Where a timeline's rows lead to, and the names of its people."""

    team_url: str
    channel: str
    ts: str
    messages: Container[str]
    """Timestamps of its messages."""
    name_of: Callable[[str], str]

    def url(self, ts: str = "") -> str:
        """Of a message in it, or in its channel; empty for an unknown place."""
        ts = ts or self.ts
        if not self.team_url or not ts.replace(".", "", 1).isdigit():
            return ""
        url = f"{self.team_url}/archives/{self.channel}/p{ts.replace('.', '')}"
        is_reply = ts != self.ts and ts in self.messages
        return f"{url}?thread_ts={self.ts}&cid={self.channel}" if is_reply else url

    def profile(self, who: str) -> str:
        return f"{self.team_url}/team/{who}" if self.team_url and who[:1] in ("U", "W") else ""


class Markup(Protocol):
    def time(self, at: datetime) -> str: ...
    def moment(self, at: datetime) -> str: ...
    def plain(self, text: str) -> str: ...
    def strong(self, text: str) -> str: ...
    def link(self, url: str, text: str) -> str: ...
    def person(self, url: str, name: str) -> str: ...


class SlackMarkup:
    """mrkdwn, with times in the reader's zone. A name is a link: a mention would notify."""

    def time(self, at: datetime) -> str:
        return local_time(at)

    def moment(self, at: datetime) -> str:
        return local_date_time(at)

    def plain(self, text: str) -> str:
        return sanitize_mrkdwn(text.replace("`", BACKTICK_LOOKALIKE))

    def strong(self, text: str) -> str:
        return f"*{self.plain(text.replace('*', '∗'))}*"

    def link(self, url: str, text: str) -> str:
        return link(url, text.replace("`", BACKTICK_LOOKALIKE))

    def person(self, url: str, name: str) -> str:
        return f"*{self.link(url, name.replace('*', '∗'))}*"


class MarkdownMarkup:
    """With times in UTC: it is pasted elsewhere."""

    def time(self, at: datetime) -> str:
        return f"{at:%H:%M}"

    def moment(self, at: datetime) -> str:
        return f"{at:%Y-%m-%d %H:%M}"

    def plain(self, text: str) -> str:
        return escape(_inert(text))

    def strong(self, text: str) -> str:
        return spans_to_markdown([Span(text=_inert(text), bold=True)])

    def link(self, url: str, text: str) -> str:
        return spans_to_markdown([Span(text=_inert(text), link=url)])

    def person(self, url: str, name: str) -> str:
        return self.link(url, name)


def _inert(text: str) -> str:
    """Without links and mentions, also for a reader of Markdown who takes `\\](` for a link."""
    return sanitize_plain(text).replace("](", "] (").replace("@", f"@{BREAK}")


def timeline_message(timeline: Timeline, thread: Thread, *, has_folder: bool) -> SlackMessage:
    marks = SlackMarkup()
    title = f":clipboard: *Timeline of this thread*, {_span(timeline, marks)}"
    alerts = [_alert(one, marks, thread) for one in timeline.alerts]
    unknown = [f"• {_unknown(*one, marks)}" for one in timeline.unknown]
    rows, left_out = _fitted(list(_lines(timeline, marks, thread)))
    notes = [NOTE]
    if left_out:
        rows_are = "1 row in the middle is" if left_out == 1 else f"{left_out} rows are"
        notes.append(f"{rows_are} left out here; *Markdown* has all of them.")
    notes += _cut_notes(timeline)
    value = f"{thread.channel}:{thread.ts}"
    buttons = [button("Markdown", MARKDOWN, value)]
    buttons += [button("Save as Google Doc", DOCUMENT, value)] if has_folder else []
    blocks = [
        *sections([title, *_first(alerts, MAX_ALERTS)]),
        {"type": "divider"},
        *sections(rows),
        {"type": "divider"},
        *sections(["*Unknown from this thread*", *_first(unknown, MAX_UNKNOWN)]),
        context([" ".join(notes)]),
        actions(buttons),
    ]
    return SlackMessage(text="Timeline of this thread", blocks=blocks)


def timeline_markdown(timeline: Timeline, thread: Thread) -> str:
    """Markdown for a postmortem, with times in UTC."""
    marks = MarkdownMarkup()
    lines = [f"# {marks.plain(timeline_title(timeline))}", ""]
    lines += [f"{_span(timeline, marks)} UTC, {marks.link(thread.url(), 'the thread')}.", ""]
    lines += [" ".join([NOTE, *_cut_notes(timeline)]), ""]
    if timeline.alerts:
        lines += ["## Alerts", "", *(f"- {_alert(one, marks, thread)}" for one in timeline.alerts)]
        lines += [""]
    lines += ["## What happened", "", *(f"- {one}" for one in _lines(timeline, marks, thread)), ""]
    lines += ["## Unknown", "", *(f"- {_unknown(*one, marks)}" for one in timeline.unknown)]
    return "\n".join(lines) + "\n"


def timeline_title(timeline: Timeline) -> str:
    """Plain text."""
    names = [short(name, 80) for name in dict.fromkeys(one.name for one in timeline.alerts)]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    about = f": {', '.join(names[:3])}{more}" if names else ""
    return f"Timeline {timeline.span[0]:%Y-%m-%d}{about}"


def _span(timeline: Timeline, marks: Markup) -> str:
    start, end = timeline.span
    last = marks.time(end) if start.date() == end.date() else marks.moment(end)
    return f"{marks.moment(start)} to {last}"


def _lines(timeline: Timeline, marks: Markup, thread: Thread) -> Iterator[str]:
    """One for each row; with the date where another day begins in UTC."""
    day = timeline.span[0].date()
    for row in timeline.rows:
        at = row.start if isinstance(row, Pause) else row.entry.at
        time = marks.time if at.date() == day else marks.moment
        day = at.date()
        if isinstance(row, Row):
            yield f"{time(at)} {_row(row, marks, thread)}"
            continue
        lasted = minutes(row.end - row.start)
        yield f"{time(at)} to {marks.time(row.end)}: nothing in this thread for {lasted}"


def _row(row: Row, marks: Markup, thread: Thread) -> str:
    entry, count = row.entry, len(row.more)
    url = thread.url(entry.ts) if entry.ts else ""
    subject = _subject(entry, marks, thread)
    if not isinstance(entry, ThreadMessage):
        again = "once more at" if count == 1 else f"{count} more times until"
        more = f" and {again} {marks.time(row.until)}" if count else ""
        return f"{subject} {marks.link(url, _words(entry))}{more}".strip()
    run = [_words(one) for one in (entry, *row.more)]
    fitting = max(1, sum(size <= MAX_RUN_CHARS for size in accumulate(map(len, run))))
    left_out = len(run) - fitting
    messages = "1 more message" if left_out == 1 else f"{left_out} more messages"
    ending = f" and {messages}" if left_out else ""
    separator = " " if entry.what else ": "
    return f"{subject}{separator}{marks.link(url, ' '.join(run[:fitting]))}{ending}"


def _subject(entry: TimelineEntry, marks: Markup, thread: Thread) -> str:
    if isinstance(entry, ThreadMessage) and entry.program:
        return marks.strong(short(entry.program, 60))
    if who := entry.by or entry.whom:
        return marks.person(thread.profile(who), short(thread.name_of(who), 60))
    return marks.strong(short(entry.alert, 80)) if entry.alert else ""


def _words(entry: TimelineEntry) -> str:
    quote = f"“{short(entry.quote, MAX_QUOTE_CHARS)}”" if entry.quote else ""
    edited = " (edited later)" if isinstance(entry, ThreadMessage) and entry.edited else ""
    return ": ".join(filter(None, (short(entry.what, MAX_QUOTE_CHARS), quote))) + edited


def _alert(one: AlertTimes, marks: Markup, thread: Thread) -> str:
    facts = [f"fired {marks.moment(one.began_at)}" if one.began_at else "fired before this thread"]
    if act := one.first_act:
        name = marks.plain(short(thread.name_of(act.by), 60))
        facts.append(f"first message or press {marks.time(act.at)} by {name}")
    if one.ended_at:
        lasted = f" after {minutes(one.ended_at - one.began_at)}" if one.began_at else ""
        facts.append(f"resolved {marks.time(one.ended_at)}{lasted}")
    return f"{marks.strong(short(one.name, 80))}: {' · '.join(facts)}"


def _unknown(what: str, why: str, marks: Markup) -> str:
    return f"{marks.plain(short(what, 160))}: unknown, {why}"


def _cut_notes(timeline: Timeline) -> list[str]:
    return ["The thread is longer: only its beginning was read."] if timeline.read_until else []


def _first(lines: Sequence[str], limit: int) -> list[str]:
    more = len(lines) - limit
    return [*lines[:limit], *([f"and {more} more, in *Markdown*"] if more > 0 else [])]


def _fitted(lines: list[str]) -> tuple[list[str], int]:
    """The first and the last lines, as many as fit, and the number of those between."""
    start, end, room = 0, len(lines), MAX_CHARS
    while start < end:
        takes_first = start <= len(lines) - end
        room -= len(lines[start if takes_first else end - 1]) + 1
        if room < 0:
            break
        start, end = (start + 1, end) if takes_first else (start, end - 1)
    left_out = end - start
    gap = [f"… {left_out} rows …"] if left_out else []
    return [*lines[:start], *gap, *lines[end:]], left_out
