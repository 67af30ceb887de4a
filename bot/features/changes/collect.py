"""Collects what changed around an alert: messages of change channels, and edited documents.

Nothing of them is stored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import Literal

import structlog

from agents.alerts.alert import Alert
from agents.alerts.lines import clean, lines_of
from agents.alerts.reader import alerts_in
from bot.access.gate import is_by_alert_bot
from bot.feature import FeatureContext
from bot.features.changes.names import NameFinder, SystemName, distinguishing, systems_of
from bot.features.changes.views import MAX_LINES, ChangeLine, Changes, ChannelCount
from bot.showing import Showing
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.events import IncomingMessage, read
from bot.slack.messages import Message, all_words_of, is_own
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway
from index.search import Snapshot

log = structlog.get_logger()

MAX_MESSAGES = 1_000
"""Of a channel, the newest; at one page of 200 in a second or so."""
PATIENCE = 60.0
"""Seconds; then the inbox tries again later."""
_POSTED = {"", "bot_message", "file_share", "me_message", "thread_broadcast"}
"""Subtypes of what people and bots post; others say who joined, or what the topic is."""

Access = Literal["read", "not_in_channel", "refused"]


@dataclass(frozen=True, kw_only=True)
class ChangeMessage:
    channel: str
    ts: str
    user: str
    """Slack id; empty for some bots."""
    bot: str
    """A bot's name, where the message has one."""
    lines: tuple[str, ...]
    """Of all that it shows, with links' addresses; never empty."""

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(float(self.ts), UTC)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def headline(self, is_naming: Callable[[str], bool]) -> str:
        """Its first line, and the first that names a system, without addresses."""
        lines = list(map(clean, self.lines))
        naming = next(filter(is_naming, lines), lines[0])
        return naming if naming == lines[0] else f"{lines[0]} … {naming}"


@dataclass(frozen=True, kw_only=True)
class AlertPost:
    at: datetime
    alerts: Sequence[Alert]


@dataclass(frozen=True, kw_only=True)
class ChannelHistory:
    """A change channel in a span of time."""

    channel: str
    access: Access = "read"
    messages: Sequence[ChangeMessage] = ()
    """Newest first."""
    is_cut: bool = False
    """There are older ones in the span, beyond `MAX_MESSAGES`."""


def history_of(
    web: SlackClient, domain: Domain, channel: str, since: datetime, until: datetime
) -> ChannelHistory:
    """Raises SlackBusy or SlackUnsure."""
    pages = web.pages(
        "conversations.history", "messages", channel=channel, patience=PATIENCE, inclusive=True,
        oldest=f"{since.timestamp():.6f}", latest=f"{until.timestamp():.6f}",
    )  # fmt: skip
    try:
        messages = list(islice(pages, MAX_MESSAGES + 1))
    except SlackRefused as refused:
        log.warning("a change channel can't be read", channel=channel, reason=refused.code)
        access: Access = "not_in_channel" if refused.code == "not_in_channel" else "refused"
        return ChannelHistory(channel=channel, access=access)
    changes = (_change(web, domain, channel, one) for one in messages[:MAX_MESSAGES])
    return ChannelHistory(
        channel=channel, messages=list(filter(None, changes)), is_cut=len(messages) > MAX_MESSAGES
    )


def _change(
    web: SlackClient, domain: Domain, channel: str, message: Message
) -> ChangeMessage | None:
    """None for the bot's own messages, for alerts, and for what Slack posts by itself."""
    own = is_own(message, web.bot_user) or message.get("bot_id") == web.bot_id
    lines = tuple(lines_of(all_words_of(message)))
    if own or str(message.get("subtype") or "") not in _POSTED or not lines:
        return None
    posts = alerts_of(web, domain, channel, [message])
    if any(alert.certain for post in posts for alert in post.alerts):
        return None
    profile = message.get("bot_profile") or {}
    return ChangeMessage(
        channel=channel, ts=str(message["ts"]), user=str(message.get("user") or ""), lines=lines,
        bot=str(message.get("username") or profile.get("name") or ""),
    )  # fmt: skip


def alerts_of(
    web: SlackClient, domain: Domain, channel: str, messages: Sequence[Message]
) -> Iterator[AlertPost]:
    """The alerts that the domain's alert bots posted."""
    for message in messages:
        event = {**message, "type": "message", "channel": channel}
        posted = read(event, bot_user=web.bot_user, team="")
        if not isinstance(posted, IncomingMessage) or not is_by_alert_bot(posted, domain):
            continue
        if alerts := alerts_in(posted.text, by_bot=True):
            yield AlertPost(at=posted.sent_at, alerts=alerts)


COPIED = timedelta(minutes=1)
"""Within this time the files of one copy get their dates."""


