"""Slack messages: their text, from text, blocks or attachments; threads as conversation turns;
who acted on a message, and notes to that person."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from agents.answer import Turn, shorten, shorten_history
from bot.slack.client import Json, SlackBusy, SlackClient, SlackRefused, SlackUnsure
from config.parsing.schedules import CHANNEL, USER
from durable.database import now
from enrichment.language.phrases import is_courtesy

log = structlog.get_logger()

ERASED = "erased"
"""Replaces the id of an erased person who took or resolved a question."""

_MENTION = re.compile(rf"<@({USER})(?:\|([^<>]*))?>")
_CHANNEL = re.compile(rf"<#({CHANNEL})(?:\|([^<>]*))?>")
_SPECIAL = re.compile(r"<!([^<>|]+)(?:\|([^<>]*))?>")
_LINK = re.compile(r"<((?:https?|mailto):[^<>|]+)(?:\|([^<>]*))?>")
_QUESTION = re.compile(
    r"\?|^[^\w\n]*+(?:how|what|when|where|which|who|whom|whose|why|can|could|may|should|shall|do|does|did"
    r"|is|are|was|were|will|would|has|have|any(?:one|body)|please|help)\b",
    re.IGNORECASE | re.MULTILINE,
)


class PlacedMessage(Protocol):
    """A message and its thread."""

    @property
    def channel(self) -> str: ...
    @property
    def ts(self) -> str: ...
    @property
    def thread_ts(self) -> str: ...


def words_of(message: Mapping[str, Any]) -> str:
    """All visible text of the message; of a long one the beginning and the end."""
    return shorten(all_words_of(message))


def all_words_of(message: Mapping[str, Any]) -> str:
    """All visible text of the message, at any length.

    Alerts often have an empty `text`, or only a title there, and the rest in blocks or
    attachments; a part that repeats an earlier one is left out."""
    texts: list[str] = []
    for part in _parts(message):
        part = part.strip()
        if part and not any(part in earlier for earlier in texts):
            texts.append(part)
    return "\n".join(texts)


def plain(text: str, *, bot_user: str = "") -> str:
    """Slack's escapes resolved; the bot's own mention dropped."""
    text = _MENTION.sub(lambda m: "" if m[1] == bot_user else f"@{m[2] or m[1]}", text)
    text = _CHANNEL.sub(lambda m: f"#{m[2] or m[1]}", text)
    text = _SPECIAL.sub(lambda m: m[2] or f"@{m[1].split('^')[0]}", text)
    text = _LINK.sub(lambda m: m[1] if not m[2] or m[2] in m[1] else f"{m[2]} ({m[1]})", text)
    return html.unescape(re.sub(r"[ \t]+", " ", text)).strip()


def mentions(text: str) -> frozenset[str]:
    """User ids that a message mentions."""
    return frozenset(match[1] for match in _MENTION.finditer(text))


def mention(who: str) -> str:
    """Mentions a person or a user group, by id."""
    if who == ERASED:
        return "somebody"
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def permalink(team_url: str, message: PlacedMessage) -> str:
    """URL of a question in its thread; empty when the workspace's URL is unknown."""
    # An option that was chosen is a question without a message of its own.
    ts = message.ts if message.ts.replace(".", "").isdigit() else message.thread_ts
    thread = f"?thread_ts={message.thread_ts}&cid={message.channel}"
    place = f"{team_url}/archives/{message.channel}/p{ts.replace('.', '')}"
    return place + thread if team_url else ""


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text)) and not is_courtesy(text)


def _parts(message: Mapping[str, Any]) -> Iterator[str]:
    text = str(message.get("text") or "")
    yield text
    for block in message.get("blocks") or ():
        if not (text and block.get("type") == "rich_text"):  # what people type is in both
            yield from _block_parts(block)
    for attachment in message.get("attachments") or ():
        yield from _attachment_parts(attachment)


def _attachment_parts(attachment: Mapping[str, Any]) -> Iterator[str]:
    words = [str(attachment.get(key) or "") for key in ("pretext", "title", "text")]
    yield from words
    for field in attachment.get("fields") or ():
        yield f"{field.get('title') or ''}: {field.get('value') or ''}".strip(": ")
    for block in attachment.get("blocks") or ():
        yield from _block_parts(block)
    if not any(words):
        yield str(attachment.get("fallback") or "")


def _block_parts(block: Mapping[str, Any]) -> Iterator[str]:
    kind = block.get("type")
    if kind == "rich_text":
        yield rich_text(block)
    elif kind in {"table", "data_table"}:
        for row in block.get("rows") or ():
            yield " | ".join(_cell(cell) for cell in row)
    elif kind not in {"actions", "context_actions"}:
        yield from _texts(block)


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    text = block.get("text")
    yield text if isinstance(text, str) else str((text or {}).get("text") or "")
    for part in (*(block.get("fields") or ()), *(block.get("elements") or ())):
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield part["text"]


def _cell(cell: Mapping[str, Any]) -> str:
    return rich_text(cell) if cell.get("type") == "rich_text" else str(cell.get("text") or "")


