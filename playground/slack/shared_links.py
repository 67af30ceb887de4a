"""Links in messages that an app has asked to hear of, and what Slack tells it of them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from playground.slack import tidewater
from playground.slack.wire_text import outside_code, unescape
from playground.slack.workspace import Json, Workspace

_LINK = re.compile(r"<(https?://[^<>\s|]+)(?:\|[^<>]*)?>")
MOST_LINKS = 20


def links_in(text: str) -> list[str]:
    """Addresses in a message's wire text, outside code, each once."""
    found = (unescape(url) for url in _LINK.findall(outside_code(text)))
    return list(dict.fromkeys(found))[:MOST_LINKS]


def domain_of(url: str, domains: Collection[str]) -> str:
    """The registered domain that this address belongs to; hosts below it count, too."""
    host = urlsplit(url).hostname or ""
    return next((one for one in domains if host == one or host.endswith(f".{one}")), "")


def link_shared(message: Json, channel: tidewater.Channel, workspace: Workspace) -> Json | None:
    """The event of a posted message; None when it holds no link of the app's domains, or the app
    itself wrote it."""
    if message.get("bot_id") == tidewater.BOT_ID:
        return None
    known = [(domain_of(url, workspace.unfurl_domains), url) for url in links_in(_text(message))]
    links = [{"domain": domain, "url": url} for domain, url in known if domain]
    if not links:
        return None
    event: dict[str, Any] = {
        "type": "link_shared",
        "channel": channel.id,
        "is_bot_user_member": tidewater.BOT_USER_ID in channel.members,
        "user": message.get("user", ""),
        "message_ts": message["ts"],
        "unfurl_id": f"{channel.id}.{message['ts']}.{workspace.next_id('')}",
        "source": "conversations_history",
        "links": links,
        "event_ts": workspace.next_ts(),
    }
    if thread_ts := message.get("thread_ts"):
        event["thread_ts"] = thread_ts
    return event


def composed(user: str, url: str, workspace: Workspace) -> Json:
    """The same of a link that somebody has typed and not sent: Slack doesn't say where to."""
    return {
        "type": "link_shared",
        "channel": "COMPOSER",
        "is_bot_user_member": True,
        "user": user,
        "message_ts": workspace.next_id("composer-"),
        "unfurl_id": workspace.next_id("composer-"),
        "source": "composer",
        "links": [{"domain": domain_of(url, workspace.unfurl_domains), "url": url}],
        "event_ts": workspace.next_ts(),
    }


def _text(message: Json) -> str:
    return str(message.get("text") or "")
