"""Resolves who acts, in which domain and where; asks the rule of `index.permissions.acts`, and
refuses others."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from bot.access.directory import FAILED_SECONDS, PATIENCE, Channels, People
from bot.slack.client import SlackBusy, SlackClient, SlackUnsure
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.errors import PeopleUnknown
from index.permissions.acts import Act, Visitor, may


def act_of(event: IncomingMessage) -> Act:
    if event.bot:
        return Act.ALERT
    if event.direct:
        return Act.PANE if event.context_channel else Act.DIRECT_MESSAGE
    if event.key:
        return Act.OPTION
    if event.by_shortcut:
        return Act.SHORTCUT
    if event.mentioned:
        return Act.MENTION
    return Act.UNMENTIONED if event.starts_thread else Act.FOLLOW_UP


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


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where somebody acts on what is posted."""

    domain: Domain | None
    """None: removed since."""
    channel: str
    owner: str = ""
    is_private: bool = False
    """Only its owner sees it, as in a direct message."""


class Gate:
    """Raises SlackBusy or SlackUnsure where Slack can't be reached and no recent reply is cached;
    nobody gets access meanwhile."""

    def __init__(self, web: SlackClient, workspace_ids: frozenset[str]) -> None:
        """`workspace_ids`: see `bot.access.directory.People`."""
        self.people = People(web, workspace_ids)
        self.channels = Channels(web)

    def open_to(self, act: Act, user: str, domains: Iterable[Domain]) -> list[Domain]:
        """The domains in which this person may do this, in the same order."""
        visitor = Visitor(kind="bot") if act is Act.ALERT else self.people.member(user)
        return [one for one in domains if self._may(act, visitor, one)]

    def may_act(self, act: Act, user: str, place: Place) -> bool:
        """Whether this person may ask in the domain and sees what they act on."""
        if place.domain is None or not self.open_to(act, user, [place.domain]):
            return False
        return user == place.owner if place.is_private else self.may_see(user, place.channel)

    def by_address(self, address: str) -> Visitor:
        """See `index.permissions.acts.Directory`."""
        with _at_once():
            return self.people.member_by_email(address, patience=0.0)

    def by_account(self, user: str, teams: Set[str]) -> Visitor:
        """See `index.permissions.acts.Directory`."""
        with _at_once():
            return self.people.member_of(user, teams, patience=0.0)

    def admits(self, act: Act, visitor: Visitor, domain: Domain) -> bool:
        """See `index.permissions.acts.Directory`."""
        with _at_once():
            return self._may(act, visitor, domain, patience=0.0)

    def may_see(self, user: str, channel: str) -> bool:
        """Whether this person may read the channel's messages."""
        visitor = self.people.member(user)
        if visitor.kind not in ("member", "guest", "external"):
            return False
        is_colleague = visitor.kind == "member"
        return self.channels.has(channel, visitor) or (
            is_colleague and self.channels.is_public(channel)
        )

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
        kind = self.people.member(user).kind
        if kind in {"bot", "former"}:
            return ""
        if kind != "member":
            return UNKNOWN_TEXT if kind == "unknown" else OUTSIDER_TEXT
        places = ", ".join(f"<#{channel}>" for channel in self.public(domains))
        remedy = f"Join {places} and ask again." if places else "Ask a colleague to add you to one."
        return f"{NO_CHANNEL_TEXT} {remedy}"

    def _may(self, act: Act, visitor: Visitor, domain: Domain, patience: float = PATIENCE) -> bool:
        return may(
            act, domain, visitor, lambda channel: self.channels.has(channel, visitor, patience)
        )


@contextmanager
def _at_once() -> Iterator[None]:
    """Requests by HTTP don't wait for Slack. Raises PeopleUnknown."""
    try:
        yield
    except (SlackBusy, SlackUnsure) as error:
        log.warning("slack lookup failed, access denied", reason=str(error))
        wait = error.after if isinstance(error, SlackBusy) else 0.0
        raise PeopleUnknown(math.ceil(max(FAILED_SECONDS, min(wait, HOUR)))) from error


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
