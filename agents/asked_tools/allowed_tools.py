"""All tools that a domain allows: what they take is asked now and then, not for each question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from agents.asked_tools.mcp_tool_server import McpToolServer
from agents.asked_tools.tool_values import ToolFailed, ToolOffer
from config.tool_server import ToolServer

FRESH_SECONDS = 300.0
REST_SECONDS = 60.0
"""After a failure the next questions don't wait for another one."""


class AllowedTools:
    """See `Toolbox`."""

    def __init__(
        self,
        servers: Sequence[ToolServer],
        token: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`token`: by the name of its variable."""
        self._clock = clock
        self._servers = {
            one.name: (one, McpToolServer(one, token(one.token) if one.token else ""))
            for one in servers
        }
        self._known: dict[str, tuple[float, list[ToolOffer]]] = {}
        """Server → until when what it offers is not asked again, and that."""
        self._lock = Lock()

    def offers(self) -> list[ToolOffer]:
        with self._lock:  # whoever waited here finds it known
            return [offer for name in self._servers for offer in self._offers_of(name)]

    def ask(self, offer: ToolOffer, arguments: Mapping[str, Any]) -> str:
        try:
            return self._servers[offer.server][1].ask(offer, arguments)
        except ToolFailed as failed:
            if failed.kind == "changed":
                self._known.pop(offer.server, None)
            raise

    def _offers_of(self, name: str) -> list[ToolOffer]:
        server, connection = self._servers[name]
        until, offers = self._known.get(name, (float("-inf"), []))
        if self._clock() < until:
            return offers
        try:
            offers, seconds = connection.offers(), FRESH_SECONDS
        except ToolFailed:
            offers = [
                ToolOffer(server=name, tool=tool, what=server.what, reachable=False)
                for tool in server.allow
            ]
            seconds = REST_SECONDS
        self._known[name] = self._clock() + seconds, offers
        return offers
