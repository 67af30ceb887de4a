"""What is wrong with a runbook entry, as far as the documents alone show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import ClassVar, Literal, get_args

from agents.alerts.reader import alerts_in
from agents.drill.rows import (
    DrillRow,
    Rename,
    made_up_alert,
    renamed,
    renames_in,
    row_key,
    rows_of,
)
from agents.freshness.stale_documents import on_day, review_overdue
from agents.runbooks.entries import Role, RunbookEntry
from agents.runbooks.lookup import read_document
from agents.runbooks.matching import RunbookMatch, match_alerts
from config.domain import Domain
from enrichment.chunk import DocumentCard, is_out_of_force, standing
from enrichment.extractive.lifecycle import document_id
from enrichment.language.foreign_words import language_of
from index.search import Snapshot

FindingKind = Literal[
    "not_found", "other_row", "several", "out_of_force", "review", "renamed", "link", "name", "rota"
]  # fmt: skip
_ACTIONS = frozenset[Role](("step", "escalation", "link", "related"))
MAX_OTHERS = 3


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Field names are JSON keys of stored results."""

    KINDS: ClassVar[tuple[str, ...]] = get_args(FindingKind)

    kind: FindingKind
    sentence: str
    """What is wrong, without a full stop. It names no other document."""
    detail: str = ""
    """The rest, such as the other document; '' where the sentence says all."""
    remedy: str
    documents: tuple[str, ...] = ()
    """Ids of other documents that `detail` speaks of."""


@dataclass(frozen=True, kw_only=True)
class Drill:
    """Fires the entries of one generation."""

    snapshot: Snapshot
    """What everyone who gets the results may read."""
    domain: Domain
    now: datetime
    """Aware."""
    renames: Sequence[Rename] = ()
    shapes: Sequence[str] = ()
    """Texts of real alerts with `{name}` in place of the name: `[prod] {name} on db-1`."""

    def rows(self, document: str) -> list[DrillRow]:
        """The document's entries; none of an unknown one."""
        cards = self.snapshot.cards([document])
        return [
            row for card in cards
            for row in rows_of(read_document(self.snapshot.chunks(card.id), card))
        ]  # fmt: skip

    def findings(self, row: DrillRow) -> list[Finding]:
        """The worst first; empty for an entry that is fine."""
        cards = self.snapshot.cards([row.entry.chunk.document_id])
        fired = filter(None, (self._fire(row, name) for name in row.names))
        return [
            *islice(fired, 1),
            *self._of_document(cards),
            *self._renamed(row),
            *self._linked(row),
        ]

    def _fire(self, row: DrillRow, name: str) -> Finding | None:
        alerts = alerts_in(made_up_alert(name, row.entry), by_bot=True)
        if not alerts:  # no message with such a name is read as an alert
            return None
        match = match_alerts(alerts[:1], self.snapshot, self.domain)[0]
        problem = self._problem(row, name, match)
        return problem or next(
            filter(None, (self._in_shape(one, name) for one in self.shapes)), None
        )

    def _problem(self, row: DrillRow, name: str, match: RunbookMatch) -> Finding | None:
        entry = row.entry
        hits = (*match.entries, *([match.also] if match.also else []))
        is_hit = row.key in map(row_key, hits)
        if match.outcome == "none":
            return _not_in_force(entry, name) if is_hit else _not_found(name)
        if entry.retired or match.outcome == "other_scope":
            return None
        if is_hit:
            return self._alone(row, match)
        step = _step(entry)
        same = any(_step(one) == step or one.kind != entry.kind for one in hits)
        if same or match.on or any(cell.scope for cell in entry.cells):
            return None  # its conditions may be of a kind that no made-up alert states
        return Finding(
            kind="other_row", sentence=f"an alert {name} finds another entry",
            detail=f"it finds {_listed(hits)}", documents=_documents(entry, hits),
            remedy="name the alert in one place, or write its whole name here",
        )  # fmt: skip

    def _alone(self, row: DrillRow, match: RunbookMatch) -> Finding | None:
        """A finding where an alert gets several first steps, and nothing tells which is meant.

        A section *PubSub* is no rival of a page *Pub/Sub*, which may not be about an alert."""
        entry, names = row.entry, set(row.names)
        others = [
            one for one in match.entries
            if row_key(one) != row.key and not self._are_apart(entry, one)
            and (one.kind == "row" or names & {one.name, *one.chunk.heading_path})
        ]  # fmt: skip
        if match.outcome != "several" or match.on or not others:
            return None
        return Finding(
            kind="several", sentence="another entry answers the same alert with another first step",
            detail=f"the other is {_listed(others)}", documents=_documents(entry, others),
            remedy="keep one of them, link to it from the other, or say for which alerts each is",
        )  # fmt: skip

    def _are_apart(self, one: RunbookEntry, other: RunbookEntry) -> bool:
        """Whether a reader can tell which is meant, or needn't: places of one document with
        headings of their own, rows of one table that differ in more than what to do, documents in
        two languages, and entries that link to one another's document, or to the same one."""
        ids = [entry.chunk.document_id for entry in (one, other)]
        if ids[0] == ids[1]:
            return one.place != other.place or _conditions(one) != _conditions(other)
        if self._languages(ids[0]) != self._languages(ids[1]):
            return True
        linked, its_linked = self._linked_by(one), self._linked_by(other)
        names, its_names = (
            {one, *(card.path for card in self.snapshot.cards([one]))} for one in ids
        )
        return bool(linked & (its_linked | its_names) or its_linked & names)

    def _linked_by(self, entry: RunbookEntry) -> set[str]:
        """Ids or paths of documents, and addresses of other pages."""
        card = next(iter(self.snapshot.cards([entry.chunk.document_id])), None)
        path = card.path if card else ""
        return {document_id(link, path) or link for link in entry.links}

    def _languages(self, document: str) -> set[str]:
        """Those of at least a fifth of its sentences; commands and names have none."""
        chunks = self.snapshot.chunks(document)
        counts = Counter(language_of(unit.text) for one in chunks for unit in one.units)
        del counts[""]
        return {language for language, count in counts.items() if 5 * count >= counts.total()}

    def _in_shape(self, shape: str, name: str) -> Finding | None:
        alerts = alerts_in(shape.replace("{name}", name), by_bot=True)
        matches = match_alerts(alerts, self.snapshot, self.domain)
        if not alerts or any(one.outcome != "none" or one.entries for one in matches):
            return None
        return Finding(
            kind="not_found", sentence=f"an alert {name}, written as this channel gets them, "
            "doesn't find it", remedy="write the name as the monitoring system sends it",
        )  # fmt: skip

    def _of_document(self, cards: Sequence[DocumentCard]) -> Iterator[Finding]:
        for card in cards:
            if day := review_overdue(card, self.now):
                yield Finding(
                    kind="review",
                    sentence=f"its document was to be reviewed by {on_day(day)}",
                    remedy="review it, and write the next date",
                )

    def _renamed(self, row: DrillRow) -> Iterator[Finding]:
        for one in () if row.entry.retired else renamed(row, self.renames):
            if self.snapshot.cards([one.document]):
                yield Finding(
                    kind="renamed", sentence=f"{one.old} in a command is called {one.new} now",
                    detail=f"“{one.place}” says so", documents=(one.document,),
                    remedy=f"write {one.new}, or correct that sentence",
                )  # fmt: skip

    def _linked(self, row: DrillRow) -> Iterator[Finding]:
        """Links to documents of the generation that are out of force."""
        linked = () if row.entry.retired else sorted(self._linked_by(row.entry))
        for card in self.snapshot.cards(linked):
            if is_out_of_force(card):
                state = standing(card, self.snapshot.documents)
                yield Finding(
                    kind="link", sentence="a link leads to a document that is out of force",
                    detail=f"“{card.title}” is {state}", documents=(card.id,),
                    remedy="link to what holds now",
                )  # fmt: skip


