"""What the bot does beside answering, each in a room of its own that offers one `Feature`.

Where documents come from, asked whose they are and told what their owner accepted.

What the bot's features work with: the infrastructure of a running bot.

What one feature does for another stands in `bot.feature`, and is handed over by `bot.features`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from slack_bolt import App
from sqlalchemy import Engine

from agents.answer import Answer
from bot.access.gate import Gate
from bot.blocks.kit import Json
from bot.bus.dispatch import Handlers, SlackHook, TimerHandlers
from bot.bus.events import Enqueue, Suggestion, SuggestionMade
from bot.bus.timers import TimerStore
from bot.connection import Identity
from bot.questions.store import QuestionRecord
from bot.slack.client import SlackClient
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.models import ChatModel, Vectors
from index.audit import Audit
from index.permissions.rules import IdentitiesOf
from index.search import Snapshot
from loaders.google.owners import Commented, OwnersFound

IsPrivate = Callable[[Domain, Answer], bool]
"""Whether some of a domain's channel may not read what an answer says."""
SayWhyNot = Callable[[IncomingMessage], None]
"""Tells who sent this why they may not ask; to them alone."""


class AnswerAlert(Protocol):
    """Answers a bot's alert that is on record. Safe to repeat after a crash."""

    def __call__(
        self,
        event: IncomingMessage,
        record: QuestionRecord,
        domain: Domain,
        *,
        silently: bool = False,
    ) -> None:
        """`silently`: the answer is put on record alone."""


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Feedback counted over a period."""

    helpful: int = 0
    unhelpful: int = 0


VerdictsOf = Callable[[str, datetime, datetime], Verdicts]
"""(domain, since, until), UTC without a zone."""

WaitingForHuman = Callable[[Domain, timedelta], Sequence[tuple[QuestionRecord, str]]]
"""(domain, asked for within) → open hand-offs, each with how it stands; the most urgent first."""


@dataclass(frozen=True, kw_only=True)
class AnswerExtras:
    """What stands below an answer besides."""

    notes: tuple[str, ...] = ()
    """Plain sentences."""
    buttons: tuple[Json, ...] = ()
    """Elements beside *Ask a human*; two at most of each feature."""


@dataclass(frozen=True, kw_only=True)
class OutgoingAnswer:
    """An answer that is about to be shown."""

    record: QuestionRecord
    answer: Answer
    domain: Domain
    privately: bool = False
    """To its asker alone."""


@dataclass(frozen=True, kw_only=True)
class DigestPart:
    """Lines of a shift's digest under one title."""

    title: str
    lines: Sequence[str]
    """mrkdwn, the most urgent first."""
    places: Sequence[str] = ()
    """Channel id of each line: who may not see what stands there is told only how many there are.
    Empty: they are for whoever gets the digest."""


def _no_listeners(app: App, put: Enqueue) -> None:
    """Registers nothing."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """Every handler is called again after a crash: what it does, it does once."""

    listen: Callable[[App, Enqueue], None] = _no_listeners
    """Registers Bolt's listeners of its buttons and forms; each stores an event and returns."""
    handlers: Handlers = field(default_factory=dict)
    """Type of an event → handler(event id, event)."""
    timers: TimerHandlers = field(default_factory=dict)
    """Kind of a timer → handler(subject)."""
    plan: Callable[[], None] | None = None
    """Called every minute: sets the timers that a schedule asks for. It may be called by several
    workers at once."""
    on_event: SlackHook | None = None
    """Sees Slack's events before all handlers."""
    additions: Callable[[OutgoingAnswer], AnswerExtras] | None = None
    home: Callable[[str, Sequence[Domain]], Iterator[Json]] | None = None
    """(viewer, the domains whose admin they are) → blocks for their App Home."""
    digest: Callable[[Domain, datetime], Sequence[DigestPart]] | None = None
    """(domain, since when, aware) → what a digest should say."""


def additions_of(features: Sequence[Feature]) -> Callable[[OutgoingAnswer], AnswerExtras]:
    """What all of them add, in order."""

    def of(shown: OutgoingAnswer) -> AnswerExtras:
        found = [one.additions(shown) for one in features if one.additions]
        return AnswerExtras(
            notes=tuple(note for each in found for note in each.notes),
            buttons=tuple(button for each in found for button in each.buttons),
        )

    return of


class DocumentOwners(Protocol):
    """Documents by their ids; none of the methods raises but ConfigError."""

    @property
    def comments_are_on(self) -> bool: ...

    def owners(self, document: str) -> OwnersFound: ...

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        """Once for each mark, however often it is called."""
        ...


Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, kw_only=True)
class PublishedIndex:
    """The documents as everybody may read them, without a question."""

    snapshot: Callable[[str], Snapshot]
    """Domain name → its current generation; raises CopilotError where there is none."""
    embed: Embed
    embedder: str = ""
    """Its name: what another one made is compared with nothing of it."""


@dataclass(frozen=True, kw_only=True)
class FeatureContext:
    web: SlackClient
    engine: Engine
    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    timers: TimerStore
    put: Enqueue
    """Stores an event in the inbox."""
    identity: Identity
    audit: Audit
    identities: IdentitiesOf
    """What a permission may name an asker by."""
    published: PublishedIndex | None
    """None: nothing is known of the documents, as in tests of other things."""
    model: ChatModel | None
    """Names things; None: they are named by the words of the question."""

    def suggest(self, suggestion: Suggestion) -> None:
        """To the document's owner, once."""
        self.put(suggestion.event_id, SuggestionMade(suggestion=suggestion))
