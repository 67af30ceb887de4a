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
from bot.slack.block_text import block_parts, runbook_button, without_placeholder
from bot.slack.client import Json, SlackBusy, SlackClient, SlackRefused, SlackUnsure
from config.parsing.schedules import CHANNEL, USER
from durable.database import now
from enrichment.language.phrases import is_courtesy

log = structlog.get_logger()

Message = Mapping[str, Any]

ERASED = "erased"
"""Replaces the id of an erased person who took or resolved a question."""
UNKNOWN_NAME = "somebody"

_MENTION = re.compile(rf"<@({USER})(?:\|([^<>]*))?>")
_CHANNEL = re.compile(rf"<#({CHANNEL})(?:\|([^<>]*))?>")
_SPECIAL = re.compile(r"<!([^<>|]+)(?:\|([^<>]*))?>")
_LINK = re.compile(r"<((?:https?|mailto):[^<>|]+)(?:\|([^<>]*))?>")
_MARKS = re.compile(r"[*_~`]")
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
    texts: dict[str, str] = {}
    for part in map(str.strip, _parts(message)):
        words = f" {' '.join(_MARKS.sub('', part).split())} "
        if part and not any(words in earlier for earlier in texts):
            texts[words] = part
    return "\n".join(texts.values())


def plain(text: str, *, bot_user: str = "") -> str:
    """Slack's escapes resolved; the bot's own mention dropped."""
    text = _MENTION.sub(lambda m: "" if m[1] == bot_user else f"@{m[2] or m[1]}", text)
    text = _CHANNEL.sub(lambda m: f"#{m[2] or m[1]}", text)
    text = _SPECIAL.sub(lambda m: m[2] or f"@{m[1].removeprefix('subteam^')}", text)
    text = _LINK.sub(lambda m: m[1] if _is_shown(m[1], m[2]) else f"{m[2]} ({m[1]})", text)
    return html.unescape(re.sub(r"[ \t]+", " ", text)).strip()


def mentions(text: str) -> frozenset[str]:
    """User ids that a message mentions."""
    return frozenset(match[1] for match in _MENTION.finditer(text))


def mention(who: str) -> str:
    """Mentions a person or a user group, by id."""
    if who == ERASED:
        return "somebody"
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def _is_shown(url: str, text: str | None) -> bool:
    """Whether a link's text says nothing but its URL: `<https://x.example|x.example>`."""
    bare = re.sub(r"^(?:https?://|mailto:)", "", url)
    return not text or text.strip("/") in (url.strip("/"), bare.strip("/"))


def permalink(team_url: str, message: PlacedMessage) -> str:
    """URL of a question in its thread; empty when the workspace's URL is unknown."""
    # An option that was chosen is a question without a message of its own.
    ts = message.ts if message.ts.replace(".", "").isdigit() else message.thread_ts
    thread = f"?thread_ts={message.thread_ts}&cid={message.channel}"
    place = f"{team_url}/archives/{message.channel}/p{ts.replace('.', '')}"
    return place + thread if team_url else ""


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text)) and not is_courtesy(text)


def own_part(message: Mapping[str, Any]) -> Message:
    """The message without what it forwards or links to."""
    return {**message, "attachments": ()}


def _parts(message: Mapping[str, Any]) -> Iterator[str]:
    text = without_placeholder(message.get("text"))
    yield text
    for block in message.get("blocks") or ():
        if not (text and block.get("type") == "rich_text"):  # what people type is in both
            yield from block_parts(block)
    for attachment in message.get("attachments") or ():
        yield from _attachment_parts(attachment)


def _attachment_parts(attachment: Mapping[str, Any]) -> Iterator[str]:
    parts = [part for part in _attachment_words(attachment) if part]
    yield from parts or [without_placeholder(attachment.get("fallback"))]
    if parts and not _OF_OTHERS & attachment.keys():
        yield from _origin(attachment)


_OF_OTHERS = frozenset(("from_url", "is_share", "is_msg_unfurl"))
"""Keys of previews and of forwarded messages."""


def _attachment_words(attachment: Mapping[str, Any]) -> Iterator[str]:
    for key in ("pretext", "title", "text"):
        yield without_placeholder(attachment.get(key))
    for field in attachment.get("fields") or ():
        title = str(field.get("title") or "").strip("* :")
        yield f"{title}: {field.get('value') or ''}".strip(": ")
    for block in attachment.get("blocks") or ():
        yield from block_parts(block)
    if not without_placeholder(attachment.get("text")):  # else they repeat it
        for shared in attachment.get("message_blocks") or ():
            message = shared.get("message")
            yield from _parts(message) if isinstance(message, Mapping) else block_parts(shared)
    for action in attachment.get("actions") or ():
        yield runbook_button(action)


def _origin(attachment: Mapping[str, Any]) -> Iterator[str]:
    """Whose message it is, which may be the only place that names a product, and its link."""
    author, footer = (str(attachment.get(key) or "") for key in ("author_name", "footer"))
    if author or footer:
        yield f"From: {author or footer}"
    if link := attachment.get("title_link"):
        yield f"Link: {link}"


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


def profile_name(web: SlackClient, user: str) -> str:
    """The name on a person's profile; `somebody` if they were erased or Slack refuses."""
    if not user or user == ERASED:
        return UNKNOWN_NAME
    try:
        member = web.call("users.info", patience=30.0, user=user).get("user") or {}
    except (SlackRefused, SlackBusy, SlackUnsure):
        return UNKNOWN_NAME
    profile = member.get("profile") or {}
    return str(
        profile.get("real_name") or member.get("real_name") or member.get("name") or UNKNOWN_NAME
    )
