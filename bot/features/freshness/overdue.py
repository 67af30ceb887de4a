"""Documents due for review: listed for admins, suggested to their owners, named below answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agents.answer import Answer
from agents.freshness.stale_documents import (
    StaleDocument,
    on_day,
    passed_at,
    review_overdue,
    stale_documents,
)
from bot.blocks.kit import Json, header, link, section, short
from bot.blocks.sanitize.text import sanitize_plain
from bot.bus.events import Suggestion
from bot.db import now
from bot.features.freshness.citation_counts import CitationCountStore, today_utc
from bot.features.freshness.places import SnapshotOf
from bot.features.freshness.store import ReminderStore
from config.domain import Domain

MAX_REMINDERS = 3
"""Documents of a domain in a week."""
_WEEK, _QUARTER = timedelta(days=7), timedelta(days=90)
_MAX_LINES = 3


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

    def home(self, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            lines = [
                f"• {link(one.url, short(one.title, 120))}: {one.reason()}"
                for one in self.of(domain)
            ]
            if not lines:
                continue
            more = len(lines) - _MAX_LINES
            if more > 0:
                command = f"`oncall docs stale {domain.domain}`"
                lines[_MAX_LINES:] = [f"and {more} more: {command} lists them"]
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
