"""Who is in which channel, and which channels anybody may join."""

from __future__ import annotations

from collections.abc import Set

import structlog

from bot.access.short_memory import PATIENCE, ShortMemory
from bot.slack.web import SlackRefused, Web

log = structlog.get_logger()

JUST_JOINED_SECONDS = 30.0
"""Somebody who is told to join a channel, and does, need not wait longer than this."""
PAGE = 999
"""Items a page: Slack takes less than 1,000."""
_PUBLIC, _SHARED = "public", "shared outside"
KINDS = ("public_channel,private_channel", "public_channel")
"""What to ask for: without `groups:read` Slack refuses the first, and tells the second."""


class Channels:
    """Membership, remembered for some minutes. What Slack won't say is closed.

    Slack is asked about the person, in one call whatever number of channels there are and however
    large they are. Of people of other organisations it knows the membership by channel alone."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._of_person = ShortMemory(self._shared_with)
        self._members = ShortMemory(self._all_members)
        self._signs = ShortMemory(self._known_of)

    def holds(self, channel: str, user: str, patience: float = PATIENCE) -> bool:
        """Whether this colleague or guest is in it; the bot has to be as well, if it is private.

        Raises SlackBusy or SlackUnsure when nobody can tell."""
        return _found(self._of_person, user, channel, patience)

    def holds_outsider(self, channel: str, user: str, patience: float = PATIENCE) -> bool:
        """The same of somebody of another organisation."""
        return _found(self._members, channel, user, patience)

    def is_public(self, channel: str) -> bool:
        """Whether any colleague may see and join it. Raises as `holds` does."""
        return _PUBLIC in (self._signs.get(channel) or ())

    def is_shared_outside(self, channel: str) -> bool:
        """Whether people of other organisations read it, by Slack Connect. What Slack won't say is
        taken for shared. Raises as `holds` does."""
        signs = self._signs.get(channel)
        return signs is None or _SHARED in signs

    def _shared_with(self, user: str, patience: float) -> Set[str] | None:
        for kinds in KINDS:
            try:
                shared = self._web.pages(
                    "users.conversations",
                    "channels",
                    patience=patience,
                    limit=PAGE,
                    user=user,
                    types=kinds,
                    exclude_archived=True,
                )
                return frozenset(str(channel["id"]) for channel in shared)
            except SlackRefused as refused:
                self._tell_operators("what somebody is a member of", refused)
                if refused.code != "missing_scope":
                    break
        return None

    def _all_members(self, channel: str, patience: float) -> Set[str] | None:
        try:
            return frozenset(
                self._web.pages(
                    "conversations.members",
                    "members",
                    patience=patience,
                    limit=PAGE,
                    channel=channel,
                )
            )
        except SlackRefused as refused:
            self._tell_operators(f"who is in {channel}", refused)
            return None

    def _known_of(self, channel: str, patience: float) -> Set[str] | None:
        try:
            reply = self._web.call("conversations.info", patience=patience, channel=channel)
        except SlackRefused as refused:
            self._tell_operators(f"whether {channel} is public", refused)
            return None
        shown = reply.get("channel") or {}
        public = shown.get("is_private") is False and not shown.get("is_archived")
        shared = shown.get("is_ext_shared") or shown.get("is_pending_ext_shared")
        return frozenset(({_PUBLIC} if public else set()) | ({_SHARED} if shared else set()))

    def _tell_operators(self, what: str, refused: SlackRefused) -> None:
        remedy = (
            "install the app again with the scopes of manifest.yaml"
            if refused.code == "missing_scope"
            else "invite the bot into every channel of the domain files, and correct wrong ids"
        )
        log.error("slack does not say, so it is closed", what=what, reason=refused.code, fix=remedy)


def _found(memory: ShortMemory[Set[str]], key: str, wanted: str, patience: float) -> bool:
    """A "no" is looked up again sooner than a "yes"."""
    if wanted in (memory.get(key, patience=patience) or ()):
        return True
    return wanted in (memory.get(key, within=JUST_JOINED_SECONDS, patience=patience) or ())