def all_renames(snapshot: Snapshot) -> list[Rename]:
    """Those that documents in force state."""
    current = [one.id for one in snapshot.documents.values() if not is_out_of_force(one)]
    return [one for document in current for one in renames_in(snapshot.chunks(document))]


def _not_found(name: str) -> Finding:
    return Finding(
        kind="not_found", sentence=f"an alert {name} doesn't find it",
        remedy="write the name as the monitoring system sends it",
    )  # fmt: skip


def _not_in_force(entry: RunbookEntry, name: str) -> Finding:
    return Finding(
        kind="out_of_force",
        sentence=f"its document is out of force, and no other has an entry for {name}",
        remedy="move the entry into the document that holds now, or mark it as retired",
    )


def _conditions(entry: RunbookEntry) -> list[str]:
    return [cell.text.casefold() for cell in entry.cells if cell.role not in _ACTIONS]


def _step(entry: RunbookEntry) -> str:
    return entry.first("step").casefold().rstrip(".")


def _listed(entries: Sequence[RunbookEntry]) -> str:
    """`“Title › Heading”, Name`, for each of the first few."""
    places = dict.fromkeys(f"“{one.place}”, {one.name}" for one in entries)
    return "; ".join(list(places)[:MAX_OTHERS])


def _documents(own: RunbookEntry, others: Sequence[RunbookEntry]) -> tuple[str, ...]:
    ids = dict.fromkeys(one.chunk.document_id for one in others)
    return tuple(one for one in ids if one != own.chunk.document_id)
