"""Slack's blocks and modals, as small functions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.blocks.sanitize.text import (
    BACKTICK_LOOKALIKE,
    encode_url,
    is_web,
    sanitize_mrkdwn,
    sanitize_plain,
)

Json = dict[str, Any]

MAX_TEXT_CHARS = 3_000
"""Characters of one text object."""
BUTTON_TEXT = 75
BUTTON_VALUE = 2_000


def section(text: str, **more: Any) -> Json:
    return {"type": "section", "text": text_object(text), **more}


def sections(lines: Sequence[str]) -> list[Json]:
    """As few as hold all lines."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + len(line) < MAX_TEXT_CHARS:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return [section(text) for text in texts]


def header(text: str) -> Json:
    """`text`: plain; it is cut to Slack's limit."""
    return {"type": "header", "text": {"type": "plain_text", "text": short(text, 150)}}


def context(texts: Sequence[str], **more: Any) -> Json:
    """A block of ten elements at most; the last one holds what is over."""
    lines = [*texts[:9], "\n".join(texts[9:])] if len(texts) > 10 else texts
    return {"type": "context", "elements": [text_object(line) for line in lines], **more}


def text_object(mrkdwn: str) -> Json:
    """A text object in which Slack itself links no addresses, channels or names."""
    return {"type": "mrkdwn", "text": mrkdwn[:MAX_TEXT_CHARS], "verbatim": True}


def button(text: str, action_id: str, value: str, **more: Any) -> Json:
    return {
        "type": "button",
        "text": {
            "type": "plain_text",
            "text": short(sanitize_plain(text), BUTTON_TEXT),
            "emoji": False,
        },
        "action_id": action_id,
        "value": value[:BUTTON_VALUE],
        **more,
    }


def link(url: str, label: str) -> str:
    """A mrkdwn link whose URL can't end early; only the label when there is no URL."""
    if not is_web(url):
        return sanitize_mrkdwn(label)
    safe = encode_url(url).replace("&amp;", "&").replace("&", "&amp;")
    text = sanitize_mrkdwn(label).replace("|", "¦").replace("`", BACKTICK_LOOKALIKE)
    return f"<{safe}|{text}>"


def age(modified: datetime | None, now: datetime) -> str:
    """`updated 3 months ago`; empty when the time is unknown."""
    if modified is None:
        return ""
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    days = max(0, (now - modified).days)
    if days == 0:
        return "updated today"
    for unit, length in (("year", 365), ("month", 30), ("week", 7), ("day", 1)):
        if days >= length:
            count = days // length
            return f"updated {count} {unit}{'s' if count > 1 else ''} ago"
    return ""


def local_time(at: datetime) -> str:
    """`14:03` in the reader's time zone, by Slack; the fallback in UTC. `at`: UTC."""
    utc = at.replace(tzinfo=UTC)
    return f"<!date^{int(utc.timestamp())}^{{time}}|{utc:%H:%M} UTC>"


def local_date_time(at: datetime | None) -> str:
    """Day and time, as `local_time`; `earlier` where it is unknown."""
    if at is None:
        return "earlier"
    utc = at.replace(tzinfo=UTC)
    fallback = f"{utc:%B} {utc.day} at {utc:%H:%M} UTC"
    return f"<!date^{int(utc.timestamp())}^{{date_short_pretty}} at {{time}}|{fallback}>"


def characters(node: Any) -> int:
    """Characters of all texts in blocks."""
    if isinstance(node, list):
        return sum(map(characters, node))
    if not isinstance(node, dict):
        return 0
    own = node.get("text")
    return (len(own) if isinstance(own, str) else 0) + sum(map(characters, node.values()))


def actions(elements: list[Json], **more: Any) -> Json:
    return {"type": "actions", "elements": elements, **more}


def short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


MAX_INPUT_CHARS = 3_000


def modal(
    callback: str, title: str, blocks: Sequence[Json], *, remember: str, submit: str, close: str
) -> Json:
    """The submission returns `callback` and `remember`."""
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": remember,
        "title": {"type": "plain_text", "text": title},
        "submit": {"type": "plain_text", "text": submit},
        "close": {"type": "plain_text", "text": close},
        "blocks": list(blocks),
    }


def input_block(
    block_id: str, label: str, element: Json, *, optional: bool = True, hint: str = ""
) -> Json:
    return {
        **({"hint": {"type": "plain_text", "text": hint}} if hint else {}),
        "type": "input",
        "block_id": block_id,
        "optional": optional,
        "label": {"type": "plain_text", "text": label},
        "element": {**element, "action_id": "value"},
    }


def radio_buttons(options: Mapping[str, str]) -> Json:
    """`options`: value → plain text; a single one is chosen already."""
    choices = [
        {"text": {"type": "plain_text", "text": short(text, BUTTON_TEXT)}, "value": value}
        for value, text in options.items()
    ]
    chosen = {"initial_option": choices[0]} if len(choices) == 1 else {}
    return {"type": "radio_buttons", "options": choices, **chosen}


def text_input(*, multiline: bool, initial: str = "") -> Json:
    element: Json = {
        "type": "plain_text_input",
        "multiline": multiline,
        "max_length": MAX_INPUT_CHARS,
    }
    return {**element, "initial_value": initial[:MAX_INPUT_CHARS]} if initial else element


def submitted_value(view: Json, block_id: str) -> str:
    """The value of an input in a submitted modal; empty when there is none."""
    value = ((view.get("state") or {}).get("values") or {}).get(block_id, {}).get("value") or {}
    return str(value.get("value") or (value.get("selected_option") or {}).get("value") or "")
