"""The facts behind `doors`, from Slack; and a word for who is not let in.

Who may ask what, by which door. Pure: the facts are looked up by `gate`."""

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
    """A way in which somebody gets to see something of a domain, or to act on it."""

    MENTION = "mention"
    UNMENTIONED = "unmentioned"
    """A question that nobody put to the bot, where the domain file wants those answered."""
    FOLLOW_UP = "follow_up"
    ALERT = "alert"
    """A bot that the domain file lists; `is_by_alert_bot` looks at the list."""
    DIRECT_MESSAGE = "direct_message"
    PANE = "pane"
    """A direct message that comes with the channel beside the pane, as the client tells it."""
    HOME = "home"
    SUGGESTED_PROMPTS = "suggested_prompts"
    SHORTCUT = "shortcut"
    OPTION = "option"
    """A button that asks one reading of an ambiguous question, perhaps another person's."""
    HAND_OFF = "hand_off"
    """Ask a human, I'll take it, Resolved."""
    REACTION = "reaction"
    LINK = "link"
    """A link to a document, posted for all of a channel to see."""
    API = "api"
    """An HTTP call in the name of a person."""


WRITTEN_THERE = frozenset(
    {EntryPoint.MENTION, EntryPoint.UNMENTIONED, EntryPoint.FOLLOW_UP, EntryPoint.LINK}
)
"""Who writes in a channel is in it: Slack lets nobody else. Everywhere else membership is looked
up: a button and a shortcut can be used from a channel's preview."""


def may_ask(
    door: EntryPoint,
    domain: Domain,
    user: str,
    standing: Standing,
    is_in: Callable[[str], bool],
) -> bool:
    """`is_in`: whether the person is a member of a channel, by its id.

    Colleagues who are in one of the domain's channels; guests and people of other organisations
    only where the domain says so. A domain without channels is its admins' alone."""
    if door is EntryPoint.ALERT:
        return True
    outsider = standing in {"guest", "external"} and domain.access.external
    if standing != "member" and not outsider:
        return False
    if door in WRITTEN_THERE:
        return True
    if not domain.channels:
        return user in domain.admins and not outsider
    return any(is_in(channel) for channel in domain.channels)


def door_of(event: IncomingMessage) -> EntryPoint:
    """The door that a question came in by."""
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
    """Of the list, by the id of its bot, its app, or its user; a workflow may have no user."""
    return bool(event.bot) and not {event.bot, event.app, event.user}.isdisjoint(
        domain.answer.alert_bots
    )


log = structlog.get_logger()

MOST_NAMED = 10
TOLD_PER_HOUR = 5
MOST_TOLD = 10_000
HOUR = 3_600.0

OUTSIDER = (
    "Sorry, I answer colleagues only: guests and people of other organisations are not let in "
    "here. Please ask one of them instead."
)
STRANGER = (
    "Sorry, I can't tell who you are in Slack, so I can't answer. Please try again in a minute; "
    "if it stays like this, tell whoever runs me."
)
NOWHERE = (
    "I answer here from the documents of the help channels that you are a member of, and you are "
    "in none of them yet."
)


class Gate:
    """Raises SlackBusy or SlackUnsure where Slack can't be reached and nothing recent is known;
    nobody is let in meanwhile."""

    def __init__(self, web: SlackClient, ours: frozenset[str]) -> None:
        """`ours`: see `bot.access.directory.People`."""
        self.people = People(web, ours)
        self.channels = Channels(web)

    def open_to(self, door: EntryPoint, user: str, domains: Iterable[Domain]) -> list[Domain]:
        """Those of the domains that this person may ask by this door, in the same order."""
        standing: Standing = "bot" if door is EntryPoint.ALERT else self.people.known(user).standing
        return [one for one in domains if self._may_ask(door, one, user, standing)]

    def may_ask(self, email: str, domain: Domain) -> bool:
        """Whether this address is of a person who may ask this domain, as in a direct message.

        False as well while Slack can't be reached: an API's caller waits for nobody."""
        try:
            known = self.people.known_by_email(email, patience=0.0)
            user = known.person.slack_user
            return self._may_ask(EntryPoint.API, domain, user, known.standing, patience=0.0)
        except (SlackBusy, SlackUnsure) as error:
            log.warning("nobody can tell who may ask: closed", reason=str(error))
            return False

    def may_see(self, user: str, channel: str) -> bool:
        """Whether what stands in a channel is this person's to read."""
        if self.channels.holds(channel, user):
            return True
        is_colleague = self.people.known(user).standing == "member"
        return is_colleague and self.channels.is_public(channel)

    def public(self, domains: Iterable[Domain]) -> list[str]:
        """The domains' channels that every colleague may know of, at most ten."""
        found: list[str] = []
        for channel in dict.fromkeys(name for domain in domains for name in domain.channels):
            if len(found) < MOST_NAMED and self.channels.is_public(channel):
                found.append(channel)
        return found

    def why_not(self, user: str, domains: Iterable[Domain]) -> str:
        """For somebody to whom none of the domains is open: why, and what to do. It depends on
        the person alone, never on what was asked; '' where nobody would hear it."""
        standing = self.people.known(user).standing
        if standing in {"bot", "gone"}:
            return ""
        if standing == "unknown":
            return STRANGER
        if standing != "member":
            return OUTSIDER
        places = ", ".join(f"<#{channel}>" for channel in self.public(domains))
        remedy = f"Join {places} and ask again." if places else "Ask a colleague to add you to one."
        return f"{NOWHERE} {remedy}"

    def _may_ask(
        self,
        door: EntryPoint,
        domain: Domain,
        user: str,
        standing: Standing,
        patience: float = PATIENCE,
    ) -> bool:
        def is_in(channel: str) -> bool:
            outsider = standing == "external"
            holds = self.channels.holds_outsider if outsider else self.channels.holds
            return holds(channel, user, patience)

        return may_ask(door, domain, user, standing, is_in)


class Told:
    """Who was turned away lately: each person hears it a few times an hour, once a question.

    In memory alone: nothing is kept of people who may not ask."""

    def __init__(self) -> None:
        self._lately: OrderedDict[str, deque[tuple[float, str]]] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, user: str, question: str) -> bool:
        """Whether to tell them now; from then on they were told."""
        now = time.monotonic()
        with self._lock:
            told = self._lately.setdefault(user, deque(maxlen=TOLD_PER_HOUR))
            self._lately.move_to_end(user)
            if len(self._lately) > MOST_TOLD:
                self._lately.popitem(last=False)
            recent = [one for one in told if now - one[0] < HOUR]
            if len(recent) == TOLD_PER_HOUR or any(one[1] == question for one in recent):
                return False
            told.append((now, question))
            return True
