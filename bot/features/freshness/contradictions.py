"""Pairs of places that contradict each other, found while answering: admins settle them, and the
owner of the rejected side gets a suggestion. No answer is changed by it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import ClassVar

from agents.answer import CITATION, Answer, Contradiction
from agents.freshness.cited_places import CitedSection, current_section, has_changed, section_text
from bot.blocks.kit import short
from bot.bus.events import Event, Suggestion
from bot.features.freshness.places import SnapshotOf, cited_place, dump_place, load_place
from bot.features.freshness.store import OPEN, ContradictionRow, ContradictionStore
from bot.questions.store import QuestionStore, decode_answer
from bot.showing import Showing
from config.domain import Domain
from durable.database import now
from enrichment.chunk import is_out_of_force


@dataclass(frozen=True, kw_only=True)
class ContradictionsMet(Event):
    """An answer cites places that contradict each other."""

    kind: ClassVar[str] = "contradictions_met"
    question_id: str


@dataclass(frozen=True, kw_only=True)
class ContradictionSettled(Event):
    """An admin chose which of two places is right."""

    kind: ClassVar[str] = "settle_contradiction"
    contradiction: str
    choice: str
    seen: str = ""
    user: str
    team: str = ""


CHOICES: frozenset[str] = frozenset(("one", "other", "none"))
_MAX_WORDS_CHARS = 500


@dataclass(frozen=True, kw_only=True)
class Sides:
    """An open pair, as today's documents have it."""

    id: str
    domain: str
    about: str
    one: CitedSection
    other: CitedSection
    one_says: str
    other_says: str
    one_url: str
    other_url: str
    met: int
    """Questions in whose answer both occurred."""
    found_at: datetime

    @property
    def seen(self) -> str:
        """A hash that changes with the text of either side, and with their order."""
        both = f"{self.one.key}{self.one.exact}{self.other.key}{self.other.exact}"
        return hashlib.sha256(both.encode()).hexdigest()[:12]


def shows(showing: Showing, sides: Sides) -> bool:
    """Whether the reader may read both sides; they count as shown then."""
    documents = (sides.one.document, sides.other.document)
    if not showing.reader.reads(sides.domain, documents):
        return False
    showing.note(sides.domain, documents, "passages")
    return True


def suggestion_of(sides: Sides, choice: str, user: str) -> Suggestion:
    """A suggestion to the owner of the rejected side."""
    kept_side, rejected = (sides.one, sides.other) if choice == "one" else (sides.other, sides.one)
    says = sides.one_says if choice == "one" else sides.other_says
    return Suggestion(
        id=f"contradiction-{sides.id}-{sides.found_at:%Y%m%d%H%M%S}",
        kind="contradiction",
        domain=sides.domain,
        document=rejected.document,
        heading=" › ".join(filter(None, (rejected.path, " ".join(rejected.row)))),
        question=sides.about,
        words=f"{kept_side.name} says otherwise: {short(says, _MAX_WORDS_CHARS)}",
        by=user,
        drawn_from=(kept_side.document, rejected.document),
    )


MAX_NOTES = 2
_MAX_ABOUT_CHARS = 200


@dataclass(frozen=True, kw_only=True)
class _Pair:
    id: str
    """The same in either order."""
    first: CitedSection
    second: CitedSection


