"""Slack's blocks as text, with its escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PAIR = re.compile(r"\*([^*\n]{1,80}?):?\*:?[ \t]*\n(\S.*)", re.DOTALL)
"""A key in bold above its value: `*Service:*`, then `cart`."""
_RUNBOOK = re.compile(r"\b(?:run|play) ?-?books?\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"\s*(?:\[no preview.*\]|This content can't be displayed\.?"
    r"|This message contains interactive elements\.?)\s*",
    re.IGNORECASE,
)
"""Slack's own words in place of blocks."""


def without_placeholder(text: object) -> str:
    """Empty for a placeholder of Slack's."""
    text = str(text or "")
    return "" if _PLACEHOLDER.fullmatch(text) else text


def block_parts(block: Mapping[str, Any]) -> Iterator[str]:
    """The texts that a block shows, some empty; of its buttons only that of a runbook."""
    kind = block.get("type")
    if kind == "rich_text":
        yield rich_text(block)
    elif kind in {"table", "data_table"}:
        for row in block.get("rows") or ():
            yield " | ".join(_cell(cell) for cell in row)
    elif kind in {"actions", "context_actions"}:
        for element in block.get("elements") or ():
            yield runbook_button(element)
    else:
        yield from _texts(block)
        yield runbook_button(block.get("accessory") or {})


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    for key in ("title", "label", "text", "description"):
        yield _text_of(block, key)
    for part in (*(block.get("fields") or ()), *(block.get("elements") or ())):
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            pair = _PAIR.fullmatch(part["text"])
            yield f"{pair[1]}: {pair[2]}" if pair else part["text"]


def _text_of(element: Mapping[str, Any], key: str = "text") -> str:
    """Of a block or a button: a string, or an object that holds one."""
    text = element.get(key)
    if isinstance(text, Mapping):
        text = text.get("text")
    return text if isinstance(text, str) else ""


def runbook_button(element: Mapping[str, Any]) -> str:
    """`Runbook: URL` of a button that opens one; other buttons say nothing of the message."""
    url = str(element.get("url") or "")
    return f"Runbook: {url}" if url and _RUNBOOK.search(_text_of(element)) else ""


def _cell(cell: Mapping[str, Any]) -> str:
    return rich_text(cell) if cell.get("type") == "rich_text" else str(cell.get("text") or "")


def rich_text(element: Mapping[str, Any]) -> str:
    """The text of a rich_text block or of an element within it, with Slack's escapes."""
    kind = element.get("type")
    if kind in {"text", "raw_text", "raw_number"}:
        return str(element.get("text") or "")
    if kind == "link":
        return f"<{element.get('url', '')}|{element.get('text') or element.get('url', '')}>"
    if kind == "user":
        return f"<@{element.get('user_id', '')}>"
    if kind == "usergroup":
        return f"<!subteam^{element.get('usergroup_id', '')}>"
    if kind == "broadcast":
        return f"<!{element.get('range', '')}>"
    if kind == "date":
        return str(element.get("fallback") or element.get("timestamp") or "")
    if kind == "color":
        return str(element.get("value") or "")
    if kind == "channel":
        return f"<#{element.get('channel_id', '')}>"
    if kind == "emoji":
        return f":{element.get('name', '')}:"
    inner = [rich_text(part) for part in element.get("elements") or ()]
    return "\n".join(inner) if kind in {"rich_text", "rich_text_list"} else "".join(inner)
