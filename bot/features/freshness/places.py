"""What cited places said when somebody was helped by them, and whether they still say it.

Only *Helpful* counts. A tick in the thread says that the question is settled, perhaps by what a
colleague wrote, and nothing of what the documents said.

Cited places as they are kept, and as the documents of today have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import TypeAdapter
from sqlalchemy import Engine, and_, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from agents.answer import Answer, Citation
from agents.freshness.cited_places import (
    CitedSection,
    changed_cell,
    has_changed,
    places_cited,
    whole_section,
)
from agents.freshness.stale_documents import on_day
from bot.blocks.kit import short
from bot.db import now
from bot.features.freshness.store import helped_places, helpful_seen
from bot.questions.store import QuestionStore, decoded
from bot.questions.tables import FeedbackRow
from config.errors import CopilotError
from index.search import Snapshot

log = structlog.get_logger()

_places = TypeAdapter(CitedSection)
SnapshotOf = Callable[[str], Snapshot | None]
"""Domain name → what everybody may read of it now; None where nothing is published."""


def kept_as(place: CitedSection) -> str:
    return _places.dump_json(place).decode()


def kept_place(text: str) -> CitedSection:
    return _places.validate_json(text)


def snapshots(published: Callable[[str], Snapshot] | None) -> SnapshotOf:
    """None as well where the documents can't be looked at now."""

    def of(domain: str) -> Snapshot | None:
        if published is None:
            return None
        try:
            return published(domain)
        except CopilotError as error:
            log.info("documents can't be looked at", domain=domain, reason=str(error))
            return None

    return of


def places_of(answer: Answer, snapshot: Snapshot) -> Iterator[CitedSection]:
    """Of all its citations, each once."""
    seen: set[str] = set()
    for citation in answer.citations:
        for place in places_cited(citation, snapshot):
            if place.key not in seen:
                seen.add(place.key)
                yield place


def place_meant(citation: Citation, snapshot: Snapshot | None) -> CitedSection:
    """The nearest that is known of it; without marks where nobody in particular may read it, or it
    is gone."""
    if snapshot:
        found = next(iter(places_cited(citation, snapshot)), None)
        if place := found or whole_section(citation, snapshot):
            return place
    heading = "" if citation.heading == citation.title else citation.heading
    return CitedSection(document=citation.document, title=citation.title, path=heading)


MOST_NOTES = 2
_AT_ONCE = 50
_LOOKED_BACK = timedelta(days=1)
"""Verdicts are given to a bot that runs: what is older was looked at."""
_LONGEST_CELL = 60


@dataclass(frozen=True, kw_only=True)
class HelpfulPlaceStore:
    engine: Engine
    records: QuestionStore
    snapshot_of: SnapshotOf

    def look(self) -> None:
        """Keep what the places of newly helpful answers say. Several may do so at once."""
        looked_at = 0
        for question_id, given_at in self._new_verdicts():
            record = self.records.get(question_id)
            if record is None or not record.answer:
                continue
            snapshot = self.snapshot_of(record.domain)
            if snapshot is None:
                continue
            looked_at += 1
            if looked_at > _AT_ONCE:
                return
            common = {"question_id": question_id, "domain": record.domain}
            rows = [
                {
                    **common,
                    "place": place.key,
                    "document": place.document,
                    "kept": kept_as(place),
                    "marked_at": given_at,
                }
                for place in places_of(decoded(record.answer), snapshot)
            ]
            try:
                with self.engine.begin() as connection:
                    for table in (helped_places, helpful_seen):
                        connection.execute(delete(table).where(table.c.question_id == question_id))
                    if rows:
                        connection.execute(insert(helped_places), rows)
                    connection.execute(insert(helpful_seen).values(**common, given_at=given_at))
            except IntegrityError:
                continue  # another worker has just done it

    def notes(self, domain: str, places: Sequence[CitedSection]) -> Iterator[str]:
        """Of those that say something else than when an answer from them last helped."""
        documents = {place.document for place in places}
        if not documents:
            return
        helped = select(FeedbackRow.question_id).where(FeedbackRow.verdict == "helpful")
        query = (
            select(helped_places.c.kept, helped_places.c.marked_at)
            .where(helped_places.c.domain == domain, helped_places.c.document.in_(documents))
            .where(helped_places.c.question_id.in_(helped))
            .order_by(helped_places.c.marked_at.desc())
            .limit(1_000)
        )
        with self.engine.connect() as connection:
            rows = [(kept_place(row.kept), row.marked_at) for row in connection.execute(query)]
        told = 0
        for place in places:
            kept, marked_at = next((row for row in rows if place.is_in(row[0])), (None, None))
            if kept is None or marked_at is None or not has_changed(kept, place):
                continue
            yield _told(kept, place, on_day(marked_at.date()))
            told += 1
            if told == MOST_NOTES:
                return

    def _new_verdicts(self) -> list[tuple[str, datetime]]:
        seen = and_(
            helpful_seen.c.question_id == FeedbackRow.question_id,
            helpful_seen.c.given_at >= FeedbackRow.given_at,
        )
        query = (
            select(FeedbackRow.question_id, func.max(FeedbackRow.given_at))
            .outerjoin(helpful_seen, seen)
            .where(FeedbackRow.verdict == "helpful", helpful_seen.c.question_id.is_(None))
            .where(FeedbackRow.given_at >= now() - _LOOKED_BACK)
            .group_by(FeedbackRow.question_id)
        )
        with self.engine.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(query)]


def _told(kept: CitedSection, place: CitedSection, day: str) -> str:
    named = short(place.name, 200)
    if place.row:
        named = f"The row “{short(' '.join(place.row), 80)}” of {named}"
    cell = changed_cell(kept, place)
    what = ""
    if cell and all(cell):
        before, after = (short(one, _LONGEST_CELL) for one in cell)
        what = f" ({before} → {after})"
    return f"{named} changed since an answer from it was last marked helpful, on {day}{what}."
