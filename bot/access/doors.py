"""Who may ask what, by which door. Pure: the facts are looked up by `gate`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from bot.access.people import Standing
from bot.slack.event import Asked
from config.domain import Domain


class Door(StrEnum):
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


WRITTEN_THERE = frozenset({Door.MENTION, Door.UNMENTIONED, Door.FOLLOW_UP, Door.LINK})
"""Who writes in a channel is in it: Slack lets nobody else. Everywhere else membership is looked
up: a button and a shortcut can be used from a channel's preview."""


def may_ask(
    door: Door,
    domain: Domain,
    user: str,
    standing: Standing,
    is_in: Callable[[str], bool],
) -> bool:
    """`is_in`: whether the person is a member of a channel, by its id.

    Colleagues who are in one of the domain's channels; guests and people of other organisations
    only where the domain says so. A domain without channels is its admins' alone."""
    if door is Door.ALERT:
        return True
    outsider = standing in {"guest", "external"} and domain.access.external
    if standing != "member" and not outsider:
        return False
    if door in WRITTEN_THERE:
        return True
    if not domain.channels:
        return user in domain.admins and not outsider
    return any(is_in(channel) for channel in domain.channels)


def door_of(event: Asked) -> Door:
    """The door that a question came in by."""
    if event.bot:
        return Door.ALERT
    if event.direct:
        return Door.PANE if event.context_channel else Door.DIRECT_MESSAGE
    if event.key:
        return Door.OPTION
    if event.by_shortcut:
        return Door.SHORTCUT
    if event.mentioned:
        return Door.MENTION
    return Door.UNMENTIONED if event.starts_thread else Door.FOLLOW_UP


def is_by_alert_bot(event: Asked, domain: Domain) -> bool:
    """Of the list, by the id of its bot, its app, or its user; a workflow may have no user."""
    return bool(event.bot) and not {event.bot, event.app, event.user}.isdisjoint(
        domain.answer.alert_bots
    )
