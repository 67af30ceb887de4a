"""People of every standing, and channels of every kind, for a workspace to be peopled with."""

from __future__ import annotations

from playground.slack.tidewater import BOT_USER_ID, Channel, SlackUser
from playground.slack_stand_in import SlackStandIn

PUBLIC, PRIVATE = "C0TEA", "C0VAULT"
MEMBER, COLLEAGUE, GUEST, PARTNER, FORMER = "U0MAY", "U0COL", "U0GUEST", "U0PARTNER", "U0FORMER"
"""FORMER has been in both channels and was deactivated; COLLEAGUE is in neither."""


def _person(user: str, **more: str | bool) -> SlackUser:
    handle = user.removeprefix("U0").lower()
    return SlackUser(id=user, handle=handle, name=handle.title(), title="", **more)  # type: ignore[arg-type]


CROWD = (
    _person(MEMBER),
    _person(COLLEAGUE),
    _person(GUEST, guest="multi_channel"),
    _person(PARTNER, team_id="T0ELSEWHERE"),
    _person(FORMER, deleted=True),
)


def gather(slack: SlackStandIn, bot: str = BOT_USER_ID) -> None:
    """All but COLLEAGUE are in the public channel and, but for the bot, in the private one."""
    for channel, kind in ((PUBLIC, "channel"), (PRIVATE, "group")):
        slack.workspace.add_channel(
            Channel(id=channel, name=channel.lower(), kind=kind, members={bot})
        )
    for person in CROWD:
        inside = () if person.id == COLLEAGUE else (PUBLIC, PRIVATE)
        slack.workspace.welcome(person, *inside)


def leave(slack: SlackStandIn, user: str, *channels: str) -> None:
    for channel in channels:
        slack.workspace.channels[channel].members.discard(user)


def direct(user: str) -> str:
    """Their conversation with the bot."""
    return f"D{user[1:]}"
