"""Outdated documents: daily checks, reminders of owners, notes below answers, App Home, digests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

from agents.answer import Answer
from agents.freshness.cited_places import CitedSection
from agents.freshness.stale_documents import (
    StaleDocument,
    on_day,
    passed_at,
    review_overdue,
    stale_documents,
)
from bot.blocks.kit import Json, header, link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.bus.events import SlackEvent, Suggestion
from bot.feature import AnswerExtras, DigestPart, FeatureContext, OutgoingAnswer
from bot.features.freshness.citation_store import CitationCountStore, today_utc
from bot.features.freshness.contradictions import (
    ContradictionService,
    ContradictionSettled,
    ContradictionsMet,
    shows,
)
from bot.features.freshness.flags import FlagService
from bot.features.freshness.places import HelpfulPlaceService, SnapshotOf, places_of
from bot.features.freshness.store import ReminderStore
from bot.features.freshness.views import contradiction_blocks, flag_button
from bot.showing import Showing
from config.domain import Domain
from durable.database import naive_utc, now

DAY = "aging_day"
_AFTER_MIDNIGHT = timedelta(minutes=10)
"""Questions of the day before may still be answered."""
_MAX_LINES = 5
_MAX_PAIRS = 3
MAX_REMINDERS = 3
"""Documents of a domain in a week."""
_WEEK, _QUARTER = timedelta(days=7), timedelta(days=90)
_MAX_HOME_LINES = 3


@dataclass
class FreshnessService:
    context: FeatureContext
    snapshot_of: SnapshotOf
    helpful: HelpfulPlaceService
    overdue: OverdueDocuments
    flags: FlagService
    contradictions: ContradictionService
    _planned_for: date = field(default=date.min, init=False)
    """The day for which nothing is left to plan."""

    def plan(self) -> None:
        """Each minute: collect helpful places, and once a day set the timers of all domains."""
        if self.context.published is None:
            return
        self.helpful.collect()
        today = today_utc()
        if self._planned_for == today:
            return
        is_done = self.overdue.counts.is_done
        waiting = [name for name in self.context.domains() if not is_done(name, today)]
        due = datetime.combine(today, time(), UTC) + _AFTER_MIDNIGHT
        for name in waiting:
            self.context.timers.set(DAY, name, due, keep=True)
        if not waiting:
            self._planned_for = today

    def day(self, name: str) -> None:
        """Count the citations until yesterday, then remind owners."""
        domain = self.context.domains().get(name)
        if domain:
            self.overdue.counts.count(domain, today_utc())
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

    def home(self, showing: Showing, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            pairs = self.contradictions.waiting(domain.domain, limit=_MAX_PAIRS)
            yield from contradiction_blocks(domain, [one for one in pairs if shows(showing, one)])
        yield from self.overdue.home(domains, showing)

    def decide(self, event_id: str, event: ContradictionSettled) -> None:
        """An admin settles a pair, and sees the remaining ones in their App Home."""
        self.contradictions.decide(event.contradiction, event.choice, event.user, event.seen)
        opened = {"type": "app_home_opened", "user": event.user, "tab": "home"}
        self.context.put(f"{event_id}-home", SlackEvent(event=opened, team=event.team))

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        name, after = domain.domain, naive_utc(since)
        flagged = [
            self._place_name(name, flag.place, showing)
            for flag in self.flags.new_since(name, after)[:_MAX_LINES]
        ]
        due = [
            f"{link(one.url, short(one.title, 120))}: {one.reason()}"
            for one in islice(self.overdue.due_since(domain, since), _MAX_LINES)
            if showing.names(name, one.id)
        ]
        pairs = [
            f"{sanitize_mrkdwn(short(one.one.name, 120))} and "
            f"{sanitize_mrkdwn(short(one.other.name, 120))}"
            + (f": {sanitize_mrkdwn(short(one.about, 120))}" if one.about else "")
            for one in self.contradictions.waiting(name, limit=_MAX_LINES, since=after)
            if shows(showing, one)
        ]
        parts = (
            DigestPart(title="Flagged as out of date", lines=flagged),
            DigestPart(title="Sources that say different things", lines=pairs),
            DigestPart(title="Past their review date", lines=due),
        )
        return [part for part in parts if part.lines]

    def _place_name(self, domain: str, place: CitedSection, showing: Showing) -> str:
        """Without the name of a document that not everyone may read."""
        snapshot = self.snapshot_of(domain)
        is_open = snapshot and snapshot.cards([place.document])
        if not is_open or not showing.names(domain, place.document):
            return "a document that is gone, or that not everybody may read"
        row = f" › {' '.join(place.row)}" if place.row else ""
        return sanitize_mrkdwn(short(f"{place.name}{row}", 200))


@dataclass(frozen=True, kw_only=True)
class OverdueDocuments:
    reminders: ReminderStore
    counts: CitationCountStore
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]
    clock: Callable[[], datetime] = now
    """UTC, without a zone."""

    def of(self, domain: Domain) -> list[StaleDocument]:
        """Most important first."""
        snapshot = self.snapshot_of(domain.domain)
        if snapshot is None:
            return []
        return stale_documents(
            snapshot.documents.values(),
            self.counts.totals(domain.domain, today_utc()),
            review_months=domain.aging.review_months,
            now=self._now(),
        )

    def due_since(self, domain: Domain, since: datetime) -> Iterator[StaleDocument]:
        """Those whose own review date has passed since `since`, aware."""
        return (
            one for one in self.of(domain) if one.review_by and passed_at(one.review_by) > since
        )

    def remind(self, domain: Domain) -> None:
        """Remind the owners of a few documents once a week, of each once a quarter at most."""
        reminders = self.reminders.last(domain.domain)
        last = reminders.get("")
        moment = self.clock()
        if not domain.aging.remind or (last and moment - last < _WEEK):
            return
        recent = {one for one, at in reminders.items() if one and moment - at < _QUARTER}
        due = [one for one in self.of(domain) if one.id not in recent][:MAX_REMINDERS]
        for one in due:
            self.suggest(_suggestion(domain.domain, one, reminders.get(one.id)))
        self.reminders.set(domain.domain, [one.id for one in due], moment)

    def notes(self, domain: str, answer: Answer) -> Iterator[str]:
        """About the first cited document that is past its own review date."""
        snapshot = self.snapshot_of(domain)
        cited = dict.fromkeys(one.document for one in answer.citations if one.document)
        for card in snapshot.cards(cited) if snapshot else ():
            if day := review_overdue(card, self._now()):
                title = short(card.title, 150)
                yield f"{title} says that it was to be reviewed by {on_day(day)}, which is past."
                return

    def home(self, domains: Sequence[Domain], showing: Showing) -> Iterator[Json]:
        for domain in domains:
            due = self.of(domain)
            lines = [
                f"• {link(one.url, short(one.title, 120))}: {one.reason()}"
                for one in due[:_MAX_HOME_LINES]
                if showing.names(domain.domain, one.id)
            ]
            if not lines:
                continue
            more = len(due) - _MAX_HOME_LINES
            if more > 0:
                command = f"`oncall docs stale {domain.domain}`"
                lines.append(f"and {more} more: {command} lists them")
            yield header(f"{sanitize_plain(domain.title)}: documents to look over")
            yield section("\n".join(lines), block_id=f"aging_stale_{domain.domain}")

    def _now(self) -> datetime:
        return self.clock().replace(tzinfo=UTC)


def _suggestion(domain: str, one: StaleDocument, last: datetime | None) -> Suggestion:
    """`last`: when its owner was last reminded; the same suggestion until that changes."""
    mark = hashlib.sha256(f"{domain}\x1f{one.id}".encode()).hexdigest()[:16]
    return Suggestion(
        id=f"aging-{mark}-{last:%Y%m%d}" if last else f"aging-{mark}",
        kind="review",
        domain=domain,
        document=one.id,
        question=f"{one.reason()}."[:1].upper() + f"{one.reason()}."[1:],
    )
