"""Web API: posting, changing and deleting messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.slack import tidewater
from playground.slack.event_payloads import public
from playground.slack.rules import block_rules as block_kit
from playground.slack.web_api.call import Call, Method
from playground.slack.wire_text import posted
from playground.slack.workspace import Json, SlackError

MAX_TEXT = 40_000
MAX_UPDATED_TEXT = 4_000
"""`chat.update` documents a shorter text than `chat.postMessage`; blocks have their own limits."""
BOT = {
    "user": tidewater.BOT_USER_ID,
    "bot_id": tidewater.BOT_ID,
    "app_id": tidewater.APP_ID,
    "team": tidewater.TEAM_ID,
    "bot_profile": {
        "id": tidewater.BOT_ID,
        "app_id": tidewater.APP_ID,
        "name": "Copilot",
        "team_id": tidewater.TEAM_ID,
        "deleted": False,
    },
}


def post_message(call: Call) -> Json:
    channel = call.joined_channel()
    fields = content(call, MAX_TEXT)
    if not any(fields.get(name) for name in ("text", "blocks", "attachments")):
        raise SlackError("no_text")
    if thread_ts := call.text("thread_ts"):
        fields["thread_ts"] = thread_ts
    if name := call.text("username"):
        fields["username"] = name
    message = call.workspace.post(channel.id, {**BOT, **fields})
    return {"channel": channel.id, "ts": message["ts"], "message": public(message)}


def post_ephemeral(call: Call) -> Json:
    channel, user = call.joined_channel(), call.need("user")
    if user not in channel.members:
        raise SlackError("user_not_in_channel")
    fields = content(call, MAX_TEXT)
    if not any(fields.get(name) for name in ("text", "blocks", "attachments")):
        raise SlackError("no_text")
    if thread_ts := call.text("thread_ts"):
        fields["thread_ts"] = thread_ts
    message = call.workspace.whisper(channel.id, user, {**BOT, **fields, "type": "message"})
    return {"message_ts": message["ts"]}


def update(call: Call) -> Json:
    """Blocks go when only text is given; only a text edit shows the `edited` mark."""
    channel, ts = call.joined_channel(), call.need("ts")
    before = own_message(call, channel.id, ts, "cant_update_message")
    if streaming(before, call.workspace.clock()):
        raise SlackError("streaming_state_conflict")
    fields = content(call, MAX_UPDATED_TEXT)
    if not fields:
        raise SlackError("no_text")
    if "blocks" not in fields and fields.get("text"):
        fields["blocks"] = None
        stamp = call.workspace.next_ts()
        fields["edited"] = {"user": tidewater.BOT_USER_ID, "ts": stamp}
    elif "blocks" in fields and not fields["blocks"]:
        fields["blocks"] = None
    message = call.workspace.edit(
        channel.id, ts, {k: v for k, v in fields.items() if v is not None or k in before}
    )
    text = message.get("text", "")
    return {"channel": channel.id, "ts": ts, "text": text, "message": public(message)}


def delete(call: Call) -> Json:
    channel, ts = call.joined_channel(), call.need("ts")
    message = own_message(call, channel.id, ts, "cant_delete_message")
    if streaming(message, call.workspace.clock()):
        raise SlackError("cant_delete_message")
    call.workspace.delete(channel.id, ts)
    return {"channel": channel.id, "ts": ts}


def permalink(call: Call) -> Json:
    channel = call.channel()
    message = call.workspace.message(channel.id, call.need("message_ts"))
    link = f"{call.text('site')}/archives/{channel.id}/p{message['ts'].replace('.', '')}"
    if (root := message.get("thread_ts", message["ts"])) != message["ts"]:
        link += f"?thread_ts={root}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def content(call: Call, max_text: int) -> Json:
    """Text, blocks, attachments and metadata, checked; only what was given."""
    fields: Json = {}
    if call.given("text"):
        fields["text"] = posted(call.text("text"))
        if len(call.text("text")) > max_text:
            raise SlackError("msg_too_long")
    if call.given("blocks"):
        fields["blocks"] = checked_blocks(call)
    if call.given("markdown_text"):
        if fields.get("text") or fields.get("blocks"):
            raise SlackError("markdown_text_conflict")
        text = call.text("markdown_text")
        if len(text) > block_kit.MARKDOWN_TOTAL:
            raise SlackError("msg_too_long")
        fields |= {"text": text, "blocks": numbered(call, [{"type": "markdown", "text": text}])}
    if call.given("attachments"):
        fields["attachments"] = call.objects("attachments", "invalid_attachments")
    if (metadata := metadata_of(call)) is not None:
        fields["metadata"] = metadata
    return fields


def checked_blocks(call: Call) -> list[Json]:
    found = call.objects("blocks", "invalid_blocks_format") or []
    if messages := block_kit.problems(found, unsupported=call.workspace.unsupported):
        raise SlackError("invalid_blocks", messages)
    if block_kit.too_long(found):
        raise SlackError("msg_blocks_too_long")
    return numbered(call, found)


def numbered(call: Call, blocks: list[Json]) -> list[Json]:
    """Slack gives ids to blocks and interactive elements that came without."""
    for block in blocks:
        block.setdefault("block_id", call.workspace.next_id("b"))
        inside: list[Any] = [block.get("accessory"), block.get("element")]
        for element in [*inside, *block.get("elements", [])]:
            if isinstance(element, dict) and element.get("type") in block_kit.INTERACTIVE:
                element.setdefault("action_id", call.workspace.next_id("a"))
    return blocks


def metadata_of(call: Call) -> Json | None:
    metadata: Json | None = call.data("metadata", dict, "invalid_metadata_format")
    if metadata is None or "entities" in metadata:
        return metadata
    if not isinstance(metadata.get("event_type"), str):
        raise SlackError("invalid_metadata_schema")
    if not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_schema")
    return metadata


def streaming(message: Mapping[str, Any], now: float) -> bool:
    """Slack ends a stream by itself some minutes after its start, even while it is written to."""
    stream = message.get("stream")
    return isinstance(stream, Mapping) and float(stream["until"]) > now


def own_message(call: Call, channel: str, ts: str, refusal: str) -> Json:
    message = call.workspace.message(channel, ts)
    if message.get("bot_id") != tidewater.BOT_ID:
        raise SlackError(refusal)
    return message


METHODS: dict[str, Method] = {
    "chat.delete": delete,
    "chat.getPermalink": permalink,
    "chat.postEphemeral": post_ephemeral,
    "chat.postMessage": post_message,
    "chat.update": update,
}
