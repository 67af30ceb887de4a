"""Tokens in message events, by which an app may search in the name of who wrote the message."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

LIFETIME = 600.0
"""Seconds. Slack calls the token short-lived and names no number."""
MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """Who may be searched for, and where they wrote."""

    user: str
    channel: str
    until: float


class ActionTokens:
    """Guarded by the workspace's lock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.lifetime = LIFETIME
        self._clock = clock
        self._known: OrderedDict[str, Invocation] = OrderedDict()

    def issue(self, user: str, channel: str) -> str:
        token = f"{secrets.randbelow(10**11)}.{secrets.randbelow(10**11)}.{secrets.token_hex(16)}"
        until = self._clock() + self.lifetime
        self._known[token] = Invocation(user=user, channel=channel, until=until)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return token

    def redeem(self, token: str) -> Invocation | None:
        """None for a token that is unknown or too old; it may be used more than once."""
        found = self._known.get(token)
        return found if found and self._clock() <= found.until else None
