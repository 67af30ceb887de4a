"""The messages that answer a question: posted once, found again after a crash, updated and deleted,
each in the newest form that Slack takes; and private answers, sent to the asker directly.

See docs/decisions/051-one-post-per-question.md."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from bot.blocks.fallbacks import fallback_versions, newer_kinds
from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage, text_message
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import private_post_key
from bot.slack.client import (
    ABOUT_THE_TOKEN,
    MAX_WAIT,
    SlackBusy,
    SlackClient,
    SlackRefused,
    SlackUnsure,
    backoff,
)
from bot.slack.events import IncomingMessage
from bot.slack.messages import (
    METADATA_EVENT,
    Message,
    earlier,
    fetch,
    is_own,
    part_of,
    payload_of,
    question_id,
)

log = structlog.get_logger()

UNREACHABLE = ABOUT_THE_TOKEN | {
    "channel_not_found", "is_archived", "not_in_channel", "restricted_action",
}  # fmt: skip
"""Errors that any other message would get, too."""

UNKNOWN_BLOCKS = {"invalid_blocks", "invalid_blocks_format", "invalid_arguments"}
"""Slack's errors for a kind of block that it doesn't support."""
TOO_NEW = UNKNOWN_BLOCKS | {"msg_blocks_too_long", "msg_too_long"}


def post_once(
    web: SlackClient,
    message: SlackMessage,
    *,
    channel: str,
    thread_ts: str | None = None,
    metadata: Json,
    find: Callable[[], str | None],
    on_busy: Callable[[float], None] = lambda seconds: None,
    on_placed: Callable[[str], None] = lambda channel: None,
) -> str:
    """Post a message and return its timestamp.

    `on_busy`: called with the seconds of a rate limit. `on_placed`: called with the id of the
    conversation, which for a message to a person is known only after posting. After a lost reply
    `find` checks whether it was posted before another attempt. Raises SlackRefused, or SlackUnsure
    or SlackBusy after `MAX_WAIT` seconds."""
    arguments = {
        "channel": channel,
        "thread_ts": thread_ts,
        "metadata": metadata,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    pauses = backoff(MAX_WAIT)
    while True:
        try:
            reply = post_with_fallback(web, web.once, "chat.postMessage", message, arguments)
            on_placed(str(reply.get("channel") or ""))
            return str(reply["ts"])
        except SlackBusy as limit:
            on_busy(limit.after)
            # All waiting threads got the same time: spread them out.
            web.wait(pauses, exactly=limit.after + random.random() * 2, cause=limit)  # noqa: S311 - not a secret
        except SlackUnsure as unsure:
            web.wait(pauses, cause=unsure)
            if ts := find():
                return ts


def post_with_fallback(
    web: SlackClient, call: Callable[..., Json], method: str, message: SlackMessage, arguments: Json
) -> Json:
    """Send a message in the newest form that Slack takes: as it is, with older blocks, or as text.

    Kinds of blocks that Slack refused are noted in `web.unsupported`, and not sent for a while."""
    suspected: frozenset[str] = frozenset()
    for form in fallback_versions(message):
        kinds = newer_kinds(form.blocks)
        if web.unsupported.any_of(kinds):
            continue
        try:
            reply = call(method, text=message.text, blocks=form.blocks, **arguments)
        except SlackRefused as refused:
            if refused.code not in TOO_NEW:
                raise
            log.warning("slack refused a message's blocks", method=method, reason=refused.code)
            suspected |= kinds if refused.code in UNKNOWN_BLOCKS else frozenset()
        else:
            web.unsupported.note(suspected - kinds)
            return reply
    return call(method, text=message.text, **arguments)


def metadata_of(kind: str, question: str, **more: Any) -> Json:
    return {"event_type": kind, "event_payload": {"question_id": question, **more}}


def find_posts(web: SlackClient, event: IncomingMessage, kind: str, **payload: str) -> list[str]:
    """Timestamps of the bot's messages in the thread with this metadata; see `metadata_of`."""
    values = {"question_id": event.id, **payload}.items()
    return [
        str(message["ts"])
        for message in own_messages(web, event)
        if values <= payload_of(message, kind).items()
    ]


def own_messages(web: SlackClient, event: IncomingMessage) -> list[Message]:
    """The bot's messages in the thread."""
    return [m for m in fetch(web, event.channel, event.thread_ts) if is_own(m, web.bot_user)]


