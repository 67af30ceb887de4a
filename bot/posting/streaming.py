"""A message that Slack shows growing: the steps to the answer, then its words.

How often something may be shown.

What can be shown of a text that is still being written. Pure."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import structlog

from bot.blocks.kit import Json
from bot.blocks.plan import ProgressPlan, WorkStep, changes, task
from bot.blocks.sanitize.markdown import Links, sanitize_markdown
from bot.posting.posts import UNKNOWN, AnswerPosts
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage

log = structlog.get_logger()


@dataclass
class UpdatePacer:
    """What all posts of a process share: when Slack last said it is too much."""

    quiet_until: float = 0.0
    streams_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hush(self, seconds: float) -> None:
        with self.lock:
            self.quiet_until = max(self.quiet_until, time.monotonic() + seconds)

    def quiet(self) -> bool:
        return time.monotonic() < self.quiet_until

    def no_streams(self, seconds: float) -> None:
        with self.lock:
            self.streams_until = max(self.streams_until, time.monotonic() + seconds)

    def may_stream(self) -> bool:
        return time.monotonic() >= self.streams_until


class Throttle:
    """Shows the newest of several lines, one every `seconds` at most; the last one is never lost.

    Thread-safe. `show` runs in the caller's thread or a timer's, never in both at once."""

    def __init__(self, show: Callable[[str], None], seconds: float) -> None:
        self._show = show
        self._seconds = seconds
        self._due = time.monotonic() + seconds
        self._waiting = ""
        self._timer: threading.Timer | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def offer(self, line: str) -> None:
        with self._lock:
            if self._stopped:
                return
            self._waiting = line
            wait = self._due - time.monotonic()
            if wait <= 0:
                self._say()
            elif self._timer is None:
                self._timer = threading.Timer(wait, self._late)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        """No more lines: returns when none is being shown."""
        with self._lock:
            self._stopped = True
            if self._timer:
                self._timer.cancel()

    def _late(self) -> None:
        with self._lock:
            self._timer = None
            try:
                if not self._stopped:
                    self._say()
            except Exception as error:  # only decoration, and nobody above to hear of it
                log.warning("progress not shown", reason=str(error))

    def _say(self) -> None:
        self._show(self._waiting)
        self._due = time.monotonic() + self._seconds


_FENCE = re.compile(r"[ >]*(?:[-+*] |\d+[.)] )?[ ]*(`{3,}|~{3,})")
_CODE = re.compile(r"`[^`\n]*`")


_UNFINISHED = re.compile(r"^[ >]*(?:\||(?:[-+*=#>]+|\d+[.)]|[-=]{2,})?[ ]*$)")
"""A line that may become something else: a row of a table, or a sign without its words."""
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|~~|(?<!\w)_{1,3}|_{1,3}(?!\w))")


def shown_of(so_far: str) -> str:
    """A growing answer as it may be seen by now. Without links: its sources are not known yet."""
    return sanitize_markdown(so_far[: settled(so_far)], Links())


def settled(text: str) -> int:
    """How much of a growing markdown text stays as it is read: whole code blocks and tables, lines
    as far as their links, code and emphasis are complete."""
    lines = text[: safe_end(text)].split("\n")
    fence = _open_fence(lines)
    if fence is not None:
        lines = [*lines[:fence], ""]
    lines[-1] = lines[-1][: _before_emphasis(lines[-1])]
    while lines and _UNFINISHED.match(lines[-1]):
        lines.pop()
    return len("\n".join(lines))


def _open_fence(lines: Sequence[str]) -> int | None:
    """The line of the code block that isn't closed yet."""
    opened: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and opened is None:
            opened = (at, mark[1])
        elif mark and opened and mark[1].startswith(opened[1]):
            opened = None
    return opened[0] if opened else None


def _before_emphasis(line: str) -> int:
    """Where emphasis begins that isn't closed in the line; else its end."""
    opened: dict[str, int] = {}
    for sign in _EMPHASIS.finditer(_without_code(line)):
        if line[sign.end() : sign.end() + 1] == " " and sign[1] not in opened:
            continue  # `* item`, `5 * 3`
        if opened.pop(sign[1], None) is None:
            opened[sign[1]] = sign.start()
    return min(opened.values(), default=len(line))


