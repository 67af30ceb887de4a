"""Who somebody is: a colleague, a guest, somebody from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from bot.access.short_memory import PATIENCE, ShortMemory
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web
from index.permissions.rules import Person

log = structlog.get_logger()

Standing = Literal["member", "guest", "external", "bot", "gone", "unknown"]
"""`external`: of another organisation, by Slack Connect. `unknown`: Slack won't say."""


@dataclass(frozen=True, kw_only=True)
class Acquaintance:
    """Somebody, as Slack knows them."""

    person: Person
    standing: Standing
    time_zone: str = "UTC"
    """As their Slack shows the time; IANA."""


class People:
    """Slack's users, remembered for some minutes.

    `ours`: ids of this workspace and, on Enterprise Grid, of its organisation."""

    def __init__(self, web: Web, ours: frozenset[str]) -> None:
        self._web = web
        self._ours = ours
        self._by_id = ShortMemory(self._user)
        self._by_email = ShortMemory(self._user_of_email)

    def known(self, user: str) -> Acquaintance:
        """Raises SlackBusy or SlackUnsure when Slack can't be reached."""
        found = self._by_id.get(user) if user else None
        return found or Acquaintance(person=Person(slack_user=user), standing="unknown")

    def person(self, user: str) -> Person:
        """Without an address when Slack won't say, which opens nothing."""
        return self.known(user).person

    def time_zone(self, user: str) -> str:
        """UTC where Slack doesn't say, or can't be reached: no answer waits for it."""
        try:
            return self.known(user).time_zone
        except (SlackBusy, SlackUnsure):
            return "UTC"

    def known_by_email(self, email: str, patience: float = PATIENCE) -> Acquaintance:
        """Unknown when nobody has this address. Raises as `known` does."""
        address = email.strip().casefold()
        found = self._by_email.get(address, patience=patience) if address else None
        return found or Acquaintance(person=Person(email=email), standing="unknown")

    def _user(self, user: str, patience: float) -> Acquaintance | None:
        return self._looked_up("users.info", patience, user=user)

    def _user_of_email(self, email: str, patience: float) -> Acquaintance | None:
        return self._looked_up("users.lookupByEmail", patience, email=email)

    def _looked_up(self, method: str, patience: float, **whom: str) -> Acquaintance | None:
        try:
            user = self._web.call(method, patience=patience, **whom).get("user")
        except SlackRefused as refused:
            log.warning("slack does not say who somebody is", method=method, reason=refused.code)
            return None
        if not (isinstance(user, Mapping) and user.get("id")):
            return None
        profile = user.get("profile") or {}
        return Acquaintance(
            person=Person(slack_user=str(user["id"]), email=str(profile.get("email") or "")),
            standing=standing_of(user, self._ours),
            time_zone=str(user.get("tz") or "UTC"),
        )


def standing_of(user: Mapping[str, Any], ours: frozenset[str]) -> Standing:
    """From a user object of Slack's Web API; see `People` for `ours`.

    People of another workspace in the same Enterprise Grid organisation are colleagues."""
    if user.get("deleted"):
        return "gone"
    if user.get("is_bot") or user.get("id") == "USLACKBOT":
        return "bot"
    grid = user.get("enterprise_user") or {}
    theirs = {user.get("team_id"), user.get("enterprise_id"), grid.get("enterprise_id")}
    theirs = {one for one in (*theirs, *(grid.get("teams") or ())) if one}
    if not theirs:
        return "unknown"
    if not theirs & ours:
        return "external"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "member"
