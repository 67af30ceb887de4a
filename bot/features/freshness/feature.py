"""What the bot does about documents that grow old, as one feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar

from agents.freshness.cited_places import CitedSection
from bot.blocks.kit import Json, link, short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.bus.events import Enqueue, Event, SlackEvent, SuggestionDecided
from bot.feature import (
    AnswerExtras,
    DigestPart,
    Feature,
    FeatureContext,
    IsPrivate,
    OutgoingAnswer,
)
from bot.features.freshness.contradictions import ContradictionStore
from bot.features.freshness.flags import FlagService, SourceFlagged
from bot.features.freshness.overdue import OverdueDocuments
from bot.features.freshness.places import HelpfulPlaceStore, SnapshotOf, places_of, snapshots
from bot.features.freshness.store import CitationCountStore, create_aging_tables, today_utc
from bot.features.freshness.views import (
    ContradictionSettled,
    contradiction_blocks,
    flag_button,
    listen_for_decisions,
    listen_for_flags,
)
from bot.questions.store import QuestionStore
from bot.slack.messages import permalink
from config.domain import Domain

DAY = "aging_day"
_AFTER_MIDNIGHT = timedelta(minutes=10)
"""Questions of the day before may still be on their way."""
_MOST_LINES = 5


@dataclass(frozen=True, kw_only=True)
class ContradictionsMet(Event):
    """An answer cites places that contradict each other."""

    kind: ClassVar[str] = "contradictions_met"
    question_id: str


def build_freshness(
    context: FeatureContext, records: QuestionStore, is_private: IsPrivate
) -> Feature:
    create_aging_tables(context.engine)
    snapshot_of = snapshots(context.published.snapshot if context.published else None)
    counts = CitationCountStore(engine=context.engine)
    room = AgingRoom(
        tools=context,
        snapshot_of=snapshot_of,
        counts=counts,
        helped=HelpfulPlaceStore(engine=context.engine, records=records, snapshot_of=snapshot_of),
        overdue=OverdueDocuments(
            engine=context.engine, counts=counts, snapshot_of=snapshot_of, suggest=context.suggest
        ),
        outdated=FlagService(
            engine=context.engine,
            records=records,
            domains=context.domains,
            is_private=is_private,
            gate=context.gate,
            snapshot_of=snapshot_of,
            suggest=context.suggest,
            address=lambda record: permalink(context.identity.team_url.rstrip("/"), record),
        ),
        queue=ContradictionStore(
            engine=context.engine,
            records=records,
            domains=lambda: dict(context.domains()),
            snapshot_of=snapshot_of,
            suggest=context.suggest,
        ),
    )
    return Feature(
        listen=room.listen,
        handlers={
            SourceFlagged: room.outdated.flag,
            ContradictionsMet: lambda _, event: room.queue.met(event.question_id),
            ContradictionSettled: room.settled,
            SuggestionDecided: room.outdated.decided,
        },
        timers={DAY: room.day},
        plan=room.plan,
        additions=room.additions,
        home=room.home,
        digest=room.digest,
    )


@dataclass
class AgingRoom:
    """Its parts, and what they do together."""

    tools: FeatureContext
    snapshot_of: SnapshotOf
    counts: CitationCountStore
    helped: HelpfulPlaceStore
    overdue: OverdueDocuments
    outdated: FlagService
    queue: ContradictionStore
    _planned_for: date = date.min
    """The day on which all domains were found to be counted: nothing is left to plan then."""

    def listen(self, app: Any, put: Enqueue) -> None:
        listen_for_flags(app, put, web=self.tools.web, outdated=self.outdated)
        listen_for_decisions(app, put)

    def plan(self) -> None:
        """Each minute: what was found helpful is looked at, and once a day the rest is set."""
        if self.tools.published is None:
            return
        self.helped.look()
        today = today_utc()
        if self._planned_for == today:
            return
        waiting = [name for name in self.tools.domains() if not self.counts.is_done(name, today)]
        due = datetime.combine(today, time(), UTC) + _AFTER_MIDNIGHT
        for name in waiting:
            self.tools.timers.set(DAY, name, due, keep=True)
        if not waiting:
            self._planned_for = today

    def day(self, name: str) -> None:
        """Count what was cited until yesterday, then remind owners."""
        domain = self.tools.domains().get(name)
        if domain:
            self.counts.count(domain, today_utc())
            self.overdue.remind(domain)

    def additions(self, shown: OutgoingAnswer) -> AnswerExtras:
        answer, name = shown.answer, shown.domain.domain
        if answer.contradictions:
            event = ContradictionsMet(question_id=shown.record.id)
            self.tools.put(f"{event.kind}-{shown.record.event_id}", event)
        snapshot = self.snapshot_of(name) if answer.citations else None
        places = list(places_of(answer, snapshot)) if snapshot else []
        return AnswerExtras(
            notes=(
                *self.queue.notes(name, answer),
                *self.outdated.notes(name, places),
                *self.helped.notes(name, places),
                *self.overdue.notes(name, answer),
            ),
            buttons=flag_button(answer, shown.record.id),
        )

    def home(self, _: str, domains: Sequence[Domain]) -> Iterator[Json]:
        yield from contradiction_blocks(self.queue, domains)
        yield from self.overdue.home(domains)

    def settled(self, event_id: str, event: ContradictionSettled) -> None:
        """An admin has decided; their home shows what is left."""
        self.queue.decide(event.contradiction, event.choice, event.user, event.seen)
        opened = {"type": "app_home_opened", "user": event.user, "tab": "home"}
        self.tools.put(f"{event_id}-home", SlackEvent(event=opened, team=event.team))

    def digest(self, domain: Domain, since: datetime) -> Sequence[DigestPart]:
        name, after = domain.domain, since.astimezone(UTC).replace(tzinfo=None)
        flagged = [self._named(name, flag.place) for flag in self.outdated.new_since(name, after)]
        due = [
            f"{link(one.url, short(one.title, 120))}: {one.told()}"
            for one in self.overdue.due_since(domain, since)
        ]
        pairs = [
            f"{sanitize_mrkdwn(short(one.one.name, 120))} and "
            f"{sanitize_mrkdwn(short(one.other.name, 120))}"
            + (f": {sanitize_mrkdwn(short(one.about, 120))}" if one.about else "")
            for one in self.queue.waiting(name, most=_MOST_LINES, since=after)
        ]
        parts = (
            DigestPart(title="Flagged as out of date", lines=flagged[:_MOST_LINES]),
            DigestPart(title="Sources that say different things", lines=pairs),
            DigestPart(title="Past their review date", lines=due[:_MOST_LINES]),
        )
        return [part for part in parts if part.lines]

    def _named(self, domain: str, place: CitedSection) -> str:
        """Nobody learns here of a document that not everybody may read."""
        snapshot = self.snapshot_of(domain)
        if not snapshot or not snapshot.cards([place.document]):
            return "a document that is gone, or that not everybody may read"
        row = f" › {' '.join(place.row)}" if place.row else ""
        return sanitize_mrkdwn(short(f"{place.name}{row}", 200))
