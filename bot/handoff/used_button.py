"""*Ask a human*, once it was used: who was asked when, and who came, in the button's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import structlog

from bot.handoff.handoff_card import Handoff
from bot.memory.record import Record, Records
from bot.message.blockkit import Json, context
from bot.message.buttons import ASK_HUMAN
from bot.message.private import post_key
from bot.slack.message_words import mention
from bot.slack.thread import Message, fetch
from bot.slack.web import SlackRefused, Web

log = structlog.get_logger()

USED = "oncall_human_asked"


def show_used(web: Web, records: Records, record: Record, handoff: Handoff) -> None:
    """Wherever this question was answered. Safe to repeat."""
    threads: dict[tuple[str, str], set[str]] = {}
    for channel, ts in records.places(record.id, post_key(record.event_id)):
        thread_ts = record.thread_ts if channel == record.channel else ts
        threads.setdefault((channel, thread_ts), set()).add(ts)
    for (channel, thread_ts), posted in threads.items():
        for message in fetch(web, channel, thread_ts):
            if message.get("ts") in posted and shows_button(message.get("blocks") or []):
                _show(web, channel, message, handoff)


def _show(web: Web, channel: str, message: Message, handoff: Handoff) -> None:
    blocks = with_used_button(message["blocks"], handoff)
    if blocks == message["blocks"]:
        return
    try:
        web.call(
            "chat.update",
            channel=channel,
            ts=message["ts"],
            text=message.get("text") or "",
            blocks=blocks,
            metadata=message.get("metadata"),
        )
    except SlackRefused as refused:
        log.warning("a used button is still shown", reason=refused.code)


def shows_button(blocks: Sequence[Json]) -> bool:
    """A message that offers a human, or says that one was asked."""
    return any(block.get("block_id") == USED or _offers(block) for block in blocks)


def with_used_button(blocks: Sequence[Json], handoff: Handoff) -> list[Json]:
    """The same blocks, as Slack returns them; what else stands beside the button stays."""
    shown: list[Json] = []
    for block in blocks:
        if _offers(block):
            others = [one for one in block["elements"] if one.get("action_id") != ASK_HUMAN]
            shown += [{**block, "elements": others}] if others else []
            shown.append(_line(handoff))
        elif block.get("block_id") == USED:
            shown.append(_line(handoff))
        else:
            shown.append(block)
    return shown


def _offers(block: Mapping[str, object]) -> bool:
    elements = block.get("elements")
    return block.get("type") == "actions" and any(
        one.get("action_id") == ASK_HUMAN
        for one in (elements if isinstance(elements, list) else [])
    )


def _line(handoff: Handoff) -> Json:
    asked = f"asked {_when(handoff.requested_at)} by {mention(handoff.requested_by)}"
    if handoff.resolved_by:
        said = f":white_check_mark: {mention(handoff.resolved_by)} resolved it · {asked}"
    elif handoff.is_taken:
        said = f":eyes: {mention(handoff.taken_by)} took it · {asked}"
    else:
        said = f":raising_hand: A human was {asked}"
    return context([said], block_id=USED)


def _when(at: datetime | None) -> str:
    """In the reader's own time zone, by Slack; UTC in the words that other readers see."""
    if at is None:
        return "earlier"
    utc = at.replace(tzinfo=UTC)
    day = f"{utc:%B} {utc.day}"
    seconds = int(utc.timestamp())
    return f"<!date^{seconds}^{{date_short_pretty}} at {{time}}|{day} at {utc:%H:%M} UTC>"
