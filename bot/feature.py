"""The interface of a feature (`Feature`), and the infrastructure it works with (`FeatureContext`).

The other types here are exchanged between features; `bot.features.registry` connects them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

from slack_bolt import App
from sqlalchemy import Engine

from agents.answer import Answer
from agents.own_knowledge import OwnKind, OwnQuestion
from agents.runbooks.step import RunbookStep
from bot.access.gate import Gate, Place
from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.bus.events import (
    Enqueue,
    Handlers,
    MessageHook,
    Suggestion,
    SuggestionMade,
    TimerHandlers,
)
from bot.bus.timers import TimerStore
from bot.connection import Identity
from bot.questions.store import QuestionRecord, QuestionStore, decode_answer
from bot.showing import Readers, Showing
from bot.slack.client import SlackClient
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway, NothingPublished
from config.models import ChatModel, Vectors
from index.audit import Audit
from index.permissions.acts import Act
from index.permissions.rules import EVERYONE, IdentitiesOf, visible_to
from index.search import Snapshot
from loaders.google.owners import Commented, OwnersFound, Saved

Ack = Callable[..., object]
"""Bolt's acknowledgment, as its listeners get it."""
IsPrivate = Callable[[Domain, Answer], bool]
"""Whether some members of the domain's channel may not read what the answer says."""
SayWhyNot = Callable[[IncomingMessage], None]
"""Sends the reason for a refusal to the sender alone."""


AnswerAlert = Callable[[IncomingMessage, QuestionRecord, Domain], None]
"""Answers a stored alert of a bot. Safe to repeat after a crash."""


@dataclass(frozen=True, kw_only=True)
class AlertFired:
    """Alerts of one kind that fire in a bot's message, which is counted."""

    kind: str
    """Key of channel, name and runbook entry."""
    name: str
    domain: str
    channel: str
    severities: tuple[str, ...]
    """As the message writes them; empty where it writes none."""
    places: tuple[str, ...]
    """What they fire on, as far as the message says."""
    at: datetime
    """UTC without a zone."""


AlertHook = Callable[[AlertFired], bool]
"""Whether it stays quiet: counted, and not answered. Called again after a crash and for edits."""


@dataclass(frozen=True, kw_only=True)
class AlertEpisode:
    """A kind of alert from its first firing until it was over. Times are UTC without a zone."""

    id: str
    kind: str
    name: str
    domain: str
    channel: str
    question_id: str
    """The message whose thread reports it."""
    began_at: datetime
    resolved_at: datetime | None
    """None while it fires."""
    fired: int


class AlertHistory(Protocol):
    """What is on record of alerts."""

    def of_question(self, question_id: str) -> Sequence[AlertEpisode]:
        """Episodes that this thread reports, by name; empty where the question is no alert."""
        ...

    def of_kind(self, kind: str) -> Sequence[AlertEpisode]:
        """The latest first, at most a hundred."""
        ...

    def since(self, domain: str, since: datetime) -> Sequence[AlertEpisode]:
        """Episodes that fired since then and how often, by their beginning."""
        ...

    def days(self, domain: str, since: datetime) -> Mapping[str, int]:
        """Kind → on how many days (UTC) it fired since then."""
        ...

    def fired(self, kind: str, since: datetime, until: datetime | None = None) -> int:
        """Messages in which it fired, after `since`."""
        ...

    def signs(self, episode: str, until: datetime) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Severities with which an episode fired until then, and places."""
        ...


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    helpful: int = 0
    unhelpful: int = 0


VerdictsOf = Callable[[str, datetime, datetime], Verdicts]
"""(domain, since, until), UTC without a zone."""

WaitingForHuman = Callable[[Domain, timedelta], Sequence[tuple[QuestionRecord, str]]]
"""(domain, maximum age) → open hand-offs, each with its status; the most urgent first."""


@dataclass(frozen=True, kw_only=True)
class StepRun:
    """A step in one checklist."""

    step: RunbookStep
    act: Literal["done", "skipped", ""]
    """Empty: left open, or skipped with the step above it."""
    minutes: float | None
    """From the tick before it; None where it wasn't done, or there was a pause."""
    copied: bool
    reporters: frozenset[str]
    """Slack user ids of people who reported a problem with it."""


