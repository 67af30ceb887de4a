"""Decides who may ask which domain, by which entry point, and refuses others."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from enum import StrEnum

import structlog

from bot.access.directory import PATIENCE, Channels, People, Standing
from bot.slack.client import SlackBusy, SlackClient, SlackUnsure
from bot.slack.events import IncomingMessage
from config.domain import Domain


class EntryPoint(StrEnum):
    """A way to see something of a domain, or to act on it."""

    MENTION = "mention"
    UNMENTIONED = "unmentioned"
    """A question without a mention, where the domain file has those answered."""
    FOLLOW_UP = "follow_up"
    ALERT = "alert"
    """A bot that the domain file lists; `is_by_alert_bot` looks at the list."""
    DIRECT_MESSAGE = "direct_message"
    PANE = "pane"
    """A direct message from the agent pane; Slack names the channel next to it."""
    HOME = "home"
    SUGGESTED_PROMPTS = "suggested_prompts"
    SHORTCUT = "shortcut"
    OPTION = "option"
    """A button with one reading of an ambiguous question, which another person may have asked."""
    HAND_OFF = "hand_off"
    """Ask a human, I'll take it, Resolved."""
    REACTION = "reaction"
    LINK = "link"
    """A link to a document, posted for all of a channel to see."""
    API = "api"
    """An HTTP call on behalf of a person."""


POSTED_IN_CHANNEL = frozenset(
    {EntryPoint.MENTION, EntryPoint.UNMENTIONED, EntryPoint.FOLLOW_UP, EntryPoint.LINK}
)
"""Authors of channel messages are members: Slack lets no one else write. For the others membership
is checked: a button or a shortcut works from a channel's preview, too."""


def may_ask(
    entry_point: EntryPoint,
    domain: Domain,
    user: str,
    standing: Standing,
    is_in: Callable[[str], bool],
) -> bool:
    """`is_in`: whether the person is a member of a channel, by its id.

    Allowed are colleagues in one of the domain's channels; guests and people of other
    organizations only where the domain file allows it. A domain without channels is open to its
    admins only."""
    if entry_point is EntryPoint.ALERT:
        return True
    outsider = standing in {"guest", "external"} and domain.access.external
    if standing != "member" and not outsider:
        return False
    if entry_point in POSTED_IN_CHANNEL:
        return True
    if not domain.channels:
        return user in domain.admins and not outsider
    return any(is_in(channel) for channel in domain.channels)


def entry_point_of(event: IncomingMessage) -> EntryPoint:
    if event.bot:
        return EntryPoint.ALERT
    if event.direct:
        return EntryPoint.PANE if event.context_channel else EntryPoint.DIRECT_MESSAGE
    if event.key:
        return EntryPoint.OPTION
    if event.by_shortcut:
        return EntryPoint.SHORTCUT
    if event.mentioned:
        return EntryPoint.MENTION
    return EntryPoint.UNMENTIONED if event.starts_thread else EntryPoint.FOLLOW_UP


def is_by_alert_bot(event: IncomingMessage, domain: Domain) -> bool:
    """Compares ids of the bot, its app and its user; a workflow may have no user."""
    return bool(event.bot) and not {event.bot, event.app, event.user}.isdisjoint(
        domain.answer.alert_bots
    )


log = structlog.get_logger()

MAX_NAMED_CHANNELS = 10
MAX_NOTICES_PER_HOUR = 5
MAX_USERS = 10_000
HOUR = 3_600.0

OUTSIDER_TEXT = (
    "Sorry, I answer colleagues only: guests and people of other organisations are not let in "
    "here. Please ask one of them instead."
)
UNKNOWN_TEXT = (
    "Sorry, I can't tell who you are in Slack, so I can't answer. Please try again in a minute; "
    "if it stays like this, tell whoever runs me."
)
NO_CHANNEL_TEXT = (
    "I answer here from the documents of the help channels that you are a member of, and you are "
    "in none of them yet."
)


