"""Bolt listeners that store Slack's events, and the app manifest that is generated from the tables.

A listener stores the event and returns, so that Slack's ack is never late."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import yaml
from slack_bolt import App

from bot.slack.events import Event, IncomingMessage, LinksShared, read
from config.domain import Domain, domain_of
from index.page_links import SIGNED_IN_PATH
from telemetry import metrics
from telemetry.tracing import carried, span

Json = dict[str, Any]
Receive = Callable[[str, Json, str, str], None]
"""(event id, Slack's event, team, trace context): returns when the event can't be lost."""

EVENTS: Mapping[str, tuple[str, ...]] = {
    "app_mention": ("app_mention",),
    "message": ("message.channels", "message.groups", "message.im"),
    "app_home_opened": ("app_home_opened",),
    "reaction_added": ("reaction_added",),
    "link_shared": ("link_shared",),
    "entity_details_requested": ("entity_details_requested",),
}
"""Bolt's event name → the subscriptions that bring it."""

OLDER_EVENTS = ("assistant_thread_started", "assistant_thread_context_changed")
"""Sent to apps with Slack's earlier assistant view; the manifest doesn't request it."""

DETAILS = "entity_details_requested"
"""Not stored in the inbox: Slack waits for the reply, as to a click."""

SHORTCUT = "ask_copilot"
SHORTCUTS: Mapping[str, str] = {SHORTCUT: "Ask the copilot"}
"""Message shortcuts: callback id → name."""


def listen(
    app: App,
    receive: Receive,
    *,
    bot_user: str,
    team: str,
    domains: Callable[[], Mapping[str, Domain]],
) -> None:
    """Register the listeners that go through the inbox. `team`: where an event has none."""
    recent = RecentEvents()

    def on_event(body: Json) -> None:
        event = body["event"]
        where = str(body.get("team_id") or team)
        meaning = read(event, bot_user=bot_user, team=where)
        if meaning is None or not concerns(meaning, domains()):
            return
        about = {"messaging.system": "slack", "oncall.event.type": str(event.get("type"))}
        with metrics.timed_storage(), span("slack event", about, kind="producer"):
            trace, part = carried(), stored_part(event, domains())
            recent.once(
                _duplicate_key(meaning) or event_id(body),
                lambda: receive(event_id(body), part, where, trace),
            )

    for name in (*EVENTS, *OLDER_EVENTS):
        if name != DETAILS:
            app.event(name)(on_event)


class RecentEvents:
    """Keys of the last few thousand stored events. Thread-safe.

    Only saves work: a mention arrives as two events, and Slack repeats deliveries. The inbox and
    the question store detect older duplicates."""

    def __init__(self, size: int = 5_000) -> None:
        self._size = size
        self._keys: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, key: str, store: Callable[[], None]) -> None:
        """Store a new event. One at a time, so that duplicates can't overtake each other."""
        with self._lock:
            if key in self._keys:
                return
            store()
            self._keys[key] = None
            while len(self._keys) > self._size:
                self._keys.popitem(last=False)


def ignore_the_rest(app: App) -> None:
    """Acknowledge everything else, or Slack would repeat it. Must be registered last."""

    def ignored(ack: Callable[[], object]) -> None:
        ack()

    for register in (app.event, app.action, app.view, app.shortcut):
        register(re.compile(""))(ignored)


def stored_part(event: Json, domains: Mapping[str, Domain]) -> Json:
    """The event without Slack's search token, unless a domain searches earlier threads."""
    if any(domain.answer.earlier_threads for domain in domains.values()):
        return event
    part = {name: value for name, value in event.items() if name != "action_token"}
    thread = part.get("assistant_thread")
    if isinstance(thread, Mapping) and "action_token" in thread:
        rest = {name: value for name, value in thread.items() if name != "action_token"}
        part["assistant_thread"] = rest
    return part


def _duplicate_key(event: Event) -> str:
    """The same for a mention's two events; empty where the event id is the key."""
    if isinstance(event, IncomingMessage) and event.mentioned and not event.edited:
        return f"{event.id} {event.text}"
    return ""


def event_id(body: Json) -> str:
    """Slack's own id, the same on every delivery."""
    event = body["event"]
    parts = [event.get(key) for key in ("type", "channel", "event_ts", "ts", "user")]
    return str(body.get("event_id") or "-".join(str(part) for part in parts if part))


def concerns(event: Event, domains: Mapping[str, Domain]) -> bool:
    """Whether it could be for the bot: keeps other channels' messages out of the inbox."""
    if isinstance(event, LinksShared):
        return domain_of(domains.values(), event.channel) is not None
    if not isinstance(event, IncomingMessage) or event.mentioned or event.direct:
        return True
    domain = domain_of(domains.values(), event.channel)
    return domain is not None and (
        (event.edited and not event.bot)
        or bool(event.bot and domain.answer.alert_bots)
        or domain.answer.when != "mention"
        or (not event.starts_thread and domain.answer.follow_ups == "thread")
    )


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
"""Scopes that a domain file turns on."""
UNFURLED = ("docs.google.com", "drive.google.com")
"""Hosts of documents with previews; Slack accepts five."""
ENTITIES = ("slack#/entities/content_item",)
"""Kinds of Work Objects: see `bot.features.link_previews.views`."""

HEADER = """\
# The Slack app: paste this at https://api.slack.com/apps → Create New App → From a manifest.
# Made from the bot's listeners by bot/slack/manifest.py; a test keeps it true.
"""


def scopes_for(domains: Iterable[Domain]) -> dict[str, str]:
    """Scopes that these domains need → what each is for."""
    searches = any(domain.answer.earlier_threads for domain in domains)
    return SCOPES | (OPTIONAL_SCOPES if searches else {})


def missing_scopes(granted: Collection[str], domains: Iterable[Domain]) -> list[str]:
    """A line for the operator for each scope that an app of an older manifest lacks."""
    return [
        f"The Slack app lacks `{scope}` ({what}): install it again with `oncall config manifest`"
        for scope, what in scopes_for(domains).items()
        if scope not in granted
    ]


def manifest(*, url: str = "", domains: Iterable[Domain] = (), pages: str = "") -> Json:
    """`url`: the public address of `oncall serve`; empty for Socket Mode. `domains`: may require
    more scopes, in their files. `pages`: `ONCALL_PUBLIC_URL`, where people sign in to read."""
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
            "unfurl_domains": [*UNFURLED, *([urlsplit(pages).hostname] if pages else [])],
            "rich_previews": {"is_active": True, "entity_types": list(ENTITIES)},
        },
        "oauth_config": {
            **({"redirect_urls": [pages + SIGNED_IN_PATH]} if pages else {}),
            "scopes": {
                **({"user": ["openid"]} if pages else {}),
                "bot": sorted(scopes_for(domains)),
            },
        },
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": False,
            "socket_mode_enabled": not url,
            "token_rotation_enabled": False,
        },
    }


def manifest_yaml(*, url: str = "", domains: Iterable[Domain] = (), pages: str = "") -> str:
    values = manifest(url=url, domains=domains, pages=pages)
    return HEADER + str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
