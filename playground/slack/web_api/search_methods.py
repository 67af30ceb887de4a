"""Web API: Real-time Search, in the name of who wrote to the app.

See docs.slack.dev/apis/web-api/real-time-search-api: what a bot's token may search are public
channels; a channel of another organisation sees itself alone; guests see nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from playground.slack import tidewater
from playground.slack.action_tokens import Invocation
from playground.slack.web_api.call import Call, Method
from playground.slack.workspace import Json, SlackError

MAX_RESULTS = 20
LONGEST_QUERY = 4_000
"""Slack names the error for a longer one, and no number."""
LEAST_RELEVANCE = 0.4
"""Share of the query's words that a message has to hold: Slack leaves out what hardly fits."""
SCOPES = {
    "public_channel": "search:read.public",
    "private_channel": "search:read.private",
    "mpim": "search:read.mpim",
    "im": "search:read.im",
}
_FOR_USERS_ALONE = {"private_channel", "mpim", "im"}
_COMMON = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from"),
        *("how", "i", "in", "is", "it", "may", "of", "on", "or", "our", "that", "the", "this"),
        *("to", "we", "what", "when", "where", "which", "who", "why", "with", "you"),
    )
)


def context(call: Call) -> Json:
    """`assistant.search.context`: messages alone."""
    call.demand("search:read.public")
    query = call.text("query").strip()
    if not query:
        raise SlackError("missing_query")
    if len(query) > LONGEST_QUERY:
        raise SlackError("query_too_long")
    asked = call.workspace.action_tokens.redeem(call.text("action_token"))
    if asked is None:
        raise SlackError("invalid_action_token")
    if call.workspace.people[asked.user].guest:
        raise SlackError("no_permission")
    for kind in _kinds(call):
        call.demand(SCOPES[kind])
        if kind in _FOR_USERS_ALONE:
            raise SlackError("not_allowed_token_type")
    if int(call.text("limit") or MAX_RESULTS) > MAX_RESULTS:
        raise SlackError(
            "invalid_arguments", ["[ERROR] must be less than 21 [json-pointer:/limit]"]
        )
    found = sorted(_found(call, asked, query), key=lambda one: (-one[0], one[1]["message_ts"]))
    page, metadata = call.page([message for _, message in found], default=MAX_RESULTS)
    return {"results": {"messages": page}, "response_metadata": metadata}


def info(call: Call) -> Json:
    call.demand("search:read.public")
    return {"is_ai_search_enabled": call.workspace.ai_search}


def _kinds(call: Call) -> list[str]:
    value = call.arguments.get("channel_types") or "public_channel"
    kinds = value if isinstance(value, list) else [kind.strip() for kind in str(value).split(",")]
    if unknown := set(kinds) - SCOPES.keys():
        raise SlackError("invalid_arguments", [f"[ERROR] unknown channel type {unknown.pop()}"])
    return kinds


def _found(call: Call, asked: Invocation, query: str) -> Iterator[tuple[float, Json]]:
    wanted = _words(query)
    before, after = float(call.text("before") or "inf"), float(call.text("after") or 0)
    for channel in _searched(call, asked):
        for message in call.workspace.all(channel.id):
            if not after < float(message["ts"]) < before:
                continue
            if message.get("hidden") or (message.get("bot_id") and not call.flag("include_bots")):
                continue
            held = wanted & _words(str(message.get("text") or ""))
            relevance = len(held) / len(wanted) if wanted else 0.0
            if relevance >= LEAST_RELEVANCE:
                yield relevance, _result(call, channel, message)


def _searched(call: Call, asked: Invocation) -> list[tidewater.Channel]:
    """Public channels; from one that is shared with another organisation, itself alone."""
    known, people = call.workspace.channels, call.workspace.people
    here = known[asked.channel]
    if any(people[one].team_id != tidewater.TEAM_ID for one in here.members):
        return [here] if here.kind == "channel" else []
    return [channel for channel in known.values() if channel.kind == "channel"]


def _result(call: Call, channel: tidewater.Channel, message: Json) -> Json:
    author = call.workspace.people.get(message.get("user", ""))
    link = f"{call.text('site')}/archives/{channel.id}/p{message['ts'].replace('.', '')}"
    if (root := message.get("thread_ts", message["ts"])) != message["ts"]:
        link += f"?thread_ts={root}&cid={channel.id}"
    return {
        "author_user_id": message.get("user", ""),
        "author_name": author.name if author else "",
        "team_id": tidewater.TEAM_ID,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "message_ts": message["ts"],
        "content": message.get("text", ""),
        "is_author_bot": bool(message.get("bot_id")),
        "permalink": link,
    }


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z0-9]+", re.sub(r"<[^>]*>", " ", text.lower()))
    return frozenset(word.removesuffix("s") for word in words) - _COMMON


METHODS: dict[str, Method] = {
    "assistant.search.context": context,
    "assistant.search.info": info,
}