class Gate:
    """Raises SlackBusy or SlackUnsure where Slack can't be reached and no recent reply is cached;
    nobody gets access meanwhile."""

    def __init__(self, web: SlackClient, workspace_ids: frozenset[str]) -> None:
        """`workspace_ids`: see `bot.access.directory.People`."""
        self.people = People(web, workspace_ids)
        self.channels = Channels(web)

    def open_to(
        self, entry_point: EntryPoint, user: str, domains: Iterable[Domain]
    ) -> list[Domain]:
        """The domains that this person may ask by this entry point, in the same order."""
        standing: Standing = (
            "bot" if entry_point is EntryPoint.ALERT else self.people.member(user).standing
        )
        return [one for one in domains if self._may_ask(entry_point, one, user, standing)]

    def may_ask(self, email: str, domain: Domain) -> bool:
        """Whether the person with this address may ask the domain, as in a direct message.

        False as well while Slack can't be reached: an API call does not wait."""
        try:
            member = self.people.member_by_email(email, patience=0.0)
            user = member.person.slack_user
            return self._may_ask(EntryPoint.API, domain, user, member.standing, patience=0.0)
        except (SlackBusy, SlackUnsure) as error:
            log.warning("membership check failed, access denied", reason=str(error))
            return False

    def may_see(self, user: str, channel: str) -> bool:
        """Whether this person may read the channel's messages."""
        if self.channels.has_member(channel, user):
            return True
        is_colleague = self.people.member(user).standing == "member"
        return is_colleague and self.channels.is_public(channel)

    def public(self, domains: Iterable[Domain]) -> list[str]:
        """The domains' public channels, at most ten."""
        public: list[str] = []
        for channel in dict.fromkeys(name for domain in domains for name in domain.channels):
            if len(public) < MAX_NAMED_CHANNELS and self.channels.is_public(channel):
                public.append(channel)
        return public

    def why_not(self, user: str, domains: Iterable[Domain]) -> str:
        """The refusal for someone to whom none of the domains is open, with the remedy. It depends
        on the person only, never on the question; '' for bots and former members."""
        standing = self.people.member(user).standing
        if standing in {"bot", "gone"}:
            return ""
        if standing == "unknown":
            return UNKNOWN_TEXT
        if standing != "member":
            return OUTSIDER_TEXT
        places = ", ".join(f"<#{channel}>" for channel in self.public(domains))
        remedy = f"Join {places} and ask again." if places else "Ask a colleague to add you to one."
        return f"{NO_CHANNEL_TEXT} {remedy}"

    def _may_ask(
        self,
        entry_point: EntryPoint,
        domain: Domain,
        user: str,
        standing: Standing,
        patience: float = PATIENCE,
    ) -> bool:
        def is_in(channel: str) -> bool:
            outsider = standing == "external"
            check = self.channels.has_outsider if outsider else self.channels.has_member
            return check(channel, user, patience)

        return may_ask(entry_point, domain, user, standing, is_in)


class RefusalNotices:
    """Limits refusals: each person gets a few an hour, and one for each question.

    In memory only: nothing is stored about people who may not ask."""

    def __init__(self) -> None:
        self._by_user: OrderedDict[str, deque[tuple[float, str]]] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, user: str, question: str) -> bool:
        """Whether to send the refusal now; True counts as sent."""
        now = time.monotonic()
        with self._lock:
            sent = self._by_user.setdefault(user, deque(maxlen=MAX_NOTICES_PER_HOUR))
            self._by_user.move_to_end(user)
            if len(self._by_user) > MAX_USERS:
                self._by_user.popitem(last=False)
            recent = [one for one in sent if now - one[0] < HOUR]
            if len(recent) == MAX_NOTICES_PER_HOUR or any(one[1] == question for one in recent):
                return False
            sent.append((now, question))
            return True
