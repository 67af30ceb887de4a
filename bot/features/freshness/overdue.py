"""Documents to look over: listed for admins, suggested to their owners, named below answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, delete, insert, select

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
from bot.features.freshness.places import SnapshotOf
from bot.features.freshness.store import CitationCountStore, owners_reminded, today_utc
from config.domain import Domain

MOST_REMINDED = 3
"""Documents of a domain in a week."""
_WEEK, _QUARTER = timedelta(days=7), timedelta(days=90)
_SHOWN = 3
_THE_WEEK = ""
"""Stands for the document in a row that says when this was last done."""


@dataclass(frozen=True, kw_only=True)
class OverdueDocuments:
    engine: Engine
    counts: CitationCountStore
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]
    clock: Callable[[], datetime] = now
    """UTC, without a zone."""

    def of(self, domain: Domain) -> list[StaleDocument]:
        """The most important ones first."""
        snapshot = self.snapshot_of(domain.domain)
        if snapshot is None:
            return []
        return stale_documents(
            snapshot.documents.values(),
            self.counts.cited(domain.domain, today_utc()),
            review_months=domain.aging.review_months,
            now=self._now(),
        )

    def due_since(self, domain: Domain, since: datetime) -> Iterator[StaleDocument]:
        """Those whose own review date has passed since then. `since`: aware."""
        return (
            one for one in self.of(domain) if one.review_by and passed_at(one.review_by) > since
        )

    def remind(self, domain: Domain) -> None:
        """Tell the owners of a few, once a week; of each document once a quarter at most."""
        reminded = self._reminded(domain.domain)
        last = reminded.get(_THE_WEEK)
        moment = self.clock()
        if not domain.aging.remind or (last and moment - last < _WEEK):
            return
        lately = {one for one, at in reminded.items() if one and moment - at < _QUARTER}
        due = [one for one in self.of(domain) if one.id not in lately][:MOST_REMINDED]
        for one in due:
            self.suggest(_suggestion(domain.domain, one, reminded.get(one.id)))
        with self.engine.begin() as connection:
            for document in (_THE_WEEK, *(one.id for one in due)):
                row = {"domain": domain.domain, "document": document}
                connection.execute(
                    delete(owners_reminded).where(
                        owners_reminded.c.domain == domain.domain,
                        owners_reminded.c.document == document,
                    )
                )
                connection.execute(insert(owners_reminded).values(**row, reminded_at=moment))

    def notes(self, domain: str, answer: Answer) -> Iterator[str]:
        """Of the first cited document that is past its own review date."""
        snapshot = self.snapshot_of(domain)
        cited = dict.fromkeys(one.document for one in answer.citations if one.document)
        for card in snapshot.cards(cited) if snapshot else ():
            if day := review_overdue(card, self._now()):
                title = short(card.title, 150)
                yield f"{title} says that it was to be reviewed by {on_day(day)}, which is past."
                return

    def home(self, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            found = self.of(domain)
            if not found:
                continue
            lines = [f"• {link(one.url, short(one.title, 120))}: {one.told()}" for one in found]
            more = len(lines) - _SHOWN
            if more > 0:
                command = f"`oncall docs stale {domain.domain}`"
                lines[_SHOWN:] = [f"and {more} more: {command} lists them"]
            yield header(f"{sanitize_plain(domain.title)}: documents to look over")
            yield section("\n".join(lines), block_id=f"aging_stale_{domain.domain}")

    def _now(self) -> datetime:
        return self.clock().replace(tzinfo=UTC)

    def _reminded(self, domain: str) -> dict[str, datetime]:
        query = select(owners_reminded.c.document, owners_reminded.c.reminded_at).where(
            owners_reminded.c.domain == domain
        )
        with self.engine.connect() as connection:
            return {row.document: row.reminded_at for row in connection.execute(query)}


def _suggestion(domain: str, one: StaleDocument, last: datetime | None) -> Suggestion:
    """`last`: when its owner was last reminded. Until that is noted anew it is one suggestion."""
    mark = hashlib.sha256(f"{domain}\x1f{one.id}".encode()).hexdigest()[:16]
    return Suggestion(
        id=f"aging-{mark}-{last:%Y%m%d}" if last else f"aging-{mark}",
        kind="review",
        domain=domain,
        document=one.id,
        question=f"{one.told()}."[:1].upper() + f"{one.told()}."[1:],
    )
