"""Slack's wire text: what a person types, and what the API stores and sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_CONTROL = r"<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+|![a-z]+|!subteam\^S[A-Z0-9]+|!date\^)[^<>]*>"
_LINK = r"<(?:https?://|mailto:)[^<>\s|]+(?:\|[^<>]*)?>"
_URL = r"https?://[^\s<>|]+[^\s<>|.,;:!?)\]'\"]"
_TOKEN = re.compile(f"({_CONTROL}|{_LINK}|{_URL})")
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.S)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")


def typed(text: str) -> str:
    """What a person typed, as events carry it: escaped, with links in angle brackets.

    Mentions are written as `<@U…>`, `<#C…>`, `<!here>` or `<!subteam^S…>`."""
    return _mark_up(text.replace("&", "&amp;"))


def posted(text: str) -> str:
    """What an app sent, as Slack stores it: stray `&`, `<`, `>` escaped, entities kept."""
    return _mark_up(_BARE_AMPERSAND.sub("&amp;", text))


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def mentions(text: str) -> set[str]:
    """User ids mentioned outside code."""
    return set(re.findall(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>", outside_code(text)))


def outside_code(text: str) -> str:
    return _CODE.sub(" ", text)


def rich_text(text: str) -> list[dict[str, Any]]:
    """The `rich_text` block that Slack adds to a message that a person typed."""
    elements: list[Mapping[str, Any]] = []
    for index, part in enumerate(_TOKEN.split(text)):
        if part:
            elements.append(_element(part) if index % 2 else _plain(part))
    section = {"type": "rich_text_section", "elements": elements}
    return [{"type": "rich_text", "block_id": "typed", "elements": [section]}]


def _plain(text: str) -> dict[str, Any]:
    return {"type": "text", "text": unescape(text)}


def _element(token: str) -> dict[str, Any]:
    inside, _, label = token.strip("<>").partition("|")
    if inside.startswith("@"):
        return {"type": "user", "user_id": inside[1:]}
    if inside.startswith("#"):
        return {"type": "channel", "channel_id": inside[1:]}
    if inside.startswith("!subteam^"):
        return {"type": "usergroup", "usergroup_id": inside.removeprefix("!subteam^")}
    if inside.startswith("!"):
        return {"type": "broadcast", "range": inside[1:]}
    link = {"type": "link", "url": unescape(inside)}
    return {**link, "text": unescape(label)} if label else link


def _mark_up(text: str) -> str:
    parts = enumerate(_CODE.split(text))
    return "".join(_escape(part) if n % 2 else _outside_code(part) for n, part in parts)


def _outside_code(text: str) -> str:
    parts = enumerate(_TOKEN.split(text))
    return "".join(_wrap(part) if n % 2 else _escape(part) for n, part in parts)


def _wrap(token: str) -> str:
    return token if token.startswith("<") else f"<{token}>"


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")
