"""Slack's events as typed values, read from the raw payload without calling Slack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agents.answer import shorten
from bot.slack.messages import all_words_of, mentions, own_part, plain, words_of


@dataclass(frozen=True, kw_only=True)
class AttachedFile:
    """A file of a message. Field names are JSON keys."""

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""
    """Requires the bot's token."""
    needs_a_look: bool = False
    """The rest must be fetched by `files.info`."""

    @classmethod
    def of(cls, file: Mapping[str, Any]) -> AttachedFile:
        size = file.get("size")
        return cls(
            id=str(file.get("id") or ""),
            name=str(file.get("title") or file.get("name") or "a file")[:80],
            media_type=str(file.get("mimetype") or ""),
            size=size if isinstance(size, int) else 0,
            url=str(file.get("url_private_download") or file.get("url_private") or ""),
            needs_a_look=file.get("file_access") == "check_file_info",
        )

    @property
    def is_picture(self) -> bool:
        """Whether it is a picture by Slack's media type; the bytes may still say otherwise."""
        return self.media_type.startswith("image/") or self.needs_a_look


@dataclass(frozen=True, kw_only=True)
class IncomingMessage:
    """A message that may be a question. Field names are JSON keys."""

    channel: str
    ts: str
    thread_ts: str
    """The thread's root, which is the message itself when it starts one."""
    user: str
    team: str
    text: str
    """Plain text without the bot's own mention."""
    channel_type: str = "channel"
    """channel | group | im | mpim | app_home"""
    mentioned: bool = False
    """The bot was addressed: a mention, a direct message, or the shortcut."""
    others_mentioned: bool = False
    """Another person was mentioned."""
    bot: str = ""
    """Bot id when a bot wrote it."""
    app: str = ""
    files: tuple[str, ...] = ()
    """Names of attached files."""
    attached: tuple[AttachedFile, ...] = ()
    """The same files with their details."""
    cut: bool = False
    """`text` holds only the beginning and the end of a long message."""
    edited: bool = False
    context_channel: str = ""
    """The channel the asker came from, in the agent pane."""
    key: str = ""
    """Distinguishes questions that are not messages of their own: a chosen option."""
    by_shortcut: bool = False
    """The asker chose the message, which may be another person's."""
    lead: str = ""
    """Shown above the answer, where the question isn't obvious."""
    domain: str = ""
    """Chosen by the asker; else empty."""
    again: str = ""
    """Id of the question that is asked again, of the chosen domain."""
    action_token: str = field(default="", repr=False)
    """Allows a Slack search with the asker's own permissions, for a short time."""
    author: str = ""
    """Slack id of the author of `text`, where it isn't the asker."""

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> IncomingMessage:
        """Ignores fields of a newer release."""
        values = {name: item[name] for name in cls.__dataclass_fields__ if name in item}
        attached = tuple(AttachedFile(**one) for one in values.get("attached", ()))
        return cls(**{**values, "files": tuple(values.get("files", ())), "attached": attached})

    @property
    def id(self) -> str:
        """A message is one question, however many events report it."""
        return f"{self.channel}:{self.key or self.ts}"

    @property
    def sent_at(self) -> datetime:
        """UTC, by Slack's clock."""
        try:
            return datetime.fromtimestamp(float(self.ts), UTC)
        except (ValueError, OverflowError, OSError):
            return datetime.now(UTC)

    @property
    def wait_seconds(self) -> float | None:
        """Seconds that the asker has waited; None where the message is older than the question."""
        if self.edited or self.key or self.by_shortcut:
            return None
        return max(0.0, (datetime.now(UTC) - self.sent_at).total_seconds())

    @property
    def direct(self) -> bool:
        return self.channel_type in {"im", "app_home"}

    @property
    def starts_thread(self) -> bool:
        return self.thread_ts == self.ts


@dataclass(frozen=True, kw_only=True)
class MessageDeleted:
    channel: str
    ts: str

    @property
    def id(self) -> str:
        return f"{self.channel}:{self.ts}"


@dataclass(frozen=True, kw_only=True)
class AssistantOpened:
    """A person opened the agent pane or the bot's messages tab."""

    channel: str
    thread_ts: str
    user: str
    context_channel: str = ""


@dataclass(frozen=True, kw_only=True)
class LinksShared:
    """A message with links to the manifest's unfurl domains."""

    channel: str
    ts: str
    user: str
    urls: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AppHomeOpened:
    user: str


@dataclass(frozen=True, kw_only=True)
class ReactionAdded:
    channel: str
    ts: str
    user: str
    reaction: str


Event = (
    IncomingMessage | MessageDeleted | AssistantOpened | AppHomeOpened | ReactionAdded | LinksShared
)

MAX_LINKS = 5
"""Maximum links of one message; with more, none gets a preview."""

_QUESTIONS = {"", "thread_broadcast", "file_share", "bot_message", "me_message"}


def read(event: Mapping[str, Any], *, bot_user: str, team: str) -> Event | None:
    """The typed event; None for events that do not concern the bot."""
    reader = _READERS.get(str(event.get("type")))
    return reader(event, bot_user, team) if reader else None


def _message(event: Mapping[str, Any], *, bot_user: str, team: str) -> Event | None:
    channel = str(event.get("channel") or "")
    subtype = str(event.get("subtype") or "")
    if subtype == "message_changed":
        return _changed(event, channel=channel, bot_user=bot_user, team=team)
    if subtype == "message_deleted":
        ts = event.get("deleted_ts") or (event.get("previous_message") or {}).get("ts")
        return MessageDeleted(channel=channel, ts=str(ts or ""))
    if subtype not in _QUESTIONS:
        return None
    return _incoming_message(event, bot_user=bot_user, team=team, mentioned=False)


