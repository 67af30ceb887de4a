"""Web API: streamed messages, and what an agent says about its work."""

from __future__ import annotations

from playground.slack.event_payloads import public
from playground.slack.rules import block_rules as block_kit
from playground.slack.web_api.call import Call, Method
from playground.slack.web_api.chat_methods import (
    BOT,
    checked_blocks,
    metadata_of,
    numbered,
    own_message,
    streaming,
)
from playground.slack.workspace import Json, SlackError

MAX_CALL = 12_000
MAX_TASK_FIELD = 256
MAX_PROMPTS = 4
MAX_LOADING_MESSAGES = 10


def start(call: Call) -> Json:
    channel = call.joined_channel()
    thread_ts = call.need("thread_ts")
    if channel.kind != "im":
        for name in ("recipient_team_id", "recipient_user_id"):
            if not call.text(name):
                raise SlackError(f"missing_{name}")
        if call.text("recipient_user_id") not in channel.members:
            raise SlackError("user_not_in_channel")
    until = call.workspace.clock() + call.workspace.stream_lifetime
    mode = call.text("task_display_mode", "timeline")
    if call.given("task_display_mode") and "task_display_mode" in call.workspace.unsupported:
        raise SlackError("invalid_arguments")
    if mode not in ("timeline", "plan"):
        raise SlackError("invalid_arguments", ["[ERROR] must be one of: timeline, plan"])
    stream: Json = {
        **{"until": until, "shape": "", "text": "", "blocks": []},
        **{"mode": mode, "plan": "", "tasks": {}},
    }
    _take(call, stream)
    fields = {"thread_ts": thread_ts, "text": stream["text"], "blocks": _blocks(call, stream)}
    message = call.workspace.post(channel.id, {**BOT, **fields, "stream": stream})
    return {"channel": channel.id, "ts": message["ts"]}


def append(call: Call) -> Json:
    message, stream, channel = _open_stream(call)
    if not call.text("markdown_text") and not call.given("chunks"):
        raise SlackError("invalid_arguments", ["[ERROR] missing required field: markdown_text"])
    _take(call, stream)
    fields = {"stream": stream, "text": stream["text"], "blocks": _blocks(call, stream)}
    call.workspace.edit(channel, message["ts"], fields, kind="streamed")
    return {"channel": channel, "ts": message["ts"]}


def stop(call: Call) -> Json:
    message, stream, channel = _open_stream(call)
    _take(call, stream)
    last = checked_blocks(call) if call.given("blocks") else []
    fields: Json = {"stream": None, "text": stream["text"]}
    fields["blocks"] = [*_blocks(call, stream), *last]
    if (metadata := metadata_of(call)) is not None:
        fields["metadata"] = metadata
    message = call.workspace.edit(channel, message["ts"], fields)
    return {"channel": channel, "ts": message["ts"], "message": public(message)}


def _open_stream(call: Call) -> tuple[Json, Json, str]:
    channel, ts = call.joined_channel().id, call.need("ts")
    message = own_message(call, channel, ts, "message_not_owned_by_app")
    if not streaming(message, call.workspace.clock()):
        raise SlackError("message_not_in_streaming_state")
    return message, message["stream"], channel


def _take(call: Call, stream: Json) -> None:
    """Add this call's text or chunks. A stream keeps the shape that it started with."""
    text = call.text("markdown_text")
    chunks = call.objects("chunks", "invalid_chunks")
    if text and chunks:
        raise SlackError("cannot_provide_both_markdown_text_and_chunks")
    shape = "text" if text else "chunks" if chunks else ""
    if shape and stream["shape"] not in ("", shape):
        raise SlackError("streaming_mode_mismatch")
    stream["shape"] = stream["shape"] or shape
    for chunk in [{"type": "markdown_text", "text": text}] if text else chunks or []:
        if chunk.get("type") in call.workspace.unsupported:
            raise SlackError("invalid_chunks")
        _take_chunk(chunk, stream)


