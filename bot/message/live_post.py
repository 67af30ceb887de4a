"""How an answer comes to be seen: something at once, progress on the way, the whole at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import structlog

from bot.memory.record import Records
from bot.message.blockkit import Json, short
from bot.message.delivery import Parts
from bot.message.harmless.harmless_words import plain
from bot.message.pace import Latest, Pace
from bot.message.render import Outgoing, placeholder
from bot.message.stream import shown_of, task, words
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
STATUS_EVERY = 1.5
"""Seconds between two status lines; Slack allows some 50 edits a minute."""
EDIT_EVERY = 3.0
STREAM_EVERY = 0.7
STREAM_CHARACTERS = 8_000
"""More is not streamed: the final message is cut into parts anyway."""


class Post:
    """Shows progress (`status`, `delta`), then the answer (`finish`). One thread at a time.

    In channels the message exists from the start; in direct messages Slack's own status line
    comes first, where it is allowed."""

    def __init__(
        self,
        web: Web,
        records: Records,
        event: Asked,
        *,
        bot_user: str,
        pace: Pace,
        stream: bool,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """`wanted`: whether progress may still be shown, or another answer owns the message."""
        self._web = web
        self._event = event
        self._pace = pace
        self._wanted = wanted
        self._stream = stream
        self._streaming = False
        self._parts = Parts(web, records, event, bot_user=bot_user, streams=stream)
        self._text = ""
        self._shown = ""
        """Of the answer, as it was streamed: each time the whole is looked at, and its end sent."""
        self._line = ""
        self._last_shown = 0.0
        self._status = Latest(self._say, STATUS_EVERY)
        self._words = Latest(self._write, STREAM_EVERY)

    def begin(self, status: str, *, resumed: bool) -> bool:
        """Make something visible, unless an earlier attempt already did. Whether this one did."""
        if resumed:
            self._parts.find()
        if 0 in self._parts.ts:
            return False
        if self._event.direct and self._set_status(status):
            return True
        if self._pace.quiet():
            return False  # Slack is at its limits: one message with the answer, none before it.
        if self._stream and self._start_stream(task(status, "in_progress")):
            self._line = status
            return True
        self._create(0, placeholder(status), "working")
        return True

    def title(self, text: str) -> None:
        """Name the conversation in the agent pane after its first question."""
        if self._event.direct and self._event.starts_thread:
            self._try(
                "assistant.threads.setTitle",
                channel_id=self._event.channel,
                thread_ts=self._event.thread_ts,
                title=short(plain(text), 80),
            )

    def status(self, text: str) -> None:
        """A short line about what is happening; of several in one breath the last is shown."""
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
        elif self._streaming:
            self._line = status
            self._append(task(status, "in_progress"))
        else:
            self._show(placeholder(status))

    def delta(self, text: str) -> None:
        """The next piece of the answer; shown when a few words have come together."""
        self._status.stop()
        self._text += text
        if len(self._text) <= STREAM_CHARACTERS:
            self._words.offer(self._text)

    def _write(self, so_far: str) -> None:
        """Show what isn't shown yet, up to where links and mentions are complete."""
        shown = shown_of(so_far)
        if not shown.startswith(self._shown):
            return  # Its beginning reads differently by now: the final message puts that right.
        fresh = shown[len(self._shown) :]
        if not fresh.strip() or self._pace.quiet() or not self._wanted():
            return
        if 0 not in self._parts.ts and self._stream and self._start_stream(words(fresh)):
            self._shown = shown
        elif self._streaming:
            done = [task(self._line, "complete")] if self._line else []
            if self._append(*done, words(fresh)):
                self._shown, self._line = shown, ""
        elif 0 in self._parts.ts and time.monotonic() - self._last_shown >= EDIT_EVERY:
            self._show(Outgoing(text="…", blocks=[{"type": "markdown", "text": shown + " …"}]))

    def finish(self, messages: Sequence[Outgoing]) -> None:
        """Show the answer: the first message in place of the placeholder, then the others.

        Safe to repeat. Raises SlackRefused, SlackUnsure or SlackBusy when Slack won't have it."""
        self.settle()
        self._stop_stream()
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
        self._stop_stream()
        for part in sorted(self._parts.ts, reverse=True):
            self._parts.delete(part)

    def _create(self, part: int, message: Outgoing, state: str) -> None:
        self._parts.create(part, message, state=state, busy=self._pace.hush)

    def _try(self, method: str, **arguments: object) -> Json | None:
        """One attempt at something that only decorates; None when Slack won't."""
        self._last_shown = time.monotonic()
        try:
            return self._web.once(method, **arguments)
        except SlackBusy as busy:
            self._pace.hush(busy.after)
        except (SlackRefused, SlackUnsure) as error:
            log.debug("progress not shown", reason=str(error))
        return None

    def _show(self, message: Outgoing) -> None:
        self._try(
            "chat.update",
            channel=self._event.channel,
            ts=self._parts.ts[0],
            text=message.text,
            blocks=message.blocks,
            metadata=self._parts.metadata(0, "working"),
        )

    def _set_status(self, status: str) -> bool:
        done = self._try(
            "assistant.threads.setStatus",
            channel_id=self._event.channel,
            thread_ts=self._event.thread_ts,
            status=plain(status),
        )
        return done is not None

    def _start_stream(self, chunk: Json) -> bool:
        """Begin the message as a stream. False: use a placeholder instead."""
        known = self._event.team and self._event.user
        if not self._pace.may_stream() or not (known or self._event.direct):
            return False
        try:
            reply = self._web.once(
                "chat.startStream",
                channel=self._event.channel,
                thread_ts=self._event.thread_ts,
                recipient_team_id=self._event.team or None,
                recipient_user_id=self._event.user or None,
                chunks=[chunk],
            )
        except SlackBusy as busy:
            self._pace.no_streams(busy.after)
            return False
        except SlackRefused as refused:
            if refused.code in NEVER_STREAMS:
                self._pace.no_streams(600.0)
            log.info("slack does not stream here", reason=refused.code)
            return False
        except SlackUnsure:
            self._parts.find()
            return 0 in self._parts.ts
        self._last_shown = time.monotonic()
        self._streaming = bool(reply.get("ts")) and self._parts.own(0, str(reply["ts"]))
        return self._streaming

    def _append(self, *chunks: Json) -> bool:
        """Add to the stream; one that expired (after some five minutes) goes on as edits."""
        self._last_shown = time.monotonic()
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
            self._streaming = False
            return False
        except SlackUnsure:
            return True  # The final message replaces everything; better a gap than a repeat.
        return True

    def _stop_stream(self) -> None:
        if self._streaming:
            self._streaming = False
            self._parts.stop(0)