@dataclass(frozen=True, kw_only=True)
class ChecklistRun:
    """A checklist that is over."""

    document: str
    place: tuple[str, ...]
    """Tab and headings of the section."""
    name: str
    url: str
    driver: str
    """Slack user id of its last driver."""
    steps: tuple[StepRun, ...]


RunsOf = Callable[[str], Sequence[ChecklistRun]]
"""Domain name → its checklists that are over, the newest first."""


@dataclass(frozen=True, kw_only=True)
class AnswerExtras:
    """A feature's additions below an answer."""

    notes: tuple[str, ...] = ()
    """Plain sentences."""
    buttons: tuple[Json, ...] = ()
    """Elements next to *Ask a human*; at most two per feature."""


@dataclass(frozen=True, kw_only=True)
class OutgoingAnswer:
    """An answer that is about to be posted."""

    record: QuestionRecord
    answer: Answer
    domain: Domain
    privately: bool = False
    """Visible only to its asker."""


@dataclass(frozen=True, kw_only=True)
class BotQuestion:
    """A question about what the bot itself knows."""

    about: OwnQuestion
    event: IncomingMessage
    domains: Sequence[Domain]
    """That its asker may ask here, likeliest first; never empty."""


OwnReply = Callable[[BotQuestion], SlackMessage | None]
"""None where nothing is known: the documents are asked."""


@dataclass(frozen=True, kw_only=True)
class DigestPart:
    """Lines of a shift's digest under one title."""

    title: str
    lines: Sequence[str]
    """mrkdwn, the most urgent first."""
    places: Sequence[str] = ()
    """Channel id of each line: a reader who may not see that channel gets only the number of lines.
    Empty: every reader of the digest may see all lines."""


@dataclass(frozen=True, kw_only=True)
class IncidentThread:
    channel: str
    ts: str
    questions: Sequence[str]
    """Ids of its questions, alerts among them, oldest first."""


@dataclass(frozen=True, kw_only=True)
class TimelineEntry:
    """Something on record that happened in a thread, in plain text."""

    at: datetime
    """UTC, without a zone."""
    what: str
    """Follows a name: `ticked off step 2`; a whole clause where there is none."""
    by: str = ""
    """Slack id of the person who did it; empty: a program."""
    whom: str = ""
    """Slack id of whom it happened to: a person or a user group."""
    quote: str = ""
    """Words of a person or a document."""
    document: str = ""
    """Id of the document that `quote` repeats, and its `domain`."""
    domain: str = ""
    ts: str = ""
    """Timestamp of the message that shows it, in the thread's channel."""
    alert: str = ""
    """Name of the alert that fired or was resolved."""
    episode: str = ""
    edge: Literal["", "began", "ended"] = ""
    """Whether the alert's episode began or ended with it."""


def _no_listeners(app: App, put: Enqueue) -> None:
    """Registers nothing."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """Handlers are called again after a crash, and must be safe to repeat."""

    listen: Callable[[App, Enqueue], None] = _no_listeners
    """Registers Bolt's listeners of its buttons and forms; each stores an event and returns."""
    handlers: Handlers = field(default_factory=dict)
    """Type of an event → handler(event id, event)."""
    timers: TimerHandlers = field(default_factory=dict)
    """Kind of a timer → handler(subject)."""
    plan: Callable[[], None] | None = None
    """Called every minute, perhaps by several workers at once: sets the timers of a schedule."""
    on_message: MessageHook | None = None
    """Sees messages before all handlers."""
    on_alert: AlertHook | None = None
    additions: Callable[[OutgoingAnswer], AnswerExtras] | None = None
    replies: Mapping[OwnKind, OwnReply] = field(default_factory=dict)
    home: Callable[[Showing, Sequence[Domain]], Iterator[Json]] | None = None
    """(showing to the viewer, the domains whose admin they are) → blocks for their App Home."""
    digest: Callable[[Domain, datetime, Showing], Sequence[DigestPart]] | None = None
    """(domain, since when, aware, showing to its readers) → its parts of a shift's digest."""
    timeline: Callable[[IncidentThread], Iterator[TimelineEntry]] | None = None
    """A thread → what is on record of it, in any order."""


