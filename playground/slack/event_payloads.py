"""What Slack tells an app: event callbacks and interaction payloads, as pure functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from playground.slack import tidewater
from playground.slack.wire_text import mentions
from playground.slack.workspace import PRIVATE_FIELDS, Json, Workspace, WorkspaceChange

VERIFICATION_TOKEN = "playground-verification"  # noqa: S105 - legacy field, checked by nobody


def events(change: WorkspaceChange, workspace: Workspace) -> Iterator[Json]:
    """The events that the app is subscribed to and that `change` causes, inner part only."""
    channel = workspace.channels.get(change.channel)
    if channel is None or tidewater.BOT_USER_ID not in channel.members:
        return
    kinds = {"channel": "channel", "group": "group", "im": "im"}
    where = {"channel": channel.id, "channel_type": kinds[channel.kind]}
    if change.kind == "posted":
        yield from _posted(public(change.message), where)
    elif change.kind == "changed":
        yield {
            **_hidden("message_changed", workspace),
            "message": public(change.message),
            "previous_message": public(change.previous),
            **where,
        }
    elif change.kind == "deleted" and not change.user:
        yield {
            **_hidden("message_deleted", workspace),
            "deleted_ts": change.previous["ts"],
            "previous_message": public(change.previous),
            **where,
        }
    elif change.kind in ("reaction_added", "reaction_removed"):
        item = {"type": "message", "channel": channel.id, "ts": change.message["ts"]}
        yield {
            "type": change.kind,
            "user": change.user,
            "reaction": change.detail["reaction"],
            "item": item,
            "item_user": change.message.get("user", ""),
            "event_ts": workspace.next_ts(),
        }


def public(message: Json) -> Json:
    return {name: value for name, value in message.items() if name not in PRIVATE_FIELDS}


def home_opened(user: str, tab: str, workspace: Workspace, view: Json | None) -> Json:
    event: Json = {
        "type": "app_home_opened",
        "user": user,
        "channel": workspace.direct(user).id,
        "tab": tab,
        "event_ts": workspace.next_ts(),
    }
    return {**event, "view": view} if view and tab == "home" else event


def envelope(event: Json, event_id: str) -> Json:
    """The outer part of an event, as HTTP bodies and Socket Mode payloads carry it."""
    installation = {
        "enterprise_id": None,
        "team_id": tidewater.TEAM_ID,
        "user_id": tidewater.BOT_USER_ID,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": tidewater.TEAM_ID,
        "api_app_id": tidewater.APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(time.time()),
        "authorizations": [installation],
        "is_ext_shared_channel": False,
        "event_context": f"4-{event_id}",
    }


def interaction(kind: str, user: str, workspace: Workspace, **fields: Any) -> Json:
    """The part that every interaction payload shares."""
    person = workspace.people[user]
    return {
        "type": kind,
        "user": {
            "id": user,
            "username": person.handle,
            "name": person.handle,
            "team_id": tidewater.TEAM_ID,
        },
        "api_app_id": tidewater.APP_ID,
        "token": VERIFICATION_TOKEN,
        "team": {"id": tidewater.TEAM_ID, "domain": tidewater.TEAM_DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
        **fields,
    }


def channel_reference(channel: tidewater.Channel) -> Json:
    return {"id": channel.id, "name": "directmessage" if channel.kind == "im" else channel.name}


def _posted(message: Json, where: Json) -> Iterator[Json]:
    event = {**message, **where, "event_ts": message["ts"]}
    mentioned = tidewater.BOT_USER_ID in mentions(message.get("text", ""))
    by_bot = message.get("user") == tidewater.BOT_USER_ID
    if mentioned and not by_bot and where["channel_type"] != "im":
        mention = {name: value for name, value in event.items() if name != "channel_type"}
        yield {**mention, "type": "app_mention"}
    yield {**event, "type": "message"}


def _hidden(subtype: str, workspace: Workspace) -> Json:
    ts = workspace.next_ts()
    return {"type": "message", "subtype": subtype, "hidden": True, "ts": ts, "event_ts": ts}