@dataclass(frozen=True, kw_only=True)
class ContradictionService:
    contradictions: ContradictionStore
    records: QuestionStore
    domains: Callable[[], dict[str, Domain]]
    is_admin: Callable[[str, Domain], bool]
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]

    def record(self, question_id: str) -> None:
        """Store the contradictions of a question's answer. Safe to repeat."""
        record = self.records.get(question_id)
        if record is None or not record.answer:
            return
        for one in decode_answer(record.answer).contradictions:
            self._record(record.domain, question_id, one)

    def waiting(self, domain: str, *, limit: int, since: datetime | None = None) -> list[Sides]:
        """Pairs that everyone may read and that have not changed, most often met first."""
        rows = self.contradictions.open_in(domain, since)
        pairs = (self._sides(row, times) for row, times in rows)
        return list(islice((sides for sides in pairs if sides), limit))

    def decide(self, contradiction: str, choice: str, user: str, digest: str) -> None:
        """Settle a pair, by an admin of its domain; the first decision counts. The owner of the
        rejected side gets a suggestion. `digest`: `seen` of `Sides`; nothing is decided where a
        side has changed since the admin saw it."""
        row = self.contradictions.get(contradiction)
        domain = self.domains().get(row.domain) if row else None
        if row is None or domain is None or choice not in CHOICES:
            return
        if not self.is_admin(user, domain):
            return
        sides = self._sides(row)
        if sides is None or sides.seen != digest:
            return
        if self.contradictions.settle(contradiction, choice, user) and choice != "none":
            self.suggest(suggestion_of(sides, choice, user))

    def notes(self, domain: str, answer: Answer) -> Iterator[str]:
        """Of contradictions that are settled, or whose sides the answer doesn't both cite."""
        cited = {int(number) for number in CITATION.findall(answer.text)}
        for one in answer.contradictions[:MAX_NOTES]:
            chosen = self._chosen_side(domain, one)
            numbers = {one.one.number, one.other.number}
            if chosen == "" or (chosen is None and 0 not in numbers and numbers <= cited):
                continue
            sides = " and ".join(_named(side.title, side.heading) for side in (one.one, one.other))
            about = f" about {short(one.about, _MAX_ABOUT_CHARS)}" if one.about else ""
            if chosen:
                yield f"An admin decided that {chosen} holds: {sides} say different things{about}."
            else:
                yield f"Two sources say different things{about}: {sides}."

    def _chosen_side(self, domain: str, contradiction: Contradiction) -> str | None:
        """Name; '' for none of them, None where no admin has decided on the current texts."""
        pair = self._pair(domain, contradiction)
        row = self.contradictions.get(pair.id) if pair else None
        if pair is None or row is None or row.state == OPEN or self._has_changed(row, pair):
            return None
        text = {"one": row.one, "other": row.other}.get(row.state)
        place = load_place(text) if text else None
        return _named(place.title, place.path) if place else ""

    def _pair(self, domain: str, contradiction: Contradiction) -> _Pair | None:
        """None where both sides are one place, or not everyone may read one."""
        snapshot = self.snapshot_of(domain)
        first, second = (
            cited_place(side, snapshot) for side in (contradiction.one, contradiction.other)
        )
        if first.key == second.key or not (first.exact and second.exact):
            return None
        cards = snapshot.cards([first.document, second.document]) if snapshot else []
        if any(is_out_of_force(card) for card in cards):
            return None
        keys = sorted((first.key, second.key))
        mark = hashlib.sha256("\x1f".join((domain, *keys)).encode()).hexdigest()[:32]
        return _Pair(id=mark, first=first, second=second)

    def _record(self, domain: str, question_id: str, contradiction: Contradiction) -> None:
        pair = self._pair(domain, contradiction)
        if pair is None:
            return
        values = {
            "one": dump_place(pair.first),
            "other": dump_place(pair.second),
            "about": short(contradiction.about, _MAX_ABOUT_CHARS),
            "found_at": now(),
        }
        if not self.contradictions.add(pair.id, domain, **values):
            row = self.contradictions.get(pair.id)
            settled = row is not None and row.state != OPEN
            if row is not None and (not settled or self._has_changed(row, pair)):
                # Stores the current text: the earlier one may be deleted.
                unsettled = {"state": OPEN, "decided_by": ""}
                change = unsettled if settled else {"found_at": row.found_at}
                self.contradictions.set(pair.id, **{**values, **change})
            self.contradictions.set(pair.id, met_at=now())
        self.contradictions.add_sighting(pair.id, question_id, domain)

    def _has_changed(self, row: ContradictionRow, pair: _Pair) -> bool:
        """Whether a side has changed since the row was stored."""
        stored = {place.key: place for place in (load_place(row.one), load_place(row.other))}
        return any(
            side.key in stored and has_changed(stored[side.key], side)
            for side in (pair.first, pair.second)
        )

    def _sides(self, row: ContradictionRow, times: int = 0) -> Sides | None:
        """None where a side is deleted, has changed, or not everyone may read it."""
        snapshot = self.snapshot_of(row.domain)
        if snapshot is None:
            return None
        places = []
        for stored in (load_place(row.one), load_place(row.other)):
            place = current_section(stored, snapshot)
            if place is None or has_changed(stored, place):
                return None
            places.append(place)
        one, other = places
        urls = {card.id: card.url for card in snapshot.cards([one.document, other.document])}
        return Sides(
            id=row.id,
            domain=row.domain,
            about=row.about,
            one=one,
            other=other,
            one_says=section_text(one, snapshot),
            other_says=section_text(other, snapshot),
            one_url=urls.get(one.document, ""),
            other_url=urls.get(other.document, ""),
            met=times,
            found_at=row.found_at,
        )


def _named(title: str, heading: str) -> str:
    parts = (title, heading if heading != title else "")
    return " › ".join(short(part, 100) for part in parts if part)
