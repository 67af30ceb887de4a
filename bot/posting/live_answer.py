"""How an answer comes to be seen: something at once, progress on the way, the whole at the end."""

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
from bot.posting.streaming import LiveStream, Throttle, UpdatePacer, shown_of, words
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage

log = structlog.get_logger()

STATUS_EVERY = 1.5
"""Seconds between two status lines; Slack allows some 50 edits a minute."""
EDIT_EVERY = 3.0
STREAM_EVERY = 0.7
STREAM_BYTES = 8_000
"""More is not streamed: the final message is cut into parts anyway. Slack counts bytes, with the
steps, and ends at some 10,600."""


class LiveAnswer:
    """Shows progress (`step`, `delta`), then the answer (`finish`). One thread at a time.

    In channels the message exists from the start; in direct messages Slack's own status line
    comes first, where it is allowed."""

    def __init__(
        self,
        web: SlackClient,
        records: QuestionStore,
        event: IncomingMessage,
        *,
        bot_user: str,
        pace: UpdatePacer,
        stream: bool,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """`wanted`: whether progress may still be shown, or another answer owns the message."""
        self._web = web
        self._event = event
        self._pace = pace
        self._wanted = wanted
        self._stream = stream
        self._plan = ProgressPlan(title="")
        self._parts = AnswerPosts(web, records, event, bot_user=bot_user, streams=stream)
        self._live = LiveStream(web, event, self._parts, pace)
        self._text = ""
        self._shown = ""
        """Of the answer, as it was streamed: each time the whole is looked at, and its end sent."""
        self._status = Throttle(self._say, STATUS_EVERY)
        self._words = Throttle(self._write, STREAM_EVERY)

    def begin(self, status: str, *, resumed: bool) -> bool:
        """Make something visible, unless an earlier attempt already did. Whether this one did."""
        self._plan = ProgressPlan(title=status)
        if resumed:
            self.resume()
        if 0 in self._parts.ts:
            return False
        if self._event.direct and self._set_status(status):
            return True
        if self._pace.quiet():
            return False  # Slack is at its limits: one message with the answer, none before it.
        if self._stream and self._live.begin_with_steps(self._plan):
            return True
        self._create(0, working(self._plan), "working")
        return True

    def resume(self) -> None:
        """Take what an attempt before a crash has posted and not recorded."""
        self._parts.find()

    def title(self, text: str) -> None:
        """Name the conversation in the agent pane after its first question."""
        if self._event.direct and self._event.starts_thread:
            self._try(
                "assistant.threads.setTitle",
                channel_id=self._event.channel,
                thread_ts=self._event.thread_ts,
                title=short(sanitize_plain(text), 80),
            )

    def step(self, step: Step, text: str) -> None:
        """A short line about what is happening. In a plan every step is shown; where there is room
        for one line, the last of several in one breath."""
        self._plan = self._plan.doing(step, text)
        self._status.offer(text)

    def settle(self) -> None:
        """The thinking is over: nothing may be shown after this, over the answer."""
        self._status.stop()
        self._words.stop()

    def _say(self, status: str) -> None:
        if self._pace.quiet() or not self._wanted():
            return
        if 0 not in self._parts.ts:
            if self._event.direct:
                self._set_status(status)
        elif self._live.running:
            self._live.tell(self._plan, status)
        else:
            self._show(working(self._plan))

    def delta(self, text: str) -> None:
        """The next piece of the answer; shown when a few words have come together."""
        self._status.stop()
        self._text += text
        self._plan = self._plan.writing()
        if len(self._text.encode()) <= STREAM_BYTES:
            self._words.offer(self._text)

    def _write(self, so_far: str) -> None:
        """Show what isn't shown yet, up to where links and mentions are complete."""
        shown = shown_of(so_far)
        if not shown.startswith(self._shown):
            return  # Its beginning reads differently by now: the final message puts that right.
        fresh = shown[len(self._shown) :]
        if not fresh.strip() or self._pace.quiet() or not self._wanted():
            return
        posted = 0 in self._parts.ts
        if not posted and self._stream and self._live.begin_with_words(words(fresh)):
            self._shown = shown
        elif self._live.running:
            if self._live.tell(self._plan, "", words(fresh)):
                self._shown = shown
        elif posted and time.monotonic() - self._live.last_shown >= EDIT_EVERY:
            self._show(SlackMessage(text="…", blocks=[{"type": "markdown", "text": shown + " …"}]))

    def finish(self, messages: Sequence[SlackMessage], *, failed: bool = False) -> None:
        """Show the answer: the first message in place of the placeholder, then the others. Where it
        `failed`, with the steps up to there.

        Safe to repeat. Raises SlackRefused, SlackUnsure or SlackBusy when Slack won't have it."""
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
        """The question is gone: so is everything said to it."""
        self.settle()
        self._parts.find()
        self._live.stop()
        for part in sorted(self._parts.ts, reverse=True):
            self._parts.delete(part)

    def _create(self, part: int, message: SlackMessage, state: str) -> None:
        self._parts.create(part, message, state=state, busy=self._pace.hush)

    def _try(self, method: str, **arguments: object) -> Json | None:
        return self._try_to(lambda: self._web.once(method, **arguments))

    def _try_to(self, call: Callable[[], Json]) -> Json | None:
        """One attempt at something that only decorates; None when Slack won't."""
        self._live.last_shown = time.monotonic()
        try:
            return call()
        except SlackBusy as busy:
            self._pace.hush(busy.after)
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
        done = self._try(
            "assistant.threads.setStatus",
            channel_id=self._event.channel,
            thread_ts=self._event.thread_ts,
            status=sanitize_plain(status),
        )
        return done is not None
