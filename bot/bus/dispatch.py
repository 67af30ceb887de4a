"""What the inbox's items mean, and who handles each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.bus.inbox import Item
from bot.slack.events import read
from telemetry.tracing import span


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Called by the inbox for each item, and again for the same item after a crash."""

    bot_user: str
    events: Mapping[type, Callable[[str, Any], None]]
    """What Slack reported → handler(event id, event)."""
    takers: Sequence[Callable[[str, Mapping[str, Any], str], bool]]
    """(event id, Slack's event, team): whether it was taken, and nobody else is to look at it."""
    items: Mapping[str, Callable[[str, Item], None]]
    """Key of an item → handler(event id, whole item); the first key that an item has counts."""
    features: Sequence[Mapping[str, Callable[[str, Any], None]]]
    """Of each feature: key of an item → handler(event id, what stands under the key)."""
    timers: Sequence[Mapping[str, Callable[[str], None]]]
    """Of each feature: kind of a timer → handler(subject)."""

    def __call__(self, event_id: str, item: Item) -> None:
        about = {"messaging.system": "slack", "messaging.message.id": event_id}
        with span("worked off", about, kind="consumer", within=item.get("trace", "")):
            self._work_off(event_id, item)

    def _work_off(self, event_id: str, item: Item) -> None:
        if "event" in item:
            if not self._taken(event_id, item):
                self._event(event_id, item)
        elif key := next((key for key in self.items if key in item), ""):
            self.items[key](event_id, item)
        elif "timer" in item:
            self._timer(**item["timer"])
        else:
            self._of_a_feature(event_id, item)

    def _taken(self, event_id: str, item: Item) -> bool:
        """By a feature, and so for nobody else."""
        return any(take(event_id, item["event"], item["team"]) for take in self.takers)

    def _event(self, event_id: str, item: Item) -> None:
        event = read(item["event"], bot_user=self.bot_user, team=item["team"])
        if handle := self.events.get(type(event)):
            handle(event_id, event)

    def _of_a_feature(self, event_id: str, item: Item) -> None:
        """Of each that knows the key: what one of them tells, several may want to hear."""
        for handlers in self.features:
            for key, handle in handlers.items():
                if key in item:
                    handle(event_id, item[key])

    def _timer(self, kind: str, subject: str) -> None:
        for handlers in self.timers:
            if kind in handlers:
                handlers[kind](subject)
