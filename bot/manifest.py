"""The Slack app manifest, made from what the bot listens to and calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import yaml

from bot.listeners import EVENTS, SHORTCUTS
from config.domain import Domain

Json = dict[str, Any]

SCOPES = {
    "app_mentions:read": "hear mentions",
    "assistant:write": "status, title and suggestions in the agent pane",
    "channels:history": "read the thread of a question in public channels",
    "channels:read": "know who is in a public channel: who may ask in direct messages",
    "chat:write": "answer",
    "files:read": "read screenshots in questions, where a model that sees is set up",
    "groups:history": "read the thread of a question in private channels",
    "groups:read": "the same of private channels",
    "im:history": "hear direct messages",
    "links:read": "hear of links to documents that are posted in channels",
    "links:write": "show title, section, age and owner below such a link",
    "reactions:read": "see ✅ on a solved question",
    "reactions:write": "put ✅ on a question that a human solved",
    "usergroups:read": "call the on-call group, and know who is in groups that open documents",
    "users:read": "know who asks",
    "users:read.email": "check document permissions, and find who is on call",
}
"""Bot scope → what it is for."""
OPTIONAL_SCOPES = {
    "search:read.public": "link earlier threads of public channels under an answer; asked for "
    "only where a domain file says `earlier_threads: true`",
}
"""Those that a domain file asks for."""
UNFURLED = ("docs.google.com", "drive.google.com")
"""Where documents are that are previewed; Slack takes five of them."""
ENTITIES = ("slack#/entities/content_item",)
"""Kinds of Work Objects: see `bot.link_previews.preview_view`."""

HEADER = """\
# The Slack app: paste this at https://api.slack.com/apps → Create New App → From a manifest.
# Made from the bot's listeners by bot/manifest.py; a test keeps it true.
"""


def scopes_for(domains: Iterable[Domain]) -> dict[str, str]:
    """All that these domains make use of, with what it is for."""
    searches = any(domain.answer.earlier_threads for domain in domains)
    return SCOPES | (OPTIONAL_SCOPES if searches else {})


def lacking(granted: Collection[str], domains: Iterable[Domain]) -> list[str]:
    """What an app of an older manifest goes without, in lines for an operator."""
    wanted = scopes_for(domains)
    return [
        f"The Slack app lacks `{scope}` ({what}): install it again with `oncall config manifest`"
        for scope, what in wanted.items()
        if scope not in granted
    ]


def manifest(*, url: str = "", domains: Iterable[Domain] = ()) -> Json:
    """As Slack takes it. `url` is the public address of `oncall serve`; empty for Socket Mode.
    `domains`: whose files may ask for more scopes."""
    events: Json = {"bot_events": sorted(name for names in EVENTS.values() for name in names)}
    interactivity: Json = {"is_enabled": True}
    if url:
        address = f"{url.rstrip('/')}/slack/events"
        events["request_url"] = interactivity["request_url"] = address
    return {
        "display_information": {
            "name": "On-call Copilot",
            "description": "Answers from your team's documents, with sources",
            "background_color": "#1f3a5f",
        },
        "features": {
            "agent_view": {"agent_description": "Answers from your team's documents"},
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "copilot", "always_online": True},
            "shortcuts": [
                {
                    "name": name,
                    "type": "message",
                    "callback_id": callback_id,
                    "description": "Answer this message from the documents",
                }
                for callback_id, name in SHORTCUTS.items()
            ],
            "unfurl_domains": list(UNFURLED),
            "rich_previews": {"is_active": True, "entity_types": list(ENTITIES)},
        },
        "oauth_config": {"scopes": {"bot": sorted(scopes_for(domains))}},
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": False,
            "socket_mode_enabled": not url,
            "token_rotation_enabled": False,
        },
    }


def manifest_yaml(*, url: str = "", domains: Iterable[Domain] = ()) -> str:
    made = manifest(url=url, domains=domains)
    return HEADER + str(yaml.safe_dump(made, sort_keys=False, allow_unicode=True))