def rich_text(element: Mapping[str, Any]) -> str:
    """The text of a rich_text block or of an element within it."""
    kind = element.get("type")
    if kind in {"text", "raw_text", "raw_number"}:
        return str(element.get("text") or "")
    if kind == "link":
        return f"<{element.get('url', '')}|{element.get('text') or element.get('url', '')}>"
    if kind == "user":
        return f"<@{element.get('user_id', '')}>"
    if kind == "channel":
        return f"<#{element.get('channel_id', '')}>"
    if kind == "emoji":
        return f":{element.get('name', '')}:"
    inner = [rich_text(part) for part in element.get("elements") or ()]
    return "\n".join(inner) if kind in {"rich_text", "rich_text_list"} else "".join(inner)


Message = Mapping[str, Any]

METADATA_EVENT = "oncall_answer"
"""Metadata type by which the bot recognizes its own messages."""


def fetch(web: SlackClient, channel: str, thread_ts: str) -> list[Message]:
    """Every message of the thread, oldest first; empty when the bot may not read it."""
    try:
        return [
            _with_author(message, web)
            for message in web.pages(
                "conversations.replies",
                "messages",
                channel=channel,
                ts=thread_ts,
                include_all_metadata=True,
                patience=60.0,
            )
        ]
    except SlackRefused:
        return []


def _with_author(message: Message, web: SlackClient) -> Message:
    """Adds the bot's user id: its own messages may carry only the bot id."""
    own = web.bot_id and message.get("bot_id") == web.bot_id
    return {**message, "user": web.bot_user} if own and not message.get("user") else message


def turns(messages: Sequence[Message], *, before: str, bot_user: str) -> tuple[Turn, ...]:
    """The conversation before the message at `before`, within bounds."""
    history = [
        Turn(role="assistant" if is_own(m, bot_user) else "user", content=text)
        for m in messages
        if earlier(m, before) and not unfinished(m) and (text := _content(m, bot_user))
    ]
    return shorten_history(history)


def is_own(message: Message, bot_user: str) -> bool:
    return bool(bot_user) and message.get("user") == bot_user


def earlier(message: Message, ts: str) -> bool:
    return _seconds(message.get("ts")) < _seconds(ts)


def authors_before(messages: Sequence[Message], ts: str, *, without: Collection[str]) -> list[str]:
    """Slack ids of the other people who had written in a thread before `ts`."""
    people = {str(message.get("user") or "") for message in messages if earlier(message, ts)}
    return sorted(people - {"", *without})


def question_id(message: Message, kind: str = METADATA_EVENT) -> str:
    """The question that a message of the bot belongs to; empty for others."""
    return str(payload_of(message, kind).get("question_id") or "")


def payload_of(message: Message, kind: str = "") -> Mapping[str, Any]:
    """The payload of its metadata; empty without one, or where they are of another kind."""
    metadata = message.get("metadata") or {}
    is_other = kind and metadata.get("event_type") != kind
    return {} if is_other else metadata.get("event_payload") or {}


def part_of(message: Message) -> int:
    return int(payload_of(message).get("part") or 0)


def unfinished(message: Message) -> bool:
    """Whether it is a placeholder for an answer."""
    return bool(question_id(message)) and payload_of(message).get("state") == "working"


def _content(message: Message, bot_user: str) -> str:
    """The text; of the bot's own answers without sources, notes and buttons."""
    if is_own(message, bot_user):
        answer = [block for block in message.get("blocks") or () if not _is_extra(block)]
        if answer:
            message = {"blocks": answer}
    return plain(words_of(message), bot_user=bot_user)


def _is_extra(block: Mapping[str, Any]) -> bool:
    # By type and id: Slack turns a markdown block into other types and ignores its block_id.
    kinds = {"actions", "context_actions", "context"}
    return block.get("type") in kinds or str(block.get("block_id") or "").startswith("oncall_")


def _seconds(ts: object) -> float:
    try:
        return float(str(ts))
    except ValueError:
        return 0.0


def moment(ts: str) -> datetime:
    """A Slack timestamp in UTC without a zone; now where it is none."""
    try:
        return datetime.fromtimestamp(float(ts), UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return now()


def user_of(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


def team_of(body: Json) -> str:
    """The person's workspace; `team` is null where an app is installed for a whole organization."""
    person, team = body.get("user") or {}, body.get("team") or {}
    return str(person.get("team_id") or team.get("id") or "")


def place_of(body: Json) -> tuple[str, str]:
    """Channel and thread of the message that was acted on; Slack leaves out what it can."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id")
    return str(channel or ""), str(message.get("thread_ts") or container.get("thread_ts") or "")


def posted_at(body: Json) -> str:
    """Timestamp of the message that was acted on."""
    message_ts = (body.get("container") or {}).get("message_ts")
    return str((body.get("message") or {}).get("ts") or message_ts or "")


def open_modal(web: SlackClient, body: Json, view: Json) -> None:
    try:
        web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.warning("a modal did not open", reason=str(error))
        again = "Noted. The form did not open; please press the button again."
        whisper(web, user_of(body), *place_of(body), again)


def whisper(web: SlackClient, user: str, channel: str, thread_ts: str, text: str) -> None:
    try:
        web.once(
            "chat.postEphemeral", channel=channel, user=user, thread_ts=thread_ts or None, text=text
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.debug("ephemeral message could not be posted", reason=str(error))