def _changed(event: Mapping[str, Any], *, channel: str, bot_user: str, team: str) -> Event | None:
    """An edit by the author; Slack also reports unfurled links and new replies as changes."""
    message, before = event.get("message") or {}, event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":
        return MessageDeleted(channel=channel, ts=str(message.get("ts") or ""))
    is_bot = bool(message.get("bot_id"))
    if not (_rewritten(message, before) if is_bot else _edited(message, before)):
        return None
    inner = {**message, "channel": channel, "channel_type": event.get("channel_type")}
    return _incoming_message(inner, bot_user=bot_user, team=team, mentioned=False, edited=True)


def _edited(message: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return bool(message.get("edited")) and words_of(message) != words_of(before)


def _rewritten(message: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether its text or color bars differ: Slack marks only changed text as edited, and some bots
    change only the color of a bar."""

    def visible(one: Mapping[str, Any]) -> tuple[str, list[str]]:
        bars = [bar for bar in one.get("attachments") or () if not bar.get("from_url")]
        return words_of({**one, "attachments": bars}), [str(bar.get("color")) for bar in bars]

    return visible(message) != visible(before)


def _incoming_message(
    event: Mapping[str, Any], *, bot_user: str, team: str, mentioned: bool, edited: bool = False
) -> IncomingMessage | None:
    ts, user = str(event.get("ts") or ""), str(event.get("user") or "")
    bot = str(event.get("bot_id") or "")
    if not ts or user == bot_user or not (user or bot):
        return None
    full_text = all_words_of(event)
    text = shorten(full_text)
    # Whom a forwarded message mentions is not asked.
    mentioned_users = mentions(words_of(own_part(event)))
    channel = str(event.get("channel") or "")
    channel_type = "im" if channel.startswith("D") else str(event.get("channel_type") or "channel")
    context = event.get("assistant_thread") or event.get("app_context") or {}
    return IncomingMessage(
        channel=channel,
        ts=ts,
        thread_ts=str(event.get("thread_ts") or ts),
        user=user,
        team=str(event.get("team") or event.get("user_team") or team),
        text=plain(text, bot_user=bot_user),
        channel_type=channel_type,
        mentioned=mentioned or bot_user in mentioned_users or channel_type in {"im", "app_home"},
        others_mentioned=bool(mentioned_users - {bot_user}),
        bot=bot,
        app=str(event.get("app_id") or ""),
        **files_of(event),
        cut=text != full_text,
        edited=edited or bool(event.get("edited")),
        context_channel=_context_channel(context),
        action_token=str(event.get("action_token") or context.get("action_token") or "")[:1_000],
    )


def files_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Values of `IncomingMessage`'s `files` and `attached`, with those that are forwarded."""
    holders = (message, *(message.get("attachments") or ()))
    files = [file for holder in holders for file in holder.get("files") or ()]
    return {
        "files": tuple(str(f.get("title") or f.get("name") or "a file") for f in files),
        "attached": tuple(map(AttachedFile.of, files)),
    }


def _links(event: Mapping[str, Any]) -> LinksShared | None:
    """None for a link in a message that is still being written: its readers are unknown."""
    urls = [str(link.get("url") or "") for link in event.get("links") or ()]
    if event.get("source") == "composer" or not 0 < len(urls) <= MAX_LINKS:
        return None
    return LinksShared(
        channel=str(event.get("channel") or ""),
        ts=str(event.get("message_ts") or ""),
        user=str(event.get("user") or ""),
        urls=tuple(dict.fromkeys(urls)),
    )


def _pane(thread: Mapping[str, Any]) -> AssistantOpened | None:
    if not thread.get("channel_id"):
        return None
    return AssistantOpened(
        channel=str(thread["channel_id"]),
        thread_ts=str(thread.get("thread_ts") or ""),
        user=str(thread.get("user_id") or ""),
        context_channel=_context_channel(thread),
    )


def _home(event: Mapping[str, Any]) -> Event | None:
    """Newer apps receive the opened agent pane as the home's messages tab."""
    user = str(event.get("user") or "")
    if event.get("tab") == "messages":
        return AssistantOpened(
            channel=str(event.get("channel") or ""),
            thread_ts="",
            user=user,
            context_channel=_context_channel(event),
        )
    return AppHomeOpened(user=user) if event.get("tab") == "home" else None


def _context_channel(holder: Mapping[str, Any]) -> str:
    context = holder.get("context") or {}
    return str(context.get("channel_id") or "") if isinstance(context, Mapping) else ""


def _reaction(event: Mapping[str, Any]) -> ReactionAdded:
    item = event.get("item") or {}
    return ReactionAdded(
        channel=str(item.get("channel") or ""),
        ts=str(item.get("ts") or ""),
        user=str(event.get("user") or ""),
        reaction=str(event.get("reaction") or ""),
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any], str, str], Event | None]] = {
    "app_mention": lambda event, bot_user, team: _incoming_message(
        event, bot_user=bot_user, team=team, mentioned=True
    ),
    "message": lambda event, bot_user, team: _message(event, bot_user=bot_user, team=team),
    "assistant_thread_started": lambda event, *_: _pane(event.get("assistant_thread") or {}),
    "assistant_thread_context_changed": lambda event, *_: _pane(
        event.get("assistant_thread") or {}
    ),
    "app_home_opened": lambda event, *_: _home(event),
    "reaction_added": lambda event, *_: _reaction(event),
    "link_shared": lambda event, *_: _links(event),
}
"""Slack's event type → reader(event, bot user, team)."""
