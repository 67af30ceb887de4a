"""One call of the Web API: its arguments, checked as they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playground.slack import tidewater
from playground.slack.workspace import Json, SlackError, Workspace

MAX_PAGE = 999


@dataclass(frozen=True)
class Call:
    """Arguments come as JSON values or, from form bodies, as strings that hold JSON."""

    workspace: Workspace
    arguments: Mapping[str, Any]
    scopes: frozenset[str] = frozenset()
    """What the token may do."""

    def text(self, name: str, default: str = "") -> str:
        value = self.arguments.get(name)
        return default if value is None else str(value)

    def need(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise SlackError("invalid_arguments", [f"[ERROR] missing required field: {name}"])
        return value

    def flag(self, name: str) -> bool:
        return str(self.arguments.get(name, "")).lower() in ("1", "true")

    def demand(self, scope: str) -> None:
        """Refuse a token that lacks this scope; none is needed when it is empty."""
        if scope and scope not in self.scopes:
            raise SlackError("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))

    def given(self, name: str) -> bool:
        return self.arguments.get(name) is not None

    def data(self, name: str, kind: type, error: str) -> Any:
        """A list or object, or None when absent."""
        value = self.arguments.get(name)
        if isinstance(value, str):
            try:
                value = json.loads(value) if value else None
            except ValueError as problem:
                raise SlackError(error) from problem
        if value is not None and not isinstance(value, kind):
            raise SlackError(error)
        return value

    def objects(self, name: str, error: str) -> list[Json] | None:
        value = self.data(name, list, error)
        if value is not None and not all(isinstance(item, dict) for item in value):
            raise SlackError(error)
        return value  # type: ignore[no-any-return]  # checked just above

    def channel(self, name: str = "channel") -> tidewater.Channel:
        """The conversation, which the app must be able to see."""
        return self.workspace.channel(self.need(name))

    def joined_channel(self, name: str = "channel") -> tidewater.Channel:
        channel = self.channel(name)
        if tidewater.BOT_USER_ID not in channel.members:
            raise SlackError("not_in_channel")
        return channel

    def page(self, items: list[Any], default: int) -> tuple[list[Any], Json]:
        """A page of `items` by `limit` and `cursor`, with its `response_metadata`."""
        try:
            limit = min(MAX_PAGE, int(self.text("limit") or default))
            start = int(self.text("cursor").removeprefix("next:") or 0)
        except ValueError as error:
            raise SlackError(
                "invalid_cursor" if self.text("cursor") else "invalid_limit"
            ) from error
        if limit < 1 or not 0 <= start <= len(items):
            raise SlackError("invalid_limit" if limit < 1 else "invalid_cursor")
        end = start + limit
        cursor = f"next:{end}" if end < len(items) else ""
        return items[start:end], {"next_cursor": cursor}


Method = Callable[[Call], Json]
"""Carries out one Web API method; its result is merged into `{"ok": true}`."""