def additions_of(features: Sequence[Feature], answer: OutgoingAnswer) -> AnswerExtras:
    """The additions of all features, in order."""
    extras = [one.additions(answer) for one in features if one.additions]
    return AnswerExtras(
        notes=tuple(note for each in extras for note in each.notes),
        buttons=tuple(button for each in extras for button in each.buttons),
    )


def own_reply(features: Sequence[Feature], question: BotQuestion) -> SlackMessage | None:
    """Of the first feature that knows."""
    kind = question.about.kind
    replies = (one.replies[kind](question) for one in features if kind in one.replies)
    return next(filter(None, replies), None)


class DocumentOwners(Protocol):
    """Owners of documents, by document id, comments to them, and new documents. Raises only
    ConfigError."""

    @property
    def comments_are_on(self) -> bool: ...

    def owners(self, document: str) -> OwnersFound: ...

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        """Write a comment once for each mark, however often it is called."""
        ...

    def save(self, folder: str, *, mark: str, title: str, markdown: str) -> Saved:
        """Write a document once for each mark, however often it is called."""
        ...


Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, kw_only=True)
class PublishedIndex:
    """The documents that everyone may read."""

    snapshot: Callable[[str], Snapshot]
    """Domain name → its current generation; raises CopilotError where there is none."""
    embed: Embed
    embedder: str = ""
    """The embedding model's name: vectors of different models are never compared."""


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
    """Returns the names by which a permission may list an asker."""
    published: PublishedIndex | None
    """None: no index, as in some tests."""
    model: ChatModel | None
    """Writes titles; None: titles are the questions' own words."""

    def snapshot(self, domain: str) -> Snapshot:
        """What everyone may read now. Raises CopilotError where nothing is published."""
        if self.published is None:
            raise NothingPublished(domain)
        return self.published.snapshot(domain)

    def channel_snapshot(self, domain: Domain) -> Snapshot:
        """What all who read the domain's channel may read now. Raises CopilotError."""
        open_to = None if domain.access.audience == "channel" else EVERYONE
        return visible_to(self.snapshot(domain.domain), open_to)

    @property
    def readers(self) -> Readers:
        return Readers(
            gate=self.gate, domains=self.domains, snapshot=self.snapshot,
            identities=self.identities, audit=self.audit,
        )  # fmt: skip

    def suggest(self, suggestion: Suggestion) -> None:
        """Store a suggestion for the document's owner, once."""
        self.put(suggestion.event_id, SuggestionMade(suggestion=suggestion))


@dataclass(frozen=True, kw_only=True)
class StoredAnswer:
    """An answer on record that somebody acts on."""

    record: QuestionRecord
    answer: Answer
    domain: Domain
    private: bool
    """Only its asker sees it: no other user gets its text."""


@dataclass(frozen=True, kw_only=True)
class AnswerGate:
    """Opens answers on record to those who see them and may ask in their domain."""

    context: FeatureContext
    records: QuestionStore
    is_private: IsPrivate

    def open(self, act: Act, question_id: str, user: str) -> StoredAnswer | None:
        """None where there is no answer, it was deleted, or this person may not act on it. Raises
        SlackBusy or SlackUnsure when Slack can't be reached."""
        record = self.records.get(question_id)
        domain = self.context.domains().get(record.domain) if record else None
        if record is None or domain is None or not record.answer:
            return None
        answer = decode_answer(record.answer)
        try:
            # Outside of the domain's channels answers go to the asker alone.
            private = record.channel not in domain.channels or self.is_private(domain, answer)
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            private = True  # who may read it can't be determined now
        place = Place(domain=domain, channel=record.channel, owner=record.asker, is_private=private)
        if not self.context.gate.may_act(act, user, place):
            return None
        return StoredAnswer(record=record, answer=answer, domain=domain, private=private)
