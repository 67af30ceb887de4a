"""Cited places: as stored, as in today's documents, and whether a helpful one has changed since.

Only *Helpful* counts. A tick in the thread settles the question, perhaps by a colleague's reply,
and proves nothing about the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from pydantic import TypeAdapter

from agents.answer import Answer, Citation
from agents.freshness.cited_places import (
    CitedSection,
    changed_cell,
    cited_sections,
    has_changed,
    whole_section,
)
from agents.freshness.stale_documents import on_day
from bot.blocks.kit import short
from bot.features.freshness.citation_store import HelpfulPlaceStore
from bot.questions.store import QuestionStore, decode_answer
from config.errors import CopilotError, DatabaseAway
from durable.database import now, read_stored
from index.search import Snapshot

log = structlog.get_logger()

_places = TypeAdapter(CitedSection)
SnapshotOf = Callable[[str], Snapshot | None]
"""Domain name → a snapshot of what everyone may read now; None where nothing is published or
readable."""


def dump_place(place: CitedSection) -> str:
    return _places.dump_json(place).decode()


def load_place(text: str) -> CitedSection:
    return read_stored(_places, text, "place")


def snapshots(published: Callable[[str], Snapshot] | None) -> SnapshotOf:
    def of(domain: str) -> Snapshot | None:
        if published is None:
            return None
        try:
            return published(domain)
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError as error:
            log.info("cited documents can't be read", domain=domain, reason=str(error))
            return None

    return of


def places_of(answer: Answer, snapshot: Snapshot) -> Iterator[CitedSection]:
    """The places of all its citations, each once."""
    keys: set[str] = set()
    for citation in answer.citations:
        for place in cited_sections(citation, snapshot):
            if place.key not in keys:
                keys.add(place.key)
                yield place


def cited_place(citation: Citation, snapshot: Snapshot | None) -> CitedSection:
    """Without marks where the document is deleted, or not everyone may read it."""
    if snapshot:
        place = next(iter(cited_sections(citation, snapshot)), None)
        if place := place or whole_section(citation, snapshot):
            return place
    heading = "" if citation.heading == citation.title else citation.heading
    return CitedSection(document=citation.document, title=citation.title, path=heading)


MAX_NOTES = 2
_BATCH_SIZE = 50
_LOOKBACK = timedelta(days=1)
"""Verdicts arrive while a bot runs: older ones were processed."""
_MAX_CELL_CHARS = 60


@dataclass(frozen=True, kw_only=True)
class HelpfulPlaceService:
    helpful: HelpfulPlaceStore
    records: QuestionStore
    snapshot_of: SnapshotOf

    def collect(self) -> None:
        """Store the places of newly helpful answers. Several workers may do so at once."""
        processed = 0
        for question_id, given_at in self.helpful.new_verdicts(now() - _LOOKBACK):
            record = self.records.get(question_id)
            if record is None or not record.answer:
                continue
            snapshot = self.snapshot_of(record.domain)
            if snapshot is None:
                continue
            processed += 1
            if processed > _BATCH_SIZE:
                return
            places = [
                {"place": place.key, "document": place.document, "kept": dump_place(place)}
                for place in places_of(decode_answer(record.answer), snapshot)
            ]
            self.helpful.replace(question_id, record.domain, given_at, places)

    def notes(self, domain: str, places: Sequence[CitedSection]) -> Iterator[str]:
        """One for each place that has changed since an answer from it was last helpful."""
        documents = {place.document for place in places}
        if not documents:
            return
        rows = self.helpful.places(domain, documents)
        helpful = [(load_place(text), marked_at) for text, marked_at in rows]
        count = 0
        for place in places:
            before, marked_at = next((row for row in helpful if place.is_in(row[0])), (None, None))
            if before and marked_at and has_changed(before, place):
                yield _change_note(before, place, on_day(marked_at.date()))
                count += 1
            if count == MAX_NOTES:
                return


def _change_note(old: CitedSection, place: CitedSection, day: str) -> str:
    name = short(place.name, 200)
    if place.row:
        name = f"The row “{short(' '.join(place.row), 80)}” of {name}"
    cell = changed_cell(old, place)
    change = ""
    if cell and all(cell):
        before, after = (short(one, _MAX_CELL_CHARS) for one in cell)
        change = f" ({before} → {after})"
    return f"{name} changed since an answer from it was last marked helpful, on {day}{change}."
