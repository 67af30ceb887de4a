"""Streams an answer as one growing message: its steps, then its text; limits the rate of updates,
finds the part of an unfinished text that is safe to show."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import structlog

from bot.blocks.kit import Json
from bot.blocks.plan import ProgressPlan, WorkStep, changes, task
from bot.blocks.sanitize.markdown import Links, sanitize_markdown
from bot.posting.posts import UNKNOWN_BLOCKS, AnswerPosts
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage

log = structlog.get_logger()


@dataclass
class UpdatePacer:
    """Slack's rate limits, shared by all posts of a process."""

    paused_until: float = 0.0
    streams_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pause(self, seconds: float) -> None:
        with self.lock:
            self.paused_until = max(self.paused_until, time.monotonic() + seconds)

    def is_paused(self) -> bool:
        return time.monotonic() < self.paused_until

    def no_streams(self, seconds: float) -> None:
        with self.lock:
            self.streams_until = max(self.streams_until, time.monotonic() + seconds)

    def may_stream(self) -> bool:
        return time.monotonic() >= self.streams_until


class Throttle:
    """Shows the newest of several lines, at most one every `seconds`; the last one is never lost.

    Thread-safe. `show` runs in the caller's thread or a timer's, never in both at once."""

    def __init__(self, show: Callable[[str], None], seconds: float) -> None:
        self._show = show
        self._seconds = seconds
        self._due = time.monotonic() + seconds
        self._newest = ""
        self._timer: threading.Timer | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def offer(self, line: str) -> None:
        with self._lock:
            if self._stopped:
                return
            self._newest = line
            wait = self._due - time.monotonic()
            if wait <= 0:
                self._show_newest()
            elif self._timer is None:
                self._timer = threading.Timer(wait, self._show_late)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        """Show no more lines; returns when a running `show` has ended."""
        with self._lock:
            self._stopped = True
            if self._timer:
                self._timer.cancel()

    def _show_late(self) -> None:
        with self._lock:
            self._timer = None
            try:
                if not self._stopped:
                    self._show_newest()
            except Exception as error:  # only decoration, in a timer's thread
                log.warning("progress not shown", reason=str(error))

    def _show_newest(self) -> None:
        self._show(self._newest)
        self._due = time.monotonic() + self._seconds


_FENCE = re.compile(r"[ >]*(?:[-+*] |\d+[.)] )?[ ]*(`{3,}|~{3,})")
_CODE = re.compile(r"`[^`\n]*`")


_INCOMPLETE_LINE = re.compile(r"^[ >]*(?:\||(?:[-+*=#>]+|\d+[.)]|[-=]{2,})?[ ]*$)")
"""A line that may still change its kind: a table row, or markup without text."""
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|~~|(?<!\w)_{1,3}|_{1,3}(?!\w))")


def visible_part(so_far: str) -> str:
    """The part of a growing answer to show now, without links: its sources are not known yet."""
    return sanitize_markdown(so_far[: stable_length(so_far)], Links())


def stable_length(text: str) -> int:
    """Characters of a growing markdown text that more text does not change: whole code blocks and
    tables, and lines up to an incomplete link, code or emphasis."""
    lines = text[: safe_end(text)].split("\n")
    fence = _open_fence(lines)
    if fence is not None:
        lines = [*lines[:fence], ""]
    lines[-1] = lines[-1][: _before_emphasis(lines[-1])]
    while lines and _INCOMPLETE_LINE.match(lines[-1]):
        lines.pop()
    return len("\n".join(lines))


def _open_fence(lines: Sequence[str]) -> int | None:
    """The first line of a code block that isn't closed yet."""
    fence: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = (at, mark[1])
        elif mark and fence and mark[1].startswith(fence[1]):
            fence = None
    return fence[0] if fence else None


def _before_emphasis(line: str) -> int:
    """The start of emphasis that isn't closed in the line; else the line's end."""
    starts: dict[str, int] = {}
    for sign in _EMPHASIS.finditer(_without_code(line)):
        if line[sign.end() : sign.end() + 1] == " " and sign[1] not in starts:
            continue  # `* item`, `5 * 3`
        if starts.pop(sign[1], None) is None:
            starts[sign[1]] = sign.start()
    return min(starts.values(), default=len(line))


def safe_end(text: str) -> int:
    """Characters to show of a growing text: up to the last space outside an incomplete link."""
    end = max(text.rfind(" "), text.rfind("\n")) + 1
    line = text.rfind("\n", 0, end) + 1
    if (code := _without_code(text[line:end]).find("`")) >= 0:
        end = line + code
    for opener, closer in (("<", ">"), ("[", ")")):
        at = text.rfind(opener, line, end)
        if at >= 0 and text.find(closer, at + 1, end) < 0 and not _is_citation(text, at):
            end = min(end, at)
    return end


def _without_code(line: str) -> str:
    """Code replaced by spaces: the length stays."""
    return _CODE.sub(lambda code: " " * len(code[0]), line)


