"""The bot's own message for one question: made once, found again after a crash, kept current."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from bot.defang import Links, defang
from bot.delivery import metadata_of, own_messages, post_once, richest
from bot.event import Asked
from bot.records import Records
from bot.reply import METADATA_EVENT, Json, Outgoing, placeholder
from bot.stream import safe_end, task, words
from bot.thread import earlier, part_of, question_id
from bot.web import SlackBusy, SlackRefused, SlackUnsure, Web

log = structlog.get_logger()

GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}
STATUS_EVERY = 1.5
"""Seconds between two edits of a placeholder; Slack allows some 50 edits a minute."""
STREAM_EVERY = 0.7
STREAM_CHARACTERS = 8_000
"""More is not streamed: the final message is cut into parts anyway."""


@dataclass
class Pace:
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


class Post:
    """Shows progress (`status`, `delta`), then the answer (`finish`). One thread at a time.

    In channels the message exists from the start; in direct messages Slack's own status line
    comes first, where it is allowed."""

    def __init__(
        self, web: Web, records: Records, event: Asked, *, bot_user: str, pace: Pace, stream: bool
    ) -> None:
        self._web = web
        self._records = records
        self._event = event
        self._bot_user = bot_user
        self._pace = pace
        self._stream = stream
        self._streaming = False
        self._ts: dict[int, str] = dict(records.posts(event.id))
        self._text = ""
        self._sent = 0
        self._last_shown = 0.0

    def begin(self, status: str, *, resumed: bool) -> None:
        """Make something visible, unless an earlier attempt already did."""
        if resumed:
            self._find()
        if 0 in self._ts or (self._event.direct and self._set_status(status)):
            return
        if self._pace.quiet():
            return  # Slack is at its limits: one message with the answer, and none before it.
        if self._stream and self._start_stream(task(status)):
            return
        self._create(0, placeholder(status), state="working")

    def title(self, text: str) -> None:
        """Name the conversation in the agent pane after its first question."""
        if self._event.direct and self._event.starts_thread:
            self._try(
                "assistant.threads.setTitle",
                channel_id=self._event.channel,
                thread_ts=self._event.thread_ts,
                title=" ".join(text.split())[:80],
            )

    def status(self, text: str) -> None:
        """A short line about what is happening. Skipped when Slack is busy."""
        if self._text or not self._due(STATUS_EVERY):
            return
        if 0 not in self._ts:
            if self._event.direct:
                self._set_status(text)
        elif self._streaming:
            self._append(task(text))
        else:
            self._show(placeholder(text))

    def delta(self, text: str) -> None:
        """The next piece of the answer; shown when a few words have come together."""
        self._text += text
        if len(self._text) > STREAM_CHARACTERS or not self._due(STREAM_EVERY):
            return
        end = safe_end(self._text)
        fresh = defang(self._text[self._sent : end], Links())
        if not fresh.strip():
            return
        if 0 not in self._ts and self._stream and self._start_stream(words(fresh)):
            self._sent = end
        elif self._streaming:
            if self._append(words(fresh)):
                self._sent = end
        elif 0 in self._ts and self._due(2 * STATUS_EVERY):
            so_far = defang(self._text[:end], Links())
            self._show(Outgoing(text="…", blocks=[{"type": "markdown", "text": so_far + " …"}]))

    def finish(self, messages: Sequence[Outgoing]) -> None:
        """Show the answer: the first message in place of the placeholder, then the others.

        Safe to repeat. Raises SlackRefused, SlackUnsure or SlackBusy when Slack won't have it."""
        self._stop_stream()
        for part, message in enumerate(messages):
            if not (part in self._ts and self._update(part, message)):
                self._create(part, message, state="answered")
        for part in sorted(part for part in self._ts if part >= len(messages)):
            self._delete(part)
        if self._event.direct:
            self._set_status("")

    def withdraw(self) -> None:
        """The question is gone: so is everything said to it."""
        self._find()
        self._stop_stream()
        for part in sorted(self._ts, reverse=True):
            self._delete(part)

    def _find(self) -> None:
        """Messages that an attempt before a crash posted but didn't record."""
        own = own_messages(self._web, self._event, self._bot_user)
        for message in own:
            if question_id(message) == self._event.id and part_of(message) not in self._ts:
                self._own(part_of(message), str(message["ts"]))
        if 0 not in self._ts and self._stream:
            # A stream carries no metadata until it is stopped, so an unmarked message of the
            # bot that nobody owns is a stream whose start was not recorded.
            later = [
                str(m["ts"])
                for m in own
                if not m.get("metadata") and earlier({"ts": self._event.ts}, str(m["ts"]))
            ]
            owned = self._records.owned(self._event.channel, later)
            for ts in (ts for ts in later if ts not in owned):
                if self._own(0, ts):
                    break

    def _own(self, part: int, ts: str) -> bool:
        owns = self._records.own_post(self._event.id, part, self._event.channel, ts)
        if owns:
            self._ts[part] = ts
        return owns

    def _create(self, part: int, message: Outgoing, *, state: str) -> None:
        found: list[str] = []

        def find() -> str | None:
            self._find()
            if part in self._ts:
                found.append(self._ts[part])
            return self._ts.get(part)

        ts = post_once(
            self._web,
            message,
            channel=self._event.channel,
            thread_ts=self._event.thread_ts,
            metadata=self._metadata(part, state),
            find=find,
            busy=self._pace.hush,
        )
        if not found:
            self._own(part, ts)
        elif state == "answered":
            self._update(part, message)  # what was found may be an earlier placeholder

    def _update(self, part: int, message: Outgoing) -> bool:
        """False when the message is gone, and another must be posted."""
        arguments = {
            "channel": self._event.channel,
            "ts": self._ts[part],
            "metadata": self._metadata(part, "answered"),
        }
        try:
            try:
                richest(self._web.call, "chat.update", message, arguments)
            except SlackRefused as refused:
                if refused.code != "streaming_state_conflict":
                    raise
                self._stop(part)  # a stream that an earlier process began
                richest(self._web.call, "chat.update", message, arguments)
        except SlackRefused as refused:
            if refused.code not in GONE:
                raise
            self._forget(part)
            return False
        return True

    def _delete(self, part: int) -> None:
        arguments: Json = {"channel": self._event.channel, "ts": self._ts[part]}
        try:
            try:
                self._web.call("chat.delete", **arguments)
            except SlackRefused as refused:
                if refused.code != "cant_delete_message" or not self._stream:
                    raise
                self._stop(part)
                self._web.call("chat.delete", **arguments)
        except SlackRefused as refused:
            log.info("could not delete a message", reason=refused.code)
        self._forget(part)

    def _forget(self, part: int) -> None:
        self._records.forget_post(self._event.id, part)
        del self._ts[part]

    def _stop(self, part: int) -> None:
        """End a stream, so that it may be updated or deleted."""
        try:
            self._web.call(
                "chat.stopStream",
                channel=self._event.channel,
                ts=self._ts[part],
                metadata=self._metadata(part, "working"),
            )
        except SlackRefused as refused:
            log.debug("the stream had ended", reason=refused.code)

    def _metadata(self, part: int, state: str) -> Json:
        return metadata_of(METADATA_EVENT, self._event.id, part=part, state=state)

    def _due(self, every: float) -> bool:
        return not self._pace.quiet() and time.monotonic() - self._last_shown >= every

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
            ts=self._ts[0],
            text=message.text,
            blocks=message.blocks,
            metadata=self._metadata(0, "working"),
        )

    def _set_status(self, status: str) -> bool:
        done = self._try(
            "assistant.threads.setStatus",
            channel_id=self._event.channel,
            thread_ts=self._event.thread_ts,
            status=status,
        )
        return done is not None

    def _start_stream(self, chunk: Json) -> bool:
        """Begin the message as a stream. False: use a placeholder instead."""
        if not self._pace.may_stream():
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
            self._pace.no_streams(60.0)
            log.info("slack does not stream here", reason=refused.code)
            return False
        except SlackUnsure:
            self._find()
            return 0 in self._ts
        self._last_shown = time.monotonic()
        self._streaming = bool(reply.get("ts")) and self._own(0, str(reply["ts"]))
        return self._streaming

    def _append(self, chunk: Json) -> bool:
        """Add to the stream; one that expired (after some five minutes) goes on as edits."""
        self._last_shown = time.monotonic()
        try:
            self._web.once(
                "chat.appendStream",
                channel=self._event.channel,
                ts=self._ts[0],
                chunks=[chunk],
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
            self._stop(0)
