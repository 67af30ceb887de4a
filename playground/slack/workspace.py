"""What the workspace remembers: messages, threads, reactions, views. No protocol in here."""

from __future__ import annotations

import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from playground.slack import tidewater
from playground.slack.action_tokens import ActionTokens

Json = dict[str, Any]
PRIVATE_FIELDS = ("metadata", "stream")
"""Kept with a message, shown only on request."""


UNFURL_DOMAINS: tuple[str, ...] = ("docs.google.com", "drive.google.com", "127.0.0.1")
"""Slack takes no address of a machine; the last one is where the local stand-in for Google is."""
STATUS_LIFETIME = 120.0
"""Seconds until Slack takes a status away by itself."""


_Value = TypeVar("_Value")


def duplicate(value: _Value) -> _Value:
    """A copy that shares nothing. What Slack remembers came over the wire, and as JSON it is copied
    in a tenth of the time of `deepcopy`."""
    copy: _Value = json.loads(json.dumps(value))
    return copy


class SlackError(Exception):
    """A refusal as the Web API words it: `ok: false` with this error code."""

    def __init__(self, code: str, messages: list[str] | None = None, **details: str) -> None:
        super().__init__(code)
        self.code = code
        self.messages = messages or []
        self.details = details
        """Further fields of the answer, such as the scope that is `needed`."""


@dataclass(frozen=True, kw_only=True)
class WorkspaceChange:
    """Something happened; told to every listener, in order, under the workspace's lock."""

    kind: str
    """`posted`, `changed`, `deleted`, `streamed`, `ephemeral`, `reaction_added`,
    `reaction_removed`, `status`, `title`, `prompts`, `view`, `home`, `details`, `presence` or
    `guide`."""
    channel: str = ""
    message: Json = field(default_factory=dict)
    previous: Json = field(default_factory=dict)
    user: str = ""
    """Who did it, or the only one who may see it."""
    detail: Json = field(default_factory=dict)


