"""Getting one message into Slack exactly once, in the richest form that Slack takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from bot.message.blockkit import Json
from bot.message.render import Outgoing, plain_version
from bot.slack.event import Asked
from bot.slack.thread import METADATA_EVENT, Message, fetch, is_own, part_of, question_id
from bot.slack.web import LONGEST_WAIT, SlackBusy, SlackRefused, SlackUnsure, Web, backoff

log = structlog.get_logger()

TOO_NEW = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}


def post_once(
    web: Web,
    message: Outgoing,
    *,
    channel: str,
    thread_ts: str | None,
    metadata: Json,
    find: Callable[[], str | None],
    busy: Callable[[float], None] = lambda seconds: None,
) -> str:
    """Post a message and return its timestamp.

    After a lost reply nobody knows whether it was posted, so `find` looks before it is posted
    again. Raises SlackRefused, or SlackUnsure or SlackBusy when patience has run out."""
    arguments = {
        "channel": channel,
        "thread_ts": thread_ts,
        "metadata": metadata,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    pauses = backoff(LONGEST_WAIT)
    while True:
        try:
            return str(richest(web.once, "chat.postMessage", message, arguments)["ts"])
        except SlackBusy as limit:
            busy(limit.after)
            # Everybody who waits was told the same second: spread them out.
            web.wait(pauses, exactly=limit.after + random.random() * 2, cause=limit)  # noqa: S311 - not a secret
        except SlackUnsure as unsure:
            web.wait(pauses, cause=unsure)
            if ts := find():
                return ts


def richest(call: Callable[..., Json], method: str, message: Outgoing, arguments: Json) -> Json:
    """The message as it is, or without newer block types, or as text: what Slack takes first."""
    forms: Sequence[Any] = (message.blocks, plain_version(message).blocks)
    for blocks in forms:
        try:
            return call(method, text=message.text, blocks=blocks, **arguments)
        except SlackRefused as refused:
            if refused.code not in TOO_NEW:
                raise
            log.warning("slack refused a message's blocks", method=method, reason=refused.code)
    return call(method, text=message.text, **arguments)


def metadata_of(kind: str, question: str, **more: Any) -> Json:
    return {"event_type": kind, "event_payload": {"question_id": question, **more}}


def find_post(web: Web, event: Asked, bot_user: str, kind: str = METADATA_EVENT) -> dict[int, str]:
    """Part → timestamp of the bot's messages in the thread that belong to this question."""
    return {
        part_of(message): str(message["ts"])
        for message in own_messages(web, event, bot_user)
        if question_id(message, kind) == event.id
    }


def own_messages(web: Web, event: Asked, bot_user: str) -> list[Message]:
    return [m for m in fetch(web, event.channel, event.thread_ts) if is_own(m, bot_user)]
