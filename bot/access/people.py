"""Who somebody is, as far as document permissions care."""

from __future__ import annotations

import threading
import time

from bot.slack.web import SlackRefused, Web
from index.readers import Person

KEEP_SECONDS = 900.0


class People:
    """Slack users' e-mail addresses, remembered for a quarter of an hour."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._known: dict[str, tuple[float, Person]] = {}
        self._lock = threading.Lock()

    def person(self, user: str) -> Person:
        """Without an address when Slack won't say, which opens nothing."""
        with self._lock:
            known = self._known.get(user)
        if known and time.monotonic() - known[0] < KEEP_SECONDS:
            return known[1]
        found = self._look_up(user)
        with self._lock:
            self._known[user] = time.monotonic(), found
        return found

    def _look_up(self, user: str) -> Person:
        try:
            profile = self._web.call("users.info", user=user, patience=30.0)["user"]["profile"]
        except (SlackRefused, KeyError, TypeError):
            return Person(slack_user=user)
        return Person(slack_user=user, email=str(profile.get("email") or ""))