def _take_chunk(chunk: Json, stream: Json) -> None:
    kind = chunk.get("type")
    if kind == "markdown_text" and isinstance(chunk.get("text"), str):
        if len(chunk["text"]) > MAX_CALL:
            raise SlackError("msg_too_long")
        stream["text"] += chunk["text"]
    elif kind == "task_update" and _is_task(chunk):
        before = stream["tasks"].get(chunk["id"], {})
        # What is told of a task is added to what was told before.
        more = {n: before.get(n, "") + chunk[n] for n in ("details", "output") if n in chunk}
        stream["tasks"][chunk["id"]] = {**before, **chunk, **more}
    elif kind == "plan_update" and _is_short(chunk.get("title")):
        stream["plan"] = chunk["title"]
    elif kind == "blocks" and isinstance(chunk.get("blocks"), list):
        if messages := block_kit.problems(chunk["blocks"]):
            raise SlackError("invalid_blocks", messages)
        stream["blocks"] += chunk["blocks"]
    else:
        raise SlackError("invalid_chunks")


def _is_task(chunk: Json) -> bool:
    known = chunk.get("status") in ("pending", "in_progress", "complete", "error")
    told = [chunk[name] for name in ("details", "output") if name in chunk]
    return known and all(map(_is_short, (chunk.get("id"), chunk.get("title"), *told)))


def _is_short(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TASK_FIELD


def _blocks(call: Call, stream: Json) -> list[Json]:
    """Tasks stand together in a plan, or each as a card, by the stream's display mode."""
    tasks = [_card(task) for task in stream["tasks"].values()]
    together = stream["mode"] == "plan" and (tasks or stream["plan"])
    plan = [{"type": "plan", "title": stream["plan"] or "Working…", "tasks": tasks}]
    text = [{"type": "markdown", "text": stream["text"], "block_id": "streamed"}]
    shown = plan if together else [task for task in tasks if task["status"] != "pending"]
    return numbered(call, [*shown, *(text if stream["text"] else []), *stream["blocks"]])


def _card(task: Json) -> Json:
    card: Json = {"type": "task_card", "task_id": task["id"]}
    card |= {name: task[name] for name in ("title", "status", "sources") if name in task}
    card |= {name: _rich(task[name]) for name in ("details", "output") if name in task}
    return card


def _rich(text: str) -> Json:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def set_status(call: Call) -> Json:
    channel, thread_ts = call.joined_channel("channel_id"), call.need("thread_ts")
    if "status" not in call.arguments:
        raise SlackError("invalid_arguments", ["[ERROR] missing required field: status"])
    messages = call.data("loading_messages", list, "invalid_arguments") or []
    if len(messages) > MAX_LOADING_MESSAGES:
        raise SlackError("invalid_arguments", ["[ERROR] no more than 10 items allowed"])
    if not call.workspace.thread(channel.id, thread_ts):
        raise SlackError("invalid_thread_ts")
    detail = {"status": call.text("status"), "loading_messages": messages}
    call.workspace.set_status(channel.id, thread_ts, detail)
    return {}


def set_title(call: Call) -> Json:
    channel = call.joined_channel("channel_id")
    call.workspace.set_title(channel.id, call.need("thread_ts"), call.need("title"))
    return {}


def set_prompts(call: Call) -> Json:
    """Up to four. An agent's prompts belong to the conversation: with the older way's `thread_ts`
    nothing is set, and nothing is said."""
    channel = call.joined_channel("channel_id")
    prompts = call.objects("prompts", "invalid_arguments") or []
    if not 0 < len(prompts) <= MAX_PROMPTS:
        raise SlackError("invalid_arguments", ["[ERROR] must provide 1 to 4 prompts"])
    if not all(prompt.get("title") and prompt.get("message") for prompt in prompts):
        raise SlackError("invalid_arguments", ["[ERROR] a prompt needs title and message"])
    if not call.text("thread_ts"):
        detail = {"title": call.text("title"), "prompts": prompts}
        call.workspace.set_prompts(channel.id, detail)
    return {}


METHODS: dict[str, Method] = {
    "chat.startStream": start,
    "chat.appendStream": append,
    "chat.stopStream": stop,
    "assistant.threads.setStatus": set_status,
    "assistant.threads.setTitle": set_title,
    "assistant.threads.setSuggestedPrompts": set_prompts,
}
