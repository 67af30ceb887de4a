"""What a Slack event asks of the bot: read once, from the raw payload, without touching Slack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agents.answer import bounded
from bot.slack.messages import all_words_of, mentions, plain, words_of


@dataclass(frozen=True, kw_only=True)
class AttachedFile:
    """A file of a message, as Slack tells of it."""

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""
    """Asks for the bot's token."""
    needs_a_look: bool = False
    """Only `files.info` tells more."""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> AttachedFile:
        size = told.get("size")
        return cls(
            id=str(told.get("id") or ""),
            name=str(told.get("title") or told.get("name") or "a file")[:80],
            media_type=str(told.get("mimetype") or ""),
            size=size if isinstance(size, int) else 0,
            url=str(told.get("url_private_download") or told.get("url_private") or ""),
            needs_a_look=told.get("file_access") == "check_file_info",
        )

    @property
    def is_picture(self) -> bool:
        """By what Slack says; its bytes decide."""
        return self.media_type.startswith("image/") or self.needs_a_look


@dataclass(frozen=True, kw_only=True)
class IncomingMessage:
    """Somebody wrote something that may be a question."""

    channel: str
    ts: str
    thread_ts: str
    """The thread's root, which is the message itself when it starts one."""
    user: str
    team: str
    text: str
    """Plain words; the bot's own mention dropped."""
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
    """The same with all that is known of them."""
    cut: bool = False
    """`text` is only the two ends of what was written."""
    edited: bool = False
    context_channel: str = ""
    """The channel the asker came from, in the agent pane."""
    key: str = ""
    """Tells apart questions that are not messages of their own: a chosen option."""
    by_shortcut: bool = False
    """The message may be another person's; who asks picked it."""
    lead: str = ""
    """Said above the answer, where it isn't plain what was asked."""
    domain: str = ""
    """Chosen by its asker; empty where nobody named one."""
    again: str = ""
    """Id of the question whose words are asked again, of the domain that was chosen for them."""
    action_token: str = field(default="", repr=False)
    """By which Slack may be searched with the asker's own permissions, for a short while."""

    @classmethod
    def stored(cls, kept: Mapping[str, Any]) -> IncomingMessage:
        """From its JSON, without what a newer release knows of it besides."""
        known = {name: kept[name] for name in cls.__dataclass_fields__ if name in kept}
        attached = tuple(AttachedFile(**one) for one in known.get("attached", ()))
        return cls(**{**known, "files": tuple(known.get("files", ())), "attached": attached})

    @property
    def id(self) -> str:
        """A message is one question, however many events tell about it."""
        return f"{self.channel}:{self.key or self.ts}"

    @property
    def sent_at(self) -> datetime:
        """UTC, by Slack's clock."""
        try:
            return datetime.fromtimestamp(float(self.ts), UTC)
        except (ValueError, OverflowError, OSError):
            return datetime.now(UTC)

    @property
    def waited(self) -> float | None:
        """Seconds that its asker has waited; None where the message is older than the question."""
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
    """A message is gone."""

    channel: str
    ts: str

    @property
    def id(self) -> str:
        return f"{self.channel}:{self.ts}"


@dataclass(frozen=True, kw_only=True)
class AssistantOpened:
    """Somebody opened the agent pane or the bot's messages tab."""

    channel: str
    thread_ts: str
    user: str
    context_channel: str = ""


@dataclass(frozen=True, kw_only=True)
class LinksShared:
    """A message was posted that holds links which the app has asked to hear of."""

    channel: str
    ts: str
    user: str
    urls: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AppHomeOpened:
    user: str


@dataclass(frozen=True, kw_only=True)
class ReactionAdded:
    """Somebody reacted to a message."""

    channel: str
    ts: str
    user: str
    reaction: str


Event = (
    IncomingMessage | MessageDeleted | AssistantOpened | AppHomeOpened | ReactionAdded | LinksShared
)

MOST_LINKS = 5
"""Of one message; whoever posts more wants no previews."""

_QUESTIONS = {"", "thread_broadcast", "file_share", "bot_message", "me_message"}


def read(event: Mapping[str, Any], *, bot_user: str, team: str) -> Event | None:
    """The event's meaning; None for everything that asks nothing of the bot."""
    reader = _READERS.get(str(event.get("type")))
    return reader(event, bot_user, team) if reader else None


def _message(event: Mapping[str, Any], *, bot_user: str, team: str) -> Event | None:
    channel = str(event.get("channel") or "")
    subtype = str(event.get("subtype") or "")
    if subtype == "message_changed":
        return _changed(event, channel=channel, bot_user=bot_user, team=team)
    if subtype == "message_deleted":
        gone = event.get("deleted_ts") or (event.get("previous_message") or {}).get("ts")
        return MessageDeleted(channel=channel, ts=str(gone or ""))
    if subtype not in _QUESTIONS:
        return None
    return _asked(event, bot_user=bot_user, team=team, mentioned=False)


def _changed(event: Mapping[str, Any], *, channel: str, bot_user: str, team: str) -> Event | None:
    """An edit by the author; Slack also reports unfurled links and new replies as changes."""
    message, before = event.get("message") or {}, event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":
        return MessageDeleted(channel=channel, ts=str(message.get("ts") or ""))
    is_bot = bool(message.get("bot_id"))
    if not (_rewritten(message, before) if is_bot else _edited(message, before)):
        return None
    inner = {**message, "channel": channel, "channel_type": event.get("channel_type")}
    return _asked(inner, bot_user=bot_user, team=team, mentioned=False, edited=True)


def _edited(message: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return bool(message.get("edited")) and words_of(message) != words_of(before)


def _rewritten(message: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """By the bot that wrote it: Slack marks as edited only what was changed as text, and some bots
    change nothing but the colour of a bar."""

    def shown(one: Mapping[str, Any]) -> tuple[str, list[str]]:
        bars = [bar for bar in one.get("attachments") or () if not bar.get("from_url")]
        return words_of({**one, "attachments": bars}), [str(bar.get("color")) for bar in bars]

    return shown(message) != shown(before)


def _asked(
    event: Mapping[str, Any], *, bot_user: str, team: str, mentioned: bool, edited: bool = False
) -> IncomingMessage | None:
    ts, user = str(event.get("ts") or ""), str(event.get("user") or "")
    bot = str(event.get("bot_id") or "")
    if not ts or user == bot_user or not (user or bot):
        return None
    written = all_words_of(event)
    text = bounded(written)
    named = mentions(text)
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
        mentioned=mentioned or bot_user in named or channel_type in {"im", "app_home"},
        others_mentioned=bool(named - {bot_user}),
        bot=bot,
        app=str(event.get("app_id") or ""),
        **files_of(event),
        cut=text != written,
        edited=edited or bool(event.get("edited")),
        context_channel=_context_channel(context),
        action_token=str(event.get("action_token") or context.get("action_token") or "")[:1_000],
    )


def files_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """`files` and `attached` of what was asked with this message."""
    told = message.get("files") or ()
    return {
        "files": tuple(str(f.get("title") or f.get("name") or "a file") for f in told),
        "attached": tuple(map(AttachedFile.of, told)),
    }


def _links(event: Mapping[str, Any]) -> LinksShared | None:
    """None for a link that is still being composed: nobody knows who will read it."""
    urls = [str(link.get("url") or "") for link in event.get("links") or ()]
    if event.get("source") == "composer" or not 0 < len(urls) <= MOST_LINKS:
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
    """Newer apps hear of the opened agent pane as the home's messages tab."""
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
    "app_mention": lambda event, bot_user, team: _asked(
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
