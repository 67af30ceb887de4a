"""Events as the inbox stores them: frozen dataclasses, each written to and read from its JSON.

Events of one feature are defined in its package. This module has those of the bus itself, and those
that several features exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, Self

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


SuggestionKind = Literal["answer", "outdated", "step", "contradiction", "review"]
"""`answer`: a human answered what the document does not; `outdated`: a reader flagged a cited place
as out of date; `step`: a step of a checklist is wrong; `contradiction`: another place that an admin
chose to keep says otherwise; `review`: a document is due for review."""


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
    """The question, or the topic of the place; message text. For a `review`, the reason."""
    words: str = ""
    """The proposed text, or a description of the problem; message text."""
    by: str = ""
    """Slack user id of the author of `words`."""
    question_id: str = ""
    """The suggestion is deleted with this question."""
    channel: str = ""
    """The channel of the message: only its members may see `words`."""
    permalink: str = ""

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
