"""Web API: conversations, their history and threads, and reactions."""

from __future__ import annotations

from typing import Any

from playground.slack import tidewater
from playground.slack.event_payloads import public
from playground.slack.web_api.call import Call, Method
from playground.slack.workspace import Json, SlackError

PRIVACY = {"channel": "public_channel", "group": "private_channel", "im": "im"}
SCOPES_BY_KIND = {
    "public_channel": "channels:read", "private_channel": "groups:read", "im": "im:read",
}  # fmt: skip


def channel_json(channel: tidewater.Channel) -> Json:
    shared: Json = {
        "id": channel.id,
        "is_im": channel.kind == "im",
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_private": channel.kind != "channel",
        "is_archived": channel.archived,
        "is_ext_shared": channel.shared,
        "context_team_id": tidewater.TEAM_ID,
    }
    if channel.kind == "im":
        return {**shared, "user": channel.user}
    return {
        **shared,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_general": channel.name == "general",
        "is_member": tidewater.BOT_USER_ID in channel.members,
        "topic": {"value": channel.topic, "creator": "", "last_set": 0},
        "purpose": {"value": channel.topic, "creator": "", "last_set": 0},
        "num_members": len(channel.members),
    }


def info(call: Call) -> Json:
    return {"channel": channel_json(_visible(call))}


def list_(call: Call) -> Json:
    types = {kind.strip() for kind in call.text("types", "public_channel").split(",")}
    for kind in sorted(types):
        call.demand(SCOPES_BY_KIND.get(kind, ""))
    seen = [
        channel
        for channel in call.workspace.channels.values()
        if PRIVACY[channel.kind] in types
        and (channel.kind == "channel" or tidewater.BOT_USER_ID in channel.members)
        and not (channel.archived and call.flag("exclude_archived"))
    ]
    channels, metadata = call.page(seen, default=100)
    return {"channels": [channel_json(c) for c in channels], "response_metadata": metadata}


def of_user(call: Call) -> Json:
    """What the app shares with a person; its own conversations when it names nobody."""
    kinds = {kind.strip() for kind in call.text("types", "public_channel").split(",")}
    for kind in sorted(kinds):
        call.demand(SCOPES_BY_KIND.get(kind, ""))
    user = call.text("user", tidewater.BOT_USER_ID)
    person = call.workspace.people.get(user)
    if person is None or person.team_id != tidewater.TEAM_ID:
        raise SlackError("user_not_found")
    seen = [
        channel
        for channel in call.workspace.channels.values()
        if PRIVACY[channel.kind] in kinds
        and user in channel.members
        and (channel.kind == "channel" or tidewater.BOT_USER_ID in channel.members)
    ]
    channels, metadata = call.page(seen, default=100)
    shown = [channel_json(channel) for channel in channels]
    for one in shown:
        one.pop("is_member", None)
        one.pop("num_members", None)
    return {"channels": shown, "response_metadata": metadata}


def open_(call: Call) -> Json:
    users = [user for user in call.text("users").split(",") if user]
    if len(users) != 1 and not call.given("channel"):
        raise SlackError("users_list_not_supplied" if not users else "method_not_supported")
    channel = call.workspace.direct(users[0]) if users else call.channel()
    shown = channel_json(channel) if call.flag("return_im") else {"id": channel.id}
    return {"channel": shown, "no_op": True, "already_open": True}


def members(call: Call) -> Json:
    """Also of a public channel that the app has not joined."""
    page, metadata = call.page(sorted(_visible(call).members), default=100)
    return {"members": page, "response_metadata": metadata}


def _visible(call: Call) -> tidewater.Channel:
    """The conversation, if the app has the scope for its kind; a private one only from inside."""
    if call.need("channel") not in call.workspace.channels:  # a name is no id here
        raise SlackError("channel_not_found")
    channel = call.channel()
    if channel.kind != "im":  # the product never asks about direct messages
        call.demand(SCOPES_BY_KIND[PRIVACY[channel.kind]])
    if channel.kind == "group" and tidewater.BOT_USER_ID not in channel.members:
        raise SlackError("channel_not_found")
    return channel


def history(call: Call) -> Json:
    """Newest first, without replies that stay in their thread."""
    channel = call.joined_channel()
    messages = _between(call, call.workspace.roots(channel.id))[::-1]
    page, metadata = call.page(messages, default=100)
    return {
        "messages": [shown(call, message) for message in page],
        "has_more": bool(metadata["next_cursor"]),
        "pin_count": 0,
        "response_metadata": metadata,
    }


def replies(call: Call) -> Json:
    """The head of the thread on every page's front, then replies, oldest first."""
    channel = call.joined_channel()
    thread = call.workspace.thread(channel.id, call.need("ts"))
    if not thread:
        raise SlackError("thread_not_found")
    page, metadata = call.page(_between(call, thread), default=1000)
    if page and page[0]["ts"] != thread[0]["ts"]:
        page = [thread[0], *page]
    return {
        "messages": [shown(call, message) for message in page],
        "has_more": bool(metadata["next_cursor"]),
        "response_metadata": metadata,
    }


def shown(call: Call, message: Json) -> Json:
    return message if call.flag("include_all_metadata") else public(message)


def _between(call: Call, messages: list[Json]) -> list[Json]:
    oldest, latest = call.text("oldest", "0"), call.text("latest") or "9" * 12
    inclusive = call.flag("inclusive")

    def wanted(message: Json) -> bool:
        ts = _number(message["ts"])
        low, high = _number(oldest), _number(latest)
        return low <= ts <= high if inclusive else low < ts < high

    return [message for message in messages if wanted(message)]


def _number(ts: str) -> tuple[int, int]:
    seconds, _, micros = ts.partition(".")
    try:
        return int(seconds or 0), int((micros or "0").ljust(6, "0"))
    except ValueError as error:
        raise SlackError("invalid_ts_latest") from error


def add_reaction(call: Call) -> Json:
    return _react(call, add=True)


def remove_reaction(call: Call) -> Json:
    return _react(call, add=False)


def get_reactions(call: Call) -> Json:
    channel = call.channel()
    message = call.workspace.message(channel.id, call.need("timestamp"))
    return {"type": "message", "channel": channel.id, "message": public(message)}


def _react(call: Call, *, add: bool) -> dict[str, Any]:
    name = call.need("name").strip(":")
    if not name.replace("_", "").replace("-", "").replace("+", "").isalnum():
        raise SlackError("invalid_name")
    channel, bot = call.joined_channel(), tidewater.BOT_USER_ID
    call.workspace.react(channel.id, call.need("timestamp"), name, bot, add=add)
    return {}


METHODS: dict[str, Method] = {
    "conversations.history": history,
    "conversations.info": info,
    "conversations.list": list_,
    "conversations.members": members,
    "conversations.open": open_,
    "conversations.replies": replies,
    "reactions.add": add_reaction,
    "reactions.get": get_reactions,
    "reactions.remove": remove_reaction,
    "users.conversations": of_user,
}