class Workspace:
    """Thread-safe: every public method takes the lock; stored messages never leave uncopied."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.stream_lifetime = 300.0
        """Seconds until a stream ends by itself."""
        self.unfurl_domains = UNFURL_DOMAINS
        """Links to these are told to the app; none when its manifest names none."""
        self.work_objects = True
        """Whether the app's Work Object previews are switched on."""
        self.ai_search = False
        """Whether the workspace's plan searches by meaning."""
        self.action_tokens = ActionTokens(clock)
        self.details: dict[str, Json] = {}
        """Person → what the app last showed them of a Work Object."""
        self.unsupported: frozenset[str] = frozenset()
        """Types of blocks and chunks, or arguments, that this workspace lacks."""
        self.people = {person.id: person for person in tidewater.PEOPLE}
        self.groups = {group.id: group for group in tidewater.GROUPS}
        self.channels = {channel.id: channel for channel in tidewater.channels()}
        self.changed = threading.Condition(threading.RLock())
        self.statuses: dict[tuple[str, str], Json] = {}
        self.titles: dict[tuple[str, str], str] = {}
        self.prompts: dict[str, Json] = {}
        self._messages: dict[str, dict[str, Json]] = {name: {} for name in self.channels}
        self._ephemerals: dict[str, list[Json]] = {name: [] for name in self.channels}
        self._listeners: list[Callable[[WorkspaceChange], None]] = []
        self._last_ts = 0
        self._run = secrets.token_hex(5).upper()
        self._numbers = itertools.count(1)

    def listen(self, listener: Callable[[WorkspaceChange], None]) -> None:
        self._listeners.append(listener)

    def tell(self, change: WorkspaceChange) -> None:
        with self.changed:
            for listener in self._listeners:
                listener(change)
            self.changed.notify_all()

    def next_id(self, prefix: str) -> str:
        """A fresh id such as `Ev0B6F3A9C1D00A1`; unique also across restarts, as Slack's are: an
        app remembers events for days."""
        return f"{prefix}{self._run}{next(self._numbers):04X}"

    def next_ts(self) -> str:
        with self.changed:
            self._last_ts = max(self._last_ts + 1, int(self.clock() * 1_000_000))
            return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    # Conversations

    def channel(self, name: str) -> tidewater.Channel:
        """By id, `#name`, or the id of a person (their direct messages)."""
        if name in self.channels:
            return self.channels[name]
        for channel in self.channels.values():
            if name.lstrip("#") == channel.name or (channel.user and name == channel.user):
                return channel
        raise SlackError("channel_not_found")

    def add(self, channel: tidewater.Channel) -> None:
        """A conversation more."""
        with self.changed:
            self.channels[channel.id] = channel
            self._messages[channel.id], self._ephemerals[channel.id] = {}, []

    def direct(self, user: str) -> tidewater.Channel:
        if user not in self.people or self.people[user].bot_id:
            raise SlackError("user_not_found")
        return self.channel(user)

    # Who is where

    def welcome(self, person: tidewater.SlackUser, *channels: str) -> None:
        """Somebody new, or what is new about somebody, in these channels beside their own."""
        with self.changed:
            self.people[person.id] = person
            if not person.bot_id:
                self.add_channel(tidewater.direct(person.id))
            for channel in channels:
                self.channels[channel].members.add(person.id)

    def add_channel(self, channel: tidewater.Channel) -> None:
        """A conversation, unless there is one by this id."""
        with self.changed:
            if self.channels.setdefault(channel.id, channel) is channel:
                self._messages[channel.id], self._ephemerals[channel.id] = {}, []

    # Messages

    def post(self, channel: str, fields: Mapping[str, Any]) -> Json:
        """Store a message and tell everyone; `fields` is everything but `ts` and thread counts."""
        with self.changed:
            message = duplicate(dict(fields))
            message.setdefault("type", "message")
            message["ts"] = self.next_ts()
            if thread_ts := message.get("thread_ts"):
                message["thread_ts"] = self._count_reply(channel, thread_ts, message)
            self._messages[channel][message["ts"]] = message
            if message.get("bot_id"):
                self._clear_status(channel, message.get("thread_ts", ""))
            self.tell(WorkspaceChange(kind="posted", channel=channel, message=duplicate(message)))
            return duplicate(message)

    def whisper(self, channel: str, user: str, fields: Mapping[str, Any]) -> Json:
        """A message that only `user` sees; no method of the API returns it."""
        with self.changed:
            message = {**duplicate(dict(fields)), "ts": self.next_ts(), "ephemeral_to": user}
            self._ephemerals[channel].append(message)
            self._clear_status(channel, message.get("thread_ts", ""))
            self.tell(
                WorkspaceChange(
                    kind="ephemeral", channel=channel, message=duplicate(message), user=user
                )
            )
            return duplicate(message)

    def edit(self, channel: str, ts: str, fields: Mapping[str, Any], kind: str = "changed") -> Json:
        """Replace fields; a None removes one."""
        with self.changed:
            message = self._stored(channel, ts)
            previous = duplicate(message)
            for name, value in fields.items():
                message[name] = duplicate(value)
                if value is None:
                    del message[name]
            self.tell(
                WorkspaceChange(
                    kind=kind,
                    channel=channel,
                    message=duplicate(message),
                    previous=previous,
                )
            )
            return duplicate(message)

    def edit_whisper(self, channel: str, ts: str, fields: Mapping[str, Any] | None) -> None:
        """Replace or (None) remove an ephemeral message."""
        with self.changed:
            for message in [m for m in self._ephemerals[channel] if m["ts"] == ts]:
                user = message["ephemeral_to"]
                if fields is None:
                    self._ephemerals[channel].remove(message)
                    gone = WorkspaceChange(
                        kind="deleted", channel=channel, previous=message, user=user
                    )
                    self.tell(gone)
                else:
                    message.update(duplicate(dict(fields)))
                    self.tell(
                        WorkspaceChange(
                            kind="ephemeral",
                            channel=channel,
                            message=duplicate(message),
                            user=user,
                        )
                    )

    def delete(self, channel: str, ts: str) -> None:
        """A message with replies leaves a tombstone, so that its thread keeps a head."""
        with self.changed:
            message = self._stored(channel, ts)
            if message.get("reply_count"):
                gone = dict.fromkeys(("blocks", "attachments", "files", "reactions", "metadata"))
                tombstone = {"subtype": "tombstone", "text": "This message was deleted."}
                self.edit(channel, ts, {**gone, **tombstone, "user": "USLACKBOT", "hidden": True})
                return
            previous = self._messages[channel].pop(ts)
            if (thread_ts := previous.get("thread_ts")) and thread_ts != ts:
                self._uncount_reply(channel, thread_ts)
            self.tell(WorkspaceChange(kind="deleted", channel=channel, previous=previous))

    def react(self, channel: str, ts: str, name: str, user: str, *, add: bool = True) -> None:
        with self.changed:
            message = self._stored(channel, ts)
            reactions: list[Json] = message.setdefault("reactions", [])
            found = next((item for item in reactions if item["name"] == name), None)
            if add == bool(found and user in found["users"]):
                raise SlackError("already_reacted" if add else "no_reaction")
            if add:
                if found is None:
                    found = {"name": name, "users": [], "count": 0}
                    reactions.append(found)
                found["users"].append(user)
            elif found:
                found["users"].remove(user)
            for item in reactions:
                item["count"] = len(item["users"])
            message["reactions"] = [item for item in reactions if item["count"]]
            self.tell(
                WorkspaceChange(
                    kind="reaction_added" if add else "reaction_removed",
                    channel=channel,
                    message=duplicate(message),
                    user=user,
                    detail={"reaction": name},
                )
            )

    def message(self, channel: str, ts: str) -> Json:
        with self.changed:
            return duplicate(self._stored(channel, ts))

    def any_message(self, channel: str, ts: str) -> Json:
        """Also an ephemeral one, for a click on it."""
        with self.changed:
            for message in self._ephemerals[channel]:
                if message["ts"] == ts:
                    return duplicate(message)
            return self.message(channel, ts)

    def roots(self, channel: str) -> list[Json]:
        """Messages outside threads, and heads of threads; oldest first."""
        return [m for m in self.all(channel) if m.get("thread_ts", m["ts"]) == m["ts"]]

    def thread(self, channel: str, ts: str) -> list[Json]:
        """The head first, then replies, oldest first."""
        return [m for m in self.all(channel) if ts in (m["ts"], m.get("thread_ts"))]

    def all(self, channel: str) -> list[Json]:
        with self.changed:
            return duplicate(list(self._messages[channel].values()))

    def ephemerals(self, user: str) -> Iterator[tuple[str, Json]]:
        with self.changed:
            found = [
                (channel, duplicate(message))
                for channel, messages in self._ephemerals.items()
                for message in messages
                if message["ephemeral_to"] == user
            ]
        yield from found

    # What an agent says about itself

    def set_status(self, channel: str, thread_ts: str, detail: Json) -> None:
        with self.changed:
            if not detail["status"]:
                return self._clear_status(channel, thread_ts)
            self.statuses[channel, thread_ts] = {**detail, "since": self.clock()}
            shown = {**detail, "thread_ts": thread_ts}
            return self.tell(WorkspaceChange(kind="status", channel=channel, detail=shown))

    def status(self, channel: str, thread_ts: str) -> str:
        detail = self.statuses.get((channel, thread_ts))
        fresh = detail and self.clock() - detail["since"] < STATUS_LIFETIME
        return str(detail["status"]) if detail and fresh else ""

    def set_title(self, channel: str, thread_ts: str, title: str) -> None:
        with self.changed:
            self.titles[channel, thread_ts] = title
            detail = {"thread_ts": thread_ts, "title": title}
            self.tell(WorkspaceChange(kind="title", channel=channel, detail=detail))

    def set_prompts(self, channel: str, detail: Json) -> None:
        with self.changed:
            self.prompts[channel] = detail
            self.tell(WorkspaceChange(kind="prompts", channel=channel, detail=detail))

    def _clear_status(self, channel: str, thread_ts: str) -> None:
        if self.statuses.pop((channel, thread_ts), None) is not None:
            cleared = {"thread_ts": thread_ts, "status": ""}
            self.tell(WorkspaceChange(kind="status", channel=channel, detail=cleared))

    # Inside

    def _stored(self, channel: str, ts: str) -> Json:
        try:
            return self._messages[channel][ts]
        except KeyError as error:
            raise SlackError("message_not_found") from error

    def _count_reply(self, channel: str, thread_ts: str, reply: Json) -> str:
        head = self._messages[channel].get(thread_ts)
        if head is None:
            raise SlackError("thread_not_found")
        if (root := head.get("thread_ts", thread_ts)) != thread_ts:
            return self._count_reply(channel, root, reply)
        users = [*dict.fromkeys([*head.get("reply_users", []), reply.get("user", "")])]
        head.update(
            thread_ts=thread_ts,
            reply_count=head.get("reply_count", 0) + 1,
            reply_users=users,
            reply_users_count=len(users),
            latest_reply=reply["ts"],
        )
        return thread_ts

    def _uncount_reply(self, channel: str, thread_ts: str) -> None:
        head = self._messages[channel].get(thread_ts)
        if head:
            left = [m for m in self._messages[channel].values() if m.get("thread_ts") == thread_ts]
            head["reply_count"] = len(left) - 1
