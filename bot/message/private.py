"""Answers that only their asker may read, sent to them directly."""

from __future__ import annotations

from collections.abc import Sequence

from bot.memory.record import Record, Records
from bot.message.delivery import metadata_of, post_once
from bot.message.render import Outgoing, said
from bot.slack.thread import METADATA_EVENT
from bot.slack.web import Web

NOT_FOR_ALL = "not everyone here may read the documents behind it."


def no_documents(channel: str) -> str:
    return (
        "this channel has no documents of its own. An admin can give it some, by adding its id "
        f"`{channel}` to a domain file."
    )


def send(
    web: Web, records: Records, record: Record, messages: Sequence[Outgoing], why: str
) -> Outgoing:
    """Deliver to the asker's direct messages; returns what the thread is told. Safe to repeat."""
    key = post_key(record.event_id)
    done = records.posts(key)
    for part, message in enumerate(messages):
        if part in done:
            continue
        ts = post_once(
            web,
            message,
            channel=record.asker,  # Slack takes a user's id for their direct messages
            thread_ts=None,
            metadata=metadata_of(METADATA_EVENT, record.id, part=part, state="answered"),
            # The conversation's own id isn't known yet, so there is nowhere to look. Better the
            # same answer twice in private than none.
            find=lambda: None,
        )
        records.own_post(key, part, record.asker, ts)
    return said(f"I've answered <@{record.asker}> privately: {why}")


def post_key(event_id: str) -> str:
    """Under which the posts of this event's private answer are recorded."""
    return f"{event_id}/private"[:80]