@dataclass(frozen=True, kw_only=True)
class Span:
    since: datetime
    until: datetime
    alert_at: datetime


@dataclass(frozen=True)
class ChangeCollector:
    """What changed in one span. Raises SlackBusy or SlackUnsure."""

    context: FeatureContext
    domain: Domain
    alerts: Sequence[AlertPost]
    span: Span
    showing: Showing
    """To all who read the alert's channel."""

    def changes(self) -> Changes:
        telling, texts = self._telling, {one.key: one.text for one in self._names}
        named = [one for one, keys in self._found.items() if keys & telling]
        lines = [*map(self._line, named), *self._documents()]
        lines.sort(key=lambda one: one.at, reverse=True)
        documents = (one.document for one in lines[:MAX_LINES] if one.document)
        self.showing.note(self.domain.domain, documents)
        read = [one for one in self._histories if one.access == "read"]
        not_joined = [one.channel for one in self._histories if one.access == "not_in_channel"]
        return Changes(
            since=self.span.since,
            until=self.span.until,
            alert_at=self.span.alert_at,
            names=[text for key, text in texts.items() if key in telling],
            common=[text for key, text in texts.items() if key not in telling],
            lines=lines,
            channels=[_count(one, set(named)) for one in read],
            not_joined=not_joined,
            closed=len(self._channels) - len(read) - len(not_joined),
            documents=self._snapshot is not None,
        )

    @cached_property
    def _snapshot(self) -> Snapshot | None:
        """What everyone in the channel may read; None where that can't be known."""
        try:
            snapshot = self.context.channel_snapshot(self.domain)
            len(snapshot.documents)  # asks who may read them
            return snapshot
        except DatabaseAway:
            raise  # the inbox tries again
        except CopilotError:
            return None

    @cached_property
    def _names(self) -> tuple[SystemName, ...]:
        alerts = [alert for post in self.alerts for alert in post.alerts]
        snapshot = self._snapshot
        return systems_of(
            alerts, self.domain.glossary, lambda keys: snapshot.named(keys) if snapshot else ()
        )

    @cached_property
    def _channels(self) -> list[str]:
        return list(dict.fromkeys(self.domain.sources.change_channels))

    @cached_property
    def _histories(self) -> list[ChannelHistory]:
        """Of the channels that everyone here may read."""
        since, until = self.span.since, self.span.until
        return [
            history_of(self.context.web, self.domain, one, since, until)
            for one in self._channels
            if self.showing.reader.sees(one)
        ]

    @cached_property
    def _find(self) -> NameFinder:
        return NameFinder(self._names)

    @cached_property
    def _found(self) -> Mapping[ChangeMessage, frozenset[str]]:
        """Keys of the names in each message."""
        messages = (one for history in self._histories for one in history.messages)
        return {one: self._find(one.text) for one in messages}

    @cached_property
    def _telling(self) -> frozenset[str]:
        return distinguishing(self._names, list(self._found.values()))

    def _names_one(self, text: str) -> bool:
        return bool(self._find(text) & self._telling)

    def _line(self, message: ChangeMessage) -> ChangeLine:
        team_url = self.context.identity.team_url
        place = f"{team_url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
        return ChangeLine(
            at=message.at,
            label=message.headline(self._names_one),
            url=place if team_url else "",
            by=message.bot,
            user=message.user,
        )

    def _documents(self) -> Iterator[ChangeLine]:
        """Documents last edited in the span that name one of the systems."""
        if (snapshot := self._snapshot) is None:
            return
        dated = {one.id: at for one in snapshot.documents.values() if (at := _utc(one.modified_at))}
        for card in snapshot.cards(_edited(dated, self.span)):
            texts = (card.title, *(chunk.text for chunk in snapshot.chunks(card.id)))
            is_open = self.showing.reader.reads(self.domain.domain, (card.id,))
            if is_open and any(map(self._names_one, texts)):
                yield ChangeLine(
                    at=dated[card.id], label=card.title, url=card.url, document=card.id
                )


def _edited(dated: Mapping[str, datetime], span: Span) -> Iterator[str]:
    """Documents with a date in the span. A minute in which most documents changed is that of a
    copy: a checkout gives each file a new date."""
    times = sorted(dated.values())
    for document, at in dated.items():
        together = bisect_right(times, at + COPIED) - bisect_left(times, at - COPIED)
        if span.since <= at <= span.until and together <= max(1, len(times) / 2):
            yield document


def _utc(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at


def _count(history: ChannelHistory, named: set[ChangeMessage]) -> ChannelCount:
    others = sum(one not in named for one in history.messages)
    oldest = history.messages[-1].at if history.is_cut and history.messages else None
    return ChannelCount(channel=history.channel, others=others, read_back_to=oldest)