def _is_citation(text: str, at: int) -> bool:
    close = text.find("]", at)
    return close > 0 and text[at + 1 : close].isdigit() and text[close + 1 : close + 2] != "("


def text_chunk(text: str) -> dict[str, Any]:
    """A chunk of the answer."""
    return {"type": "markdown_text", "text": text}


NEVER_STREAMS = {
    "http_404", "unknown_method", "missing_scope", "not_allowed_token_type", "access_denied",
}  # fmt: skip
UNKNOWN_CHUNKS = UNKNOWN_BLOCKS | {"invalid_chunks"}
"""Slack's errors for steps, or ways to show them, that it doesn't support."""
_PLAN = ("task_display_mode", "plan_update")
_LINE = ("task_update",)


class LiveStream:
    """One streamed message, part 0 of a post. Slack ends a stream after about five minutes."""

    def __init__(
        self, web: SlackClient, event: IncomingMessage, parts: AnswerPosts, pace: UpdatePacer
    ) -> None:
        self._web = web
        self._event = event
        self._parts = parts
        self._pace = pace
        self._shows: Literal["plan", "line", "words"] = "words"
        """Display of the steps: all of them, only the current one, or none."""
        self._refused = ""
        """Slack's error at the start; empty without one."""
        self._sent: ProgressPlan | None = None
        """The plan as last sent to Slack."""
        self._line = ""
        self.running = False
        self.last_update = 0.0

    def begin_with_steps(self, plan: ProgressPlan) -> bool:
        """Start with the whole plan or, where Slack has no plans, a line. False if refused."""
        unsupported = self._web.unsupported
        if not unsupported.any_of((*_PLAN, *_LINE)):
            if self.begin(changes(None, plan), task_display_mode="plan"):
                self._shows, self._sent = "plan", plan
                return True
            if self._refused not in UNKNOWN_CHUNKS:
                return False
        if not unsupported.any_of(_LINE):
            if self.begin([_line_task(plan.title, "in_progress")]):
                unsupported.note(_PLAN)
                self._shows, self._line = "line", plan.title
                return True
            if self._refused in UNKNOWN_CHUNKS:
                unsupported.note((*_PLAN, *_LINE))
        return False

    def send(self, plan: ProgressPlan, line: str, *text: Json) -> bool:
        """Send what is new in the plan, the current step's `line` (empty once the answer is being
        written), and `text` chunks of the answer. False when Slack did not take them."""
        chunks: list[Json] = []
        if self._shows == "plan":
            chunks = list(changes(self._sent, plan))
        elif self._shows == "line" and line != self._line:
            chunks = [
                _line_task(line, "in_progress") if line else _line_task(self._line, "complete")
            ]
        is_sent = self._append([*chunks, *text])
        if is_sent:
            self._sent, self._line = plan, line
        return is_sent

    def stop(self) -> None:
        if self.running:
            self.running = False
            self._parts.stop(0)

    def begin(self, chunks: Iterable[Json], **more: str) -> bool:
        """Start with these chunks of steps or of the answer. False if Slack refuses."""
        has_recipient = self._event.team and self._event.user
        self._refused = ""
        if not self._pace.may_stream() or not (has_recipient or self._event.direct):
            return False
        try:
            reply = self._web.once(
                "chat.startStream",
                channel=self._event.channel,
                thread_ts=self._event.thread_ts,
                recipient_team_id=self._event.team or None,
                recipient_user_id=self._event.user or None,
                chunks=list(chunks),
                **more,
            )
        except SlackBusy as busy:
            self._pace.no_streams(busy.after)
            return False
        except SlackRefused as refused:
            self._refused = refused.code
            if refused.code in NEVER_STREAMS:
                self._pace.no_streams(600.0)
            log.info("slack does not stream here", reason=refused.code)
            return False
        except SlackUnsure:
            self._parts.find()
            return 0 in self._parts.ts
        self.last_update = time.monotonic()
        self.running = bool(reply.get("ts")) and self._parts.own(0, str(reply["ts"]))
        return self.running

    def _append(self, chunks: Sequence[Json]) -> bool:
        """After an expired stream, updates continue as edits."""
        if not chunks:
            return True
        self.last_update = time.monotonic()
        try:
            self._web.once(
                "chat.appendStream",
                channel=self._event.channel,
                ts=self._parts.ts[0],
                chunks=list(chunks),
            )
        except SlackBusy as busy:
            self._pace.pause(busy.after)
            return False
        except SlackRefused:
            self.running = False
            return False
        except SlackUnsure:
            return True  # The final message replaces everything: a gap is better than a repeat.
        return True


def _line_task(line: str, state: Literal["in_progress", "complete"]) -> Json:
    """The only step of a stream without a plan."""
    title = line if state == "in_progress" else line.rstrip("….")
    return task(WorkStep("progress", title, state))
