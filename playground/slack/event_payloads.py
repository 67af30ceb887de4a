"""What Slack tells an app: event callbacks and interaction payloads, as pure functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from playground.slack import tidewater
from playground.slack.shared_links import domain_of, link_shared
from playground.slack.wire_text import mentions
from playground.slack.workspace import PRIVATE_FIELDS, Json, SlackError, Workspace, WorkspaceChange

VERIFICATION_TOKEN = "playground-verification"  # noqa: S105 - legacy field, checked by nobody


def events(change: WorkspaceChange, workspace: Workspace) -> Iterator[Json]:
    """The events that the app is subscribed to and that `change` causes, inner part only."""
    channel = workspace.channels.get(change.channel)
    if channel is None:
        return
    if change.kind == "posted" and (shared := link_shared(change.message, channel, workspace)):
        yield shared  # also of channels that the app is not in
    if tidewater.BOT_USER_ID not in channel.members:
        return
    kinds = {"channel": "channel", "group": "group", "im": "im"}
    where = {"channel": channel.id, "channel_type": kinds[channel.kind]}
    if change.kind == "posted":
        yield from _posted(public(change.message), where, workspace)
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


def entity_details(
    user: str, url: str, message: Json, channel: str, trigger: str, workspace: Workspace
) -> Json:
    """Somebody opened the Work Object that stands for a link of a message."""
    for attachment in message.get("attachments", []):
        entity = attachment.get("work_object") or {}
        if entity.get("app_unfurl_url") == url:
            break
    else:
        raise SlackError("not_found")
    where: Json = {"channel": channel, "message_ts": message["ts"]}
    if "thread_ts" in message:
        where["thread_ts"] = message["thread_ts"]
    return {
        "type": "entity_details_requested",
        "user": user,
        "external_ref": entity["external_ref"],
        "entity_url": entity["url"],
        "link": {"url": entity["url"], "domain": domain_of(url, workspace.unfurl_domains)},
        "app_unfurl_url": url,
        "event_ts": workspace.next_ts(),
        "trigger_id": trigger,
        "user_locale": "en-US",
        **where,
    }


def _posted(message: Json, where: Json, workspace: Workspace) -> Iterator[Json]:
    event = {**message, **where, "event_ts": message["ts"]}
    mentioned = tidewater.BOT_USER_ID in mentions(message.get("text", ""))
    by_bot = message.get("user") == tidewater.BOT_USER_ID
    told = mentioned or where["channel_type"] != "channel"
    if told and not message.get("bot_id"):
        event["action_token"] = workspace.action_tokens.issue(message["user"], where["channel"])
    if mentioned and not by_bot and where["channel_type"] != "im":
        mention = {name: value for name, value in event.items() if name != "channel_type"}
        yield {**mention, "type": "app_mention"}
    yield {**event, "type": "message"}


def _hidden(subtype: str, workspace: Workspace) -> Json:
    ts = workspace.next_ts()
    return {"type": "message", "subtype": subtype, "hidden": True, "ts": ts, "event_ts": ts}
