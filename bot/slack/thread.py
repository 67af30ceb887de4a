"""A Slack thread as the agents see it: turns before the question, oldest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.answer import Turn, bounded_history
from bot.slack.message_words import plain, words_of
from bot.slack.web import SlackRefused, Web

Message = Mapping[str, Any]

METADATA_EVENT = "oncall_answer"
"""Message metadata type by which the bot knows its own messages again."""


def fetch(web: Web, channel: str, thread_ts: str) -> list[Message]:
    """Every message of the thread, oldest first; empty when the bot may not read it."""
    try:
        return [
            _signed(message, web)
            for message in web.pages(
                "conversations.replies",
                "messages",
                channel=channel,
                ts=thread_ts,
                include_all_metadata=True,
                patience=60.0,
            )
        ]
    except SlackRefused:
        return []


def _signed(message: Message, web: Web) -> Message:
    """The bot's own messages may carry its bot id alone."""
    own = web.bot_id and message.get("bot_id") == web.bot_id
    return {**message, "user": web.bot_user} if own and not message.get("user") else message


def turns(messages: Sequence[Message], *, before: str, bot_user: str) -> tuple[Turn, ...]:
    """The conversation before the message at `before`, within bounds."""
    spoken = [
        Turn(role="assistant" if is_own(m, bot_user) else "user", content=text)
        for m in messages
        if earlier(m, before) and not unfinished(m) and (text := _content(m, bot_user))
    ]
    return bounded_history(spoken)


def is_own(message: Message, bot_user: str) -> bool:
    return bool(bot_user) and message.get("user") == bot_user


def earlier(message: Message, ts: str) -> bool:
    return _seconds(message.get("ts")) < _seconds(ts)


def question_id(message: Message, kind: str = METADATA_EVENT) -> str:
    """The question that a message of the bot belongs to; empty for others."""
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != kind:
        return ""
    return str((metadata.get("event_payload") or {}).get("question_id") or "")


def part_of(message: Message) -> int:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return int(payload.get("part") or 0)


def unfinished(message: Message) -> bool:
    """A placeholder says nothing that was said."""
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return bool(question_id(message)) and payload.get("state") == "working"


def _content(message: Message, bot_user: str) -> str:
    """What was said; of the bot's own answers, all blocks but sources, notes and buttons."""
    if is_own(message, bot_user):
        answer = [block for block in message.get("blocks") or () if not _is_furniture(block)]
        if answer:
            message = {"blocks": answer}
    return plain(words_of(message), bot_user=bot_user)


def _is_furniture(block: Mapping[str, Any]) -> bool:
    # By type and id: Slack turns a markdown block into other types and ignores its block_id.
    kinds = {"actions", "context_actions", "context"}
    return block.get("type") in kinds or str(block.get("block_id") or "").startswith("oncall_")


def _seconds(ts: object) -> float:
    try:
        return float(str(ts))
    except ValueError:
        return 0.0