def safe_end(text: str) -> int:
    """How much of a growing text can be shown: up to the last space outside a link or mention
    that may still be unfinished."""
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
    """As long as it was."""
    return _CODE.sub(lambda code: " " * len(code[0]), line)


def _is_citation(text: str, at: int) -> bool:
    close = text.find("]", at)
    return close > 0 and text[at + 1 : close].isdigit() and text[close + 1 : close + 2] != "("


def words(text: str) -> dict[str, Any]:
    """A chunk of the answer."""
    return {"type": "markdown_text", "text": text}


NEVER_STREAMS = {
    "http_404",
    "unknown_method",
    "missing_scope",
    "not_allowed_token_type",
    "access_denied",
}
UNKNOWN_CHUNKS = UNKNOWN | {"invalid_chunks"}
"""How Slack refuses steps, or a way to show them, that it doesn't know."""
_PLAN = ("task_display_mode", "plan_update")
_LINE = ("task_update",)


class LiveStream:
    """One message, part 0 of a post. Slack ends a stream by itself some five minutes in."""

    def __init__(
        self, web: SlackClient, event: IncomingMessage, parts: AnswerPosts, pace: UpdatePacer
    ) -> None:
        self._web = web
        self._event = event
        self._parts = parts
        self._pace = pace
        self._shows: Literal["plan", "line", "words"] = "words"
        """How the steps are shown: together, as the one that is under way, or not at all."""
        self._refused = ""
        """Why Slack did not begin it."""
        self._told: ProgressPlan | None = None
        """Of the plan, what Slack has been told."""
        self._line = ""
        self.running = False
        self.last_shown = 0.0

    def begin_with_steps(self, plan: ProgressPlan) -> bool:
        """With the whole plan or, where Slack has no plans, one line. False: it does not begin."""
        unsupported = self._web.unsupported
        if not unsupported.any_of((*_PLAN, *_LINE)):
            if self._begin(changes(None, plan), task_display_mode="plan"):
                self._shows, self._told = "plan", plan
                return True
            if self._refused not in UNKNOWN_CHUNKS:
                return False
        if not unsupported.any_of(_LINE):
            if self._begin([_line_task(plan.title, "in_progress")]):
                unsupported.note(_PLAN)
                self._shows, self._line = "line", plan.title
                return True
            if self._refused in UNKNOWN_CHUNKS:
                unsupported.note((*_PLAN, *_LINE))
        return False

    def begin_with_words(self, chunk: Json) -> bool:
        """Without steps, which were shown elsewhere. False: it does not begin."""
        return self._begin([chunk])

    def tell(self, plan: ProgressPlan, line: str, *words: Json) -> bool:
        """What is new in the plan, `line` being under way (empty: none is, words are coming), and
        `words`. False when they have not come through."""
        chunks: list[Json] = []
        if self._shows == "plan":
            chunks = changes(self._told, plan)
        elif self._shows == "line" and line != self._line:
            chunks = [
                _line_task(line, "in_progress") if line else _line_task(self._line, "complete")
            ]
        told = self._append([*chunks, *words])
        if told:
            self._told, self._line = plan, line
        return told

    def stop(self) -> None:
        if self.running:
            self.running = False
            self._parts.stop(0)

    def _begin(self, chunks: Sequence[Json], **more: str) -> bool:
        known = self._event.team and self._event.user
        self._refused = ""
        if not self._pace.may_stream() or not (known or self._event.direct):
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
        self.last_shown = time.monotonic()
        self.running = bool(reply.get("ts")) and self._parts.own(0, str(reply["ts"]))
        return self.running

    def _append(self, chunks: Sequence[Json]) -> bool:
        """One that expired goes on as edits."""
        if not chunks:
            return True
        self.last_shown = time.monotonic()
        try:
            self._web.once(
                "chat.appendStream",
                channel=self._event.channel,
                ts=self._parts.ts[0],
                chunks=list(chunks),
            )
        except SlackBusy as busy:
            self._pace.hush(busy.after)
            return False
        except SlackRefused:
            self.running = False
            return False
        except SlackUnsure:
            return True  # The final message replaces everything; better a gap than a repeat.
        return True


def _line_task(line: str, state: Literal["in_progress", "complete"]) -> Json:
    """The one step of a stream that shows no plan."""
    title = line if state == "in_progress" else line.rstrip("….")
    return task(WorkStep("progress", title, state))
