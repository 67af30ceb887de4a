"""A message that Slack shows growing: the steps to the answer, then its words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import structlog

from bot.message.blockkit import Json
from bot.message.delivery import UNKNOWN, Parts
from bot.message.growing.pace import Pace
from bot.message.growing.work_plan import WorkPlan, WorkStep, changes, task
from bot.slack.event import Asked
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web

log = structlog.get_logger()

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

    def __init__(self, web: Web, event: Asked, parts: Parts, pace: Pace) -> None:
        self._web = web
        self._event = event
        self._parts = parts
        self._pace = pace
        self._shows: Literal["plan", "line", "words"] = "words"
        """How the steps are shown: together, as the one that is under way, or not at all."""
        self._refused = ""
        """Why Slack did not begin it."""
        self._told: WorkPlan | None = None
        """Of the plan, what Slack has been told."""
        self._line = ""
        self.running = False
        self.last_shown = 0.0

    def begin_with_steps(self, plan: WorkPlan) -> bool:
        """With the whole plan or, where Slack has no plans, one line. False: it does not begin."""
        lacking = self._web.lacking
        if not lacking.any_of((*_PLAN, *_LINE)):
            if self._begin(changes(None, plan), task_display_mode="plan"):
                self._shows, self._told = "plan", plan
                return True
            if self._refused not in UNKNOWN_CHUNKS:
                return False
        if not lacking.any_of(_LINE):
            if self._begin([_line_task(plan.title, "in_progress")]):
                lacking.note(_PLAN)
                self._shows, self._line = "line", plan.title
                return True
            if self._refused in UNKNOWN_CHUNKS:
                lacking.note((*_PLAN, *_LINE))
        return False

    def begin_with_words(self, chunk: Json) -> bool:
        """Without steps, which were shown elsewhere. False: it does not begin."""
        return self._begin([chunk])

    def tell(self, plan: WorkPlan, line: str, *words: Json) -> bool:
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
