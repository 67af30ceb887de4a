"""Events as the inbox stores them: frozen dataclasses, each written to and read from its JSON; and
the table of their handlers.

Events of one feature are defined in its package. This module has those of the bus itself, and those
that several features exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, Self

from bot.slack.events import IncomingMessage, read
from telemetry.tracing import span

Item = dict[str, Any]
"""An event as stored: JSON."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Stored as `{kind: fields}`, unless a subclass writes it otherwise.

    Items outlive a release: kinds and field names stay, and a field that an older release did not
    write has a default."""

    kind: ClassVar[str]
    """The event's key in its item."""

    def item(self) -> Item:
        return {self.kind: asdict(self)}

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(**matching_fields(cls, item[cls.kind]))


Enqueue = Callable[[str, Event], None]
"""(event id, event): returns when the event can't be lost. A known id does nothing."""


def matching_fields(of: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that this dataclass has fields for; ignores those of a newer release."""
    return {one.name: values[one.name] for one in fields(of) if one.name in values}


@dataclass(frozen=True, kw_only=True)
class SlackEvent(Event):
    """An event of Slack's, as received."""

    kind: ClassVar[str] = "event"
    event: Mapping[str, Any]
    team: str
    trace: str = ""
    """W3C trace context of the span that stored it."""

    def item(self) -> Item:
        item = {"event": self.event, "team": self.team}
        return {**item, "trace": self.trace} if self.trace else item

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(**matching_fields(cls, item))


@dataclass(frozen=True, kw_only=True)
class TimerDue(Event):
    kind: ClassVar[str] = "timer"
    timer: str
    """The timer's kind."""
    subject: str

    def item(self) -> Item:
        return {"timer": {"kind": self.timer, "subject": self.subject}}

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(timer=item["timer"]["kind"], subject=item["timer"]["subject"])


SuggestionKind = Literal[
    "answer", "outdated", "step", "steps", "contradiction", "review", "drill"
]  # fmt: skip
"""`answer`: a human answered what the document does not; `outdated`: a reader flagged a cited place
as out of date; `step`: a step of a checklist is wrong; `steps`: most people skip a step, or
several report it; `contradiction`: another place that an admin chose to keep says otherwise;
`review`: a document is due for review; `drill`: its runbook entries have something to mend. An
older release names a kind that it doesn't know a suggested change."""


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A suggested change to a document, for its owner. Field names are JSON keys."""

    id: str
    """Stable: the same suggestion made twice is one."""
    kind: SuggestionKind
    domain: str
    document: str
    """Id; empty when it is unknown: then the suggestion is for the domain's admins."""
    heading: str = ""
    """The section meant, or the nearest one."""
    question: str = ""
    """The question, or the topic of the place; message text. Of a `review` or a `drill`, the
    reason."""
    words: str = ""
    """The proposed text, or a description of the problem; message text."""
    by: str = ""
    """Slack user id of the author of `words`."""
    question_id: str = ""
    """The suggestion is deleted with this question."""
    channel: str = ""
    """The channel of the message: only its members may see `words`."""
    permalink: str = ""
    drawn_from: tuple[str, ...] | None = None
    """Ids of the documents that `question` and `words` repeat, where no person wrote them; None:
    unknown."""

    @property
    def event_id(self) -> str:
        return f"suggestion-{self.id}"


@dataclass(frozen=True, kw_only=True)
class SuggestionMade(Event):
    kind: ClassVar[str] = "suggestion"
    suggestion: Suggestion

    def item(self) -> Item:
        return {self.kind: asdict(self.suggestion)}

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(suggestion=Suggestion(**matching_fields(Suggestion, item[cls.kind])))


@dataclass(frozen=True, kw_only=True)
class SuggestionDecided(Event):
    """An owner's decision on a suggestion."""

    kind: ClassVar[str] = "suggestion_outcome"
    id: str = ""
    """Id of the suggestion."""
    outcome: str = ""
    """accepted | dismissed | gone"""
    by: str = ""
    """Slack user id of who decided."""
    document: str = ""
    heading: str = ""
    words: str = ""
    """The accepted text."""
    words_by: str = ""


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
