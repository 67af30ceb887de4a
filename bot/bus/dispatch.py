"""Passes an item of the inbox to the handlers of its event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.bus.events import Event, Item, SlackEvent, TimerDue
from bot.slack.events import IncomingMessage, read
from telemetry.tracing import span

Handlers = Mapping[type, Callable[[str, Any], None]]
"""Type of an event, stored or read from Slack's → handler(event id, event)."""
TimerHandlers = Mapping[str, Callable[[str], None]]
"""Kind of a timer → handler(subject)."""
MessageHook = Callable[[str, IncomingMessage, Mapping[str, Any]], bool]
"""(event id, message, Slack's event of it) → whether it is done, so that no handler gets it."""


class Dispatcher:
    """Called by the inbox for each item, and again for the same item after a crash.

    An event goes to every feature with a handler for its type, in registry order. An item without
    a handler is ignored: a newer release may have stored it."""

    def __init__(
        self,
        *,
        bot_user: str,
        handlers: Sequence[Handlers],
        timers: Sequence[TimerHandlers],
        hooks: Sequence[MessageHook],
    ) -> None:
        """One table of handlers and one of timers for each feature, in registry order."""
        self._bot_user = bot_user
        self._handlers: list[Handlers] = [
            {SlackEvent: self._slack_event, TimerDue: self._timer_due},
            *handlers,
        ]
        self._timers = timers
        self._hooks = hooks
        self._types: dict[str, type[Event]] = {
            one.kind: one for table in self._handlers for one in table if issubclass(one, Event)
        }

    def __call__(self, event_id: str, item: Item) -> None:
        about = {"messaging.system": "slack", "messaging.message.id": event_id}
        with span("worked off", about, kind="consumer", within=item.get("trace", "")):
            if kind := next((key for key in item if key in self._types), ""):
                self._handle(event_id, self._types[kind].from_item(item))

    def _handle(self, event_id: str, event: object) -> None:
        for handlers in self._handlers:
            if handle := handlers.get(type(event)):
                handle(event_id, event)

    def _slack_event(self, event_id: str, event: SlackEvent) -> None:
        received = read(event.event, bot_user=self._bot_user, team=event.team)
        is_done = isinstance(received, IncomingMessage) and any(
            hook(event_id, received, event.event) for hook in self._hooks
        )
        if not is_done:
            self._handle(event_id, received)

    def _timer_due(self, event_id: str, event: TimerDue) -> None:
        for handlers in self._timers:
            if handle := handlers.get(event.timer):
                handle(event.subject)