class AnswerPosts:
    """`ts`: part → timestamp of each posted message; part 0 is the placeholder."""

    def __init__(
        self, web: SlackClient, records: QuestionStore, event: IncomingMessage, *, streams: bool
    ) -> None:
        self._web = web
        self._records = records
        self._event = event
        self._streams = streams
        self.ts: dict[int, str] = dict(records.posts(event.id))
        self._abandoned: set[str] = set()
        """Timestamps of abandoned messages, which Slack may still show: `find` skips them."""

    def find(self) -> None:
        """Find messages that an attempt before a crash posted but didn't record."""
        messages = own_messages(self._web, self._event)
        messages = [message for message in messages if message["ts"] not in self._abandoned]
        for message in messages:
            if question_id(message) == self._event.id and part_of(message) not in self.ts:
                self.own(part_of(message), str(message["ts"]))
        if 0 not in self.ts and self._streams:
            # A stream has no metadata until it is stopped, so a message of the bot without metadata
            # and owner is a stream whose start was not recorded.
            later = [
                str(m["ts"])
                for m in messages
                if not m.get("metadata") and earlier({"ts": self._event.ts}, str(m["ts"]))
            ]
            on_record = self._records.own_posts(self._event.channel, later)
            for ts in (ts for ts in later if ts not in on_record):
                if self.own(0, ts):
                    break

    def own(self, part: int, ts: str) -> bool:
        """Record a message as this question's; False when it is another's."""
        owns = self._records.own_post(self._event.id, part, self._event.channel, ts)
        if owns:
            self.ts[part] = ts
        return owns

    def create(
        self, part: int, message: SlackMessage, *, state: str, on_busy: Callable[[float], None]
    ) -> None:
        """Post a new message; `on_busy` as in `post_once`."""
        existing: list[str] = []

        def find() -> str | None:
            self.find()
            if part in self.ts:
                existing.append(self.ts[part])
            return self.ts.get(part)

        ts = post_once(
            self._web,
            message,
            channel=self._event.channel,
            thread_ts=self._event.thread_ts,
            metadata=self.metadata(part, state),
            find=find,
            on_busy=on_busy,
        )
        if not existing:
            is_placed = self._adopt(part, ts, message, state)
        else:
            is_placed = state != "answered" or self.update(part, message)
        if not is_placed:  # an earlier message was there, and can't be updated
            self.create(part, message, state=state, on_busy=on_busy)

    def _adopt(self, part: int, ts: str, message: SlackMessage, state: str) -> bool:
        """Record a new message, or use the one that another attempt has on record instead of it.

        False when that one can't be updated."""
        if self.own(part, ts):
            return True
        log.info("another attempt has posted already, deleting a message", question=self._event.id)
        try:
            self._web.call("chat.delete", channel=self._event.channel, ts=ts)
        except SlackRefused as refused:
            log.info("could not delete a message", reason=refused.code)
        self._abandoned.add(ts)
        self.ts = dict(self._records.posts(self._event.id))
        return state != "answered" or (part in self.ts and self.update(part, message))

    def update(self, part: int, message: SlackMessage) -> bool:
        """False when the message was deleted or can't be updated, and another must be posted."""
        arguments = {
            "channel": self._event.channel,
            "ts": self.ts[part],
            "metadata": self.metadata(part, "answered"),
        }
        try:
            try:
                post_with_fallback(self._web, self._web.call, "chat.update", message, arguments)
            except SlackRefused as refused:
                if refused.code != "streaming_state_conflict":
                    raise
                self.stop(part)  # a stream that an earlier process began
                post_with_fallback(self._web, self._web.call, "chat.update", message, arguments)
        except SlackRefused as refused:
            if refused.code in UNREACHABLE:
                raise
            log.info("message could not be updated, posting a new one", reason=refused.code)
            self.delete(part)
            return False
        return True

    def delete(self, part: int) -> None:
        """Delete a message, as far as Slack allows."""
        arguments: Json = {"channel": self._event.channel, "ts": self.ts[part]}
        try:
            try:
                self._web.call("chat.delete", **arguments)
            except SlackRefused as refused:
                if refused.code != "cant_delete_message" or not self._streams:
                    raise
                self.stop(part)
                self._web.call("chat.delete", **arguments)
        except SlackRefused as refused:
            log.info("could not delete a message", reason=refused.code)
        self._records.forget_post(self._event.id, part)
        self._abandoned.add(self.ts.pop(part))

    def stop(self, part: int) -> None:
        """End a stream, so that the message can be updated or deleted."""
        try:
            self._web.call(
                "chat.stopStream",
                channel=self._event.channel,
                ts=self.ts[part],
                metadata=self.metadata(part, "working"),
            )
        except SlackRefused as refused:
            log.debug("stream was already stopped", reason=refused.code)

    def metadata(self, part: int, state: str) -> Json:
        """Identifies the message after a crash."""
        return metadata_of(METADATA_EVENT, self._event.id, part=part, state=state)


NOT_FOR_ALL = "not everyone here may read the documents behind it."


def no_documents(channel: str) -> str:
    return (
        "this channel has no documents of its own. An admin can give it some, by adding its id "
        f"`{channel}` to a domain file."
    )


def send_privately(
    web: SlackClient,
    records: QuestionStore,
    record: QuestionRecord,
    messages: Sequence[SlackMessage],
    why: str,
) -> SlackMessage:
    """Send to the asker's direct messages; returns the notice for the thread. Safe to repeat."""
    key = private_post_key(record.event_id)
    posts = records.posts(key)
    for part, message in enumerate(messages):
        if part in posts:
            continue
        ts = post_once(
            web,
            message,
            channel=record.asker,  # Slack takes a user's id for their direct messages
            metadata=metadata_of(METADATA_EVENT, record.id, part=part, state="answered"),
            # The conversation's id isn't known yet, so nothing can be searched. Twice the same
            # private answer is better than none.
            find=lambda: None,
        )
        records.own_post(key, part, record.asker, ts)
    return text_message(f"I've answered <@{record.asker}> privately: {why}")
