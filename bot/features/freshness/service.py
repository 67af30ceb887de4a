"""Handles outdated documents: daily checks, buttons below answers, App Home and digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from agents.freshness.cited_places import CitedSection
from bot.blocks.kit import Json, link, short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.bus.events import SlackEvent
from bot.feature import AnswerExtras, DigestPart, FeatureContext, OutgoingAnswer
from bot.features.freshness.contradictions import (
    ContradictionService,
    ContradictionSettled,
    ContradictionsMet,
)
from bot.features.freshness.flags import FlagService
from bot.features.freshness.overdue import CitationCountStore, OverdueDocuments, today_utc
from bot.features.freshness.places import HelpfulPlaceService, SnapshotOf, places_of
from bot.features.freshness.views import contradiction_blocks, flag_button
from config.domain import Domain
from durable.database import naive_utc

DAY = "aging_day"
_AFTER_MIDNIGHT = timedelta(minutes=10)
"""Questions of the day before may still be answered."""
_MAX_LINES = 5
_MAX_PAIRS = 3


@dataclass
class FreshnessService:
    context: FeatureContext
    snapshot_of: SnapshotOf
    counts: CitationCountStore
    helpful: HelpfulPlaceService
    overdue: OverdueDocuments
    flags: FlagService
    contradictions: ContradictionService
    _planned_for: date = date.min
    """The day for which nothing is left to plan."""

    def plan(self) -> None:
        """Each minute: collect helpful places, and once a day set the timers of all domains."""
        if self.context.published is None:
            return
        self.helpful.collect()
        today = today_utc()
        if self._planned_for == today:
            return
        waiting = [name for name in self.context.domains() if not self.counts.is_done(name, today)]
        due = datetime.combine(today, time(), UTC) + _AFTER_MIDNIGHT
        for name in waiting:
            self.context.timers.set(DAY, name, due, keep=True)
        if not waiting:
            self._planned_for = today

    def day(self, name: str) -> None:
        """Count the citations until yesterday, then remind owners."""
        domain = self.context.domains().get(name)
        if domain:
            self.counts.count(domain, today_utc())
            self.overdue.remind(domain)

    def additions(self, outgoing: OutgoingAnswer) -> AnswerExtras:
        answer, name = outgoing.answer, outgoing.domain.domain
        if not (answer.citations or answer.contradictions):
            return AnswerExtras()
        if answer.contradictions:
            event = ContradictionsMet(question_id=outgoing.record.id)
            self.context.put(f"{event.kind}-{outgoing.record.event_id}", event)
        snapshot = self.snapshot_of(name) if answer.citations else None
        places = list(places_of(answer, snapshot)) if snapshot else []
        return AnswerExtras(
            notes=(
                *self.contradictions.notes(name, answer),
                *self.flags.notes(name, places),
                *self.helpful.notes(name, places),
                *self.overdue.notes(name, answer),
            ),
            buttons=flag_button(answer, outgoing.record.id),
        )

    def home(self, _: str, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            pairs = self.contradictions.waiting(domain.domain, limit=_MAX_PAIRS)
            yield from contradiction_blocks(domain, pairs)
        yield from self.overdue.home(domains)

    def decide(self, event_id: str, event: ContradictionSettled) -> None:
        """An admin settles a pair, and sees the remaining ones in their App Home."""
        self.contradictions.decide(event.contradiction, event.choice, event.user, event.seen)
        opened = {"type": "app_home_opened", "user": event.user, "tab": "home"}
        self.context.put(f"{event_id}-home", SlackEvent(event=opened, team=event.team))

    def digest(self, domain: Domain, since: datetime) -> Sequence[DigestPart]:
        name, after = domain.domain, naive_utc(since)
        flagged = [self._place_name(name, flag.place) for flag in self.flags.new_since(name, after)]
        due = [
            f"{link(one.url, short(one.title, 120))}: {one.reason()}"
            for one in self.overdue.due_since(domain, since)
        ]
        pairs = [
            f"{sanitize_mrkdwn(short(one.one.name, 120))} and "
            f"{sanitize_mrkdwn(short(one.other.name, 120))}"
            + (f": {sanitize_mrkdwn(short(one.about, 120))}" if one.about else "")
            for one in self.contradictions.waiting(name, limit=_MAX_LINES, since=after)
        ]
        parts = (
            DigestPart(title="Flagged as out of date", lines=flagged[:_MAX_LINES]),
            DigestPart(title="Sources that say different things", lines=pairs),
            DigestPart(title="Past their review date", lines=due[:_MAX_LINES]),
        )
        return [part for part in parts if part.lines]

    def _place_name(self, domain: str, place: CitedSection) -> str:
        """Without the name of a document that not everyone may read."""
        snapshot = self.snapshot_of(domain)
        if not snapshot or not snapshot.cards([place.document]):
            return "a document that is gone, or that not everybody may read"
        row = f" › {' '.join(place.row)}" if place.row else ""
        return sanitize_mrkdwn(short(f"{place.name}{row}", 200))
