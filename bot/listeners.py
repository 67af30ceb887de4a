"""Bolt listeners: each stores what happened and returns, so that Slack's ack is never late.

The tables here are what the manifest is generated from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt import App

from bot.slack.event import Asked, Event, LinksShared, read
from bot.slack.recent_events import RecentEvents
from config.domain import Domain, domain_of
from telemetry import metrics
from telemetry.tracing import carried, span

Json = dict[str, Any]
Store = Callable[[str, Json], None]
"""Event id and item; returns when the item can't be lost."""

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
"""Sent to apps that still have Slack's earlier assistant view; the manifest doesn't ask for it."""

DETAILS = "entity_details_requested"
"""Goes past the inbox: Slack waits for an answer as to a click."""

SHORTCUT = "ask_copilot"
SHORTCUTS: Mapping[str, str] = {SHORTCUT: "Ask the copilot"}
"""Message shortcuts: callback id → name."""


def listen(
    app: App,
    store: Store,
    *,
    bot_user: str,
    team: str,
    domains: Callable[[], Mapping[str, Domain]],
) -> None:
    """Register the listeners that go through the inbox. `team`: where an event doesn't say."""
    stored = RecentEvents()

    def on_event(body: Json) -> None:
        event = body["event"]
        where = str(body.get("team_id") or team)
        meaning = read(event, bot_user=bot_user, team=where)
        if meaning is None or not concerns(meaning, domains()):
            return
        about = {"messaging.system": "slack", "oncall.event.type": str(event.get("type"))}
        with metrics.timed_storage(), span("slack event", about, kind="producer"):
            trace = carried()
            kept = stored_part(event, domains())
            item = {"event": kept, "team": where, **({"trace": trace} if trace else {})}
            stored.once(_sameness(meaning) or event_id(body), lambda: store(event_id(body), item))

    for name in (*EVENTS, *OLDER_EVENTS):
        if name != DETAILS:
            app.event(name)(on_event)


def ignore_the_rest(app: App) -> None:
    """To be registered last: what nobody listens to is acknowledged, or Slack would repeat it."""

    def ignored(ack: Callable[[], object]) -> None:
        ack()

    for register in (app.event, app.action, app.view, app.shortcut):
        register(re.compile(""))(ignored)


def stored_part(event: Json, domains: Mapping[str, Domain]) -> Json:
    """Without the token to search Slack by, where nobody wants that."""
    if any(domain.answer.earlier_threads for domain in domains.values()):
        return event
    kept = {name: value for name, value in event.items() if name != "action_token"}
    thread = kept.get("assistant_thread")
    if isinstance(thread, Mapping) and "action_token" in thread:
        rest = {name: value for name, value in thread.items() if name != "action_token"}
        kept["assistant_thread"] = rest
    return kept


def _sameness(event: Event) -> str:
    """The same for a mention's two events; empty for what only its event id tells apart."""
    if isinstance(event, Asked) and event.mentioned and not event.edited:
        return f"{event.id} {event.text}"
    return ""


def event_id(body: Json) -> str:
    """Slack's own id, the same on every delivery."""
    event = body["event"]
    parts = [event.get(key) for key in ("type", "channel", "event_ts", "ts", "user")]
    return str(body.get("event_id") or "-".join(str(part) for part in parts if part))


def concerns(event: Event, domains: Mapping[str, Domain]) -> bool:
    """Could be for the bot: keeps the chatter of other channels out of the inbox."""
    if isinstance(event, LinksShared):
        return domain_of(domains.values(), event.channel) is not None
    if not isinstance(event, Asked) or event.mentioned or event.direct:
        return True
    domain = domain_of(domains.values(), event.channel)
    return domain is not None and (
        (event.edited and not event.bot)
        or bool(event.bot and domain.answer.alert_bots)
        or domain.answer.when != "mention"
        or (not event.starts_thread and domain.answer.follow_ups == "thread")
    )
