"""Posts an answer: a placeholder at once, then progress, and the whole answer at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from agents.steps import Step
from bot.blocks.kit import Json, short
from bot.blocks.plan import ProgressPlan, plan_block
from bot.blocks.render import SlackMessage, working
from bot.blocks.sanitize.text import sanitize_plain
from bot.posting.posts import AnswerPosts, post_with_fallback
from bot.posting.streaming import LiveStream, Throttle, UpdatePacer, text_chunk, visible_part
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage

log = structlog.get_logger()

STATUS_EVERY = 1.5
"""Seconds between two status lines; Slack allows some 50 edits a minute."""
EDIT_EVERY = 3.0
STREAM_EVERY = 0.7
STREAM_BYTES = 8_000
"""More is not streamed: the final message is cut into parts anyway. Slack counts bytes, including
the steps, and stops at about 10,600."""


class LiveAnswer:
    """Shows progress (`step`, `delta`), then the answer (`finish`). One thread at a time.

    In channels the message exists from the start; in direct messages Slack's own status line comes
    first, where Slack allows it."""

    def __init__(
        self,
        web: SlackClient,
        records: QuestionStore,
        event: IncomingMessage,
        *,
        pace: UpdatePacer,
        stream: bool,
        may_show: Callable[[], bool] = lambda: True,
    ) -> None:
        """`may_show`: False once another answer owns the message: no progress is shown then."""
        self._web = web
        self._event = event
        self._pace = pace
        self._may_show = may_show
        self._stream = stream
        self._plan = ProgressPlan(title="")
        self._parts = AnswerPosts(web, records, event, streams=stream)
        self._live = LiveStream(web, event, self._parts, pace)
        self._text = ""
        self._streamed_text = ""
        """The part of the answer that is streamed; each update sends what follows it."""
        self._status_updates = Throttle(self._show_status, STATUS_EVERY)
        self._text_updates = Throttle(self._show_text, STREAM_EVERY)

    def begin(self, status: str, *, resumed: bool) -> bool:
        """Show the first sign of work, unless an earlier attempt did. Returns whether it did."""
        self._plan = ProgressPlan(title=status)
        if resumed:
            self.resume()
        if 0 in self._parts.ts:
            return False
        if self._event.direct and self._set_status(status):
            return True
        if self._pace.is_paused():
            return False  # Slack limits the rate: only one message, with the answer.
        if self._stream and self._live.begin_with_steps(self._plan):
            return True
        self._create(0, working(self._plan), "working")
        return True

    def resume(self) -> bool:
        """Find messages that an attempt before a crash posted and did not record. Returns whether
        there is any."""
        self._parts.find()
        return bool(self._parts.ts)

    def title(self, text: str) -> None:
        """Name the conversation in the agent pane after its first question."""
        if self._event.direct and self._event.starts_thread:
            self._try(
                "assistant.threads.setTitle",
                channel_id=self._event.channel,
                thread_ts=self._event.thread_ts,
                title=short(sanitize_plain(text), 80),
            )

    def step(self, step: Step, text: str, **scores: float) -> None:
        """A line about the current step; a plan shows every step, a single line the newest."""
        self._plan = self._plan.doing(step, text)
        self._status_updates.offer(text)

    def settle(self) -> None:
        """Stop progress updates: none may replace the answer."""
        self._status_updates.stop()
        self._text_updates.stop()

    def wait(self, status: str) -> None:
        """Show why the work stands still, in a message that is there. Uses no database."""
        self.settle()
        if 0 not in self._parts.ts or self._pace.is_paused():
            return
        self._try_to(self._live.stop)
        self._show(working(ProgressPlan(title=status)))

    def _show_status(self, status: str) -> None:
        if self._pace.is_paused() or not self._may_show():
            return
        if 0 not in self._parts.ts:
            if self._event.direct:
                self._set_status(status)
        elif self._live.running:
            self._live.send(self._plan, status)
        else:
            self._show(working(self._plan))

    def delta(self, text: str) -> None:
        """The next piece of the answer; shown at most every `STREAM_EVERY` seconds."""
        self._status_updates.stop()
        self._text += text
        self._plan = self._plan.writing()
        if len(self._text.encode()) <= STREAM_BYTES:
            self._text_updates.offer(self._text)

    def _show_text(self, so_far: str) -> None:
        """Show the new text, up to an incomplete link or mention."""
        visible = visible_part(so_far)
        if not visible.startswith(self._streamed_text):
            return  # The beginning has changed: the final message corrects it.
        fresh = visible[len(self._streamed_text) :]
        if not fresh.strip() or self._pace.is_paused() or not self._may_show():
            return
        is_posted = 0 in self._parts.ts
        if not is_posted and self._stream and self._live.begin([text_chunk(fresh)]):
            self._streamed_text = visible
        elif self._live.running:
            if self._live.send(self._plan, "", text_chunk(fresh)):
                self._streamed_text = visible
        elif is_posted and time.monotonic() - self._live.last_update >= EDIT_EVERY:
            self._show(
                SlackMessage(text="…", blocks=[{"type": "markdown", "text": visible + " …"}])
            )

    def finish(self, messages: Sequence[SlackMessage], *, failed: bool = False) -> None:
        """Show the answer: the first message replaces the placeholder, then come the others. With
        `failed`, the steps so far come first.

        Safe to repeat. Raises SlackRefused, SlackUnsure or SlackBusy."""
        self.settle()
        self._live.stop()
        if failed and self._plan.has_begun:
            steps = plan_block(self._plan.failed())
            first = replace(messages[0], blocks=[steps, *messages[0].blocks])
            messages = [first, *messages[1:]]
        for part, message in enumerate(messages):
            if not (part in self._parts.ts and self._parts.update(part, message)):
                self._create(part, message, "answered")
        for part in sorted(part for part in self._parts.ts if part >= len(messages)):
            self._parts.delete(part)
        if self._event.direct:
            self._set_status("")

    def withdraw(self) -> None:
        """Delete all messages of the answer, after its question was deleted."""
        self.settle()
        self._parts.find()
        self._live.stop()
        for part in sorted(self._parts.ts, reverse=True):
            self._parts.delete(part)

    def _create(self, part: int, message: SlackMessage, state: str) -> None:
        self._parts.create(part, message, state=state, on_busy=self._pace.pause)

    def _try(self, method: str, **arguments: object) -> Json | None:
        return self._try_to(lambda: self._web.once(method, **arguments))

    def _try_to(self, call: Callable[[], Json | None]) -> Json | None:
        """One attempt at an optional call; None when Slack does not take it."""
        self._live.last_update = time.monotonic()
        try:
            return call()
        except SlackBusy as busy:
            self._pace.pause(busy.after)
        except (SlackRefused, SlackUnsure) as error:
            log.debug("progress not shown", reason=str(error))
        return None

    def _show(self, message: SlackMessage) -> None:
        self._try_to(
            lambda: post_with_fallback(
                self._web,
                self._web.once,
                "chat.update",
                message,
                {
                    "channel": self._event.channel,
                    "ts": self._parts.ts[0],
                    "metadata": self._parts.metadata(0, "working"),
                },
            )
        )

    def _set_status(self, status: str) -> bool:
        reply = self._try(
            "assistant.threads.setStatus",
            channel_id=self._event.channel,
            thread_ts=self._event.thread_ts,
            status=sanitize_plain(status),
        )
        return reply is not None
