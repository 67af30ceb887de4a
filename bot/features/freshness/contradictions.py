"""Places that contradict each other, met while answering: one entry for a pair, for people to
settle. An answer is never changed by it.

Two places that contradict each other as people see them, and what the owner of the one that
wasn't kept is told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Literal, cast

from sqlalchemy import Engine, Row, Table, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.answer import CITED, Answer, Contradiction
from agents.freshness.cited_places import CitedSection, as_it_is_now, has_changed, text_of_place
from bot.blocks.kit import short
from bot.bus.events import Suggestion
from bot.db import now
from bot.features.freshness.places import SnapshotOf, kept_as, kept_place, place_meant
from bot.features.freshness.store import contradictions, contradictions_met
from bot.questions.store import QuestionStore, decoded
from config.domain import Domain
from enrichment.chunk import is_out_of_force

Choice = Literal["one", "other", "none"]
CHOICES: frozenset[str] = frozenset(("one", "other", "none"))
_LONGEST_WORDS = 500


@dataclass(frozen=True, kw_only=True)
class Sides:
    """A pair that waits, as the documents of today have it."""

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
    """Questions whose answer met it."""
    found_at: datetime

    @property
    def seen(self) -> str:
        """Changes with what either side says, and with which of them is the first."""
        both = f"{self.one.key}{self.one.exact}{self.other.key}{self.other.exact}"
        return hashlib.sha256(both.encode()).hexdigest()[:12]


def suggestion_of(sides: Sides, choice: Choice, user: str) -> Suggestion:
    """To the owner of the side that wasn't kept."""
    kept, lost = (sides.one, sides.other) if choice == "one" else (sides.other, sides.one)
    says = sides.one_says if choice == "one" else sides.other_says
    return Suggestion(
        id=f"contradiction-{sides.id}-{sides.found_at:%Y%m%d%H%M%S}",
        kind="contradiction",
        domain=sides.domain,
        document=lost.document,
        heading=" › ".join(filter(None, (lost.path, " ".join(lost.row)))),
        question=sides.about,
        words=f"{kept.name} says otherwise: {short(says, _LONGEST_WORDS)}",
        by=user,
    )


OPEN = "open"
MOST_NOTES = 2
_LONGEST_ABOUT = 200


@dataclass(frozen=True, kw_only=True)
class _Pair:
    id: str
    """The same in either order."""
    first: CitedSection
    second: CitedSection


@dataclass(frozen=True, kw_only=True)
class ContradictionStore:
    engine: Engine
    records: QuestionStore
    domains: Callable[[], dict[str, Domain]]
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]

    def met(self, question_id: str) -> None:
        """What the answer to a question met. Called again, nothing is counted twice."""
        record = self.records.get(question_id)
        if record is None or not record.answer:
            return
        for one in decoded(record.answer).contradictions:
            self._met(record.domain, question_id, one)

    def waiting(self, domain: str, *, most: int, since: datetime | None = None) -> list[Sides]:
        """Those of which both sides may be read by everybody and say what they said, most often
        met first. `since`: only those found later; UTC, without a zone."""
        count = (
            select(func.count())
            .select_from(contradictions_met)
            .where(contradictions_met.c.contradiction == contradictions.c.id)
            .scalar_subquery()
        )
        query = (
            select(contradictions, count.label("times"))
            .where(contradictions.c.domain == domain, contradictions.c.state == OPEN)
            .order_by(count.desc(), contradictions.c.found_at.desc(), contradictions.c.id)
        )
        if since:
            query = query.where(contradictions.c.found_at >= since)
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
        found = (self._sides(row) for row in rows)
        return list(islice((sides for sides in found if sides), most))

    def decide(self, contradiction: str, choice: str, user: str, seen: str) -> None:
        """By an admin of its domain; whoever is first decides. The owner of the side that isn't
        kept is told what the other one says. `seen`: see `Sides`; where a side says something else
        than the admin saw, nothing is decided."""
        row = self._row(contradiction)
        domain = self.domains().get(row.domain) if row else None
        if row is None or domain is None or user not in domain.admins or choice not in CHOICES:
            return
        sides = self._sides(row)
        if sides is None or sides.seen != seen:
            return
        change = update(contradictions).where(
            contradictions.c.id == contradiction, contradictions.c.state == OPEN
        )
        with self.engine.begin() as connection:
            connection.execute(change.values(state=choice, decided_by=user))
        decided = self._row(contradiction)
        is_theirs = decided and (decided.state, decided.decided_by) == (choice, user)
        if is_theirs and choice != "none":
            self.suggest(suggestion_of(sides, cast("Choice", choice), user))

    def notes(self, domain: str, answer: Answer) -> Iterator[str]:
        """Where an answer doesn't cite both sides itself, or people have decided between them."""
        said = {int(number) for number in CITED.findall(answer.text)}
        for one in answer.contradictions[:MOST_NOTES]:
            kept = self._kept(domain, one)
            numbers = {one.one.number, one.other.number}
            if kept == "" or (kept is None and 0 not in numbers and numbers <= said):
                continue
            sides = " and ".join(_named(side.title, side.heading) for side in (one.one, one.other))
            about = f" about {short(one.about, _LONGEST_ABOUT)}" if one.about else ""
            if kept:
                yield f"An admin decided that {kept} holds: {sides} say different things{about}."
            else:
                yield f"Two sources say different things{about}: {sides}."

    def _kept(self, domain: str, met: Contradiction) -> str | None:
        """The side that people decided for; '' for none, None where nobody decided on what they
        say now."""
        pair = self._pair(domain, met)
        row = self._row(pair.id) if pair else None
        if pair is None or row is None or row.state == OPEN or self._says_else(row, pair):
            return None
        kept = {"one": row.one, "other": row.other}.get(row.state)
        place = kept_place(kept) if kept else None
        return _named(place.title, place.path) if place else ""

    def _pair(self, domain: str, met: Contradiction) -> _Pair | None:
        """None where it is none, or can't be shown to people: not everybody may read a side."""
        snapshot = self.snapshot_of(domain)
        first, second = (place_meant(side, snapshot) for side in (met.one, met.other))
        if first.key == second.key or not (first.exact and second.exact):
            return None
        known = snapshot.cards([first.document, second.document]) if snapshot else []
        if any(is_out_of_force(card) for card in known):
            return None
        keys = sorted((first.key, second.key))
        mark = hashlib.sha256("\x1f".join((domain, *keys)).encode()).hexdigest()[:32]
        return _Pair(id=mark, first=first, second=second)

    def _met(self, domain: str, question_id: str, met: Contradiction) -> None:
        found = self._pair(domain, met)
        if found is None:
            return
        pair, first, second = found.id, found.first, found.second
        values = {
            "one": kept_as(first),
            "other": kept_as(second),
            "about": short(met.about, _LONGEST_ABOUT),
            "found_at": now(),
        }
        fresh = {"id": pair, "domain": domain, "state": OPEN, "decided_by": "", "met_at": now()}
        if not self._inserted(contradictions, {**fresh, **values}):
            row = self._row(pair)
            settled = row is not None and row.state != OPEN
            if row is not None and (not settled or self._says_else(row, found)):
                # Kept as it is now: what it said when it was first met may be gone.
                reopened = {"state": OPEN, "decided_by": ""} if settled else {}
                was = {} if settled else {"found_at": row.found_at}
                self._update(pair, {**values, **reopened, **was})
            self._update(pair, {"met_at": now()})
        of = {"contradiction": pair, "question_id": question_id, "domain": domain}
        self._inserted(contradictions_met, {**of, "met_at": now()})

    def _says_else(self, row: Row[tuple[str]], pair: _Pair) -> bool:
        """Whether a side changed since people settled it."""
        kept = {place.key: place for place in (kept_place(row.one), kept_place(row.other))}
        return any(
            side.key in kept and has_changed(kept[side.key], side)
            for side in (pair.first, pair.second)
        )

    def _sides(self, row: Row[tuple[str]]) -> Sides | None:
        """None where a side is gone, says something else, or isn't for everybody to read."""
        snapshot = self.snapshot_of(row.domain)
        places = []
        for kept in (kept_place(row.one), kept_place(row.other)):
            place = as_it_is_now(kept, snapshot) if snapshot else None
            if place is None or has_changed(kept, place):
                return None
            places.append(place)
        one, other = places
        if snapshot is None:
            return None
        urls = {card.id: card.url for card in snapshot.cards([one.document, other.document])}
        return Sides(
            id=row.id,
            domain=row.domain,
            about=row.about,
            one=one,
            other=other,
            one_says=text_of_place(one, snapshot),
            other_says=text_of_place(other, snapshot),
            one_url=urls.get(one.document, ""),
            other_url=urls.get(other.document, ""),
            met=getattr(row, "times", 0),
            found_at=row.found_at,
        )

    def _row(self, contradiction: str) -> Row[tuple[str]] | None:
        query = select(contradictions).where(contradictions.c.id == contradiction)
        with self.engine.connect() as connection:
            return connection.execute(query).first()

    def _inserted(self, table: Table, values: dict[str, object]) -> bool:
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(table).values(**values))
        except IntegrityError:
            return False
        return True

    def _update(self, contradiction: str, values: dict[str, object]) -> None:
        change = update(contradictions).where(contradictions.c.id == contradiction)
        with self.engine.begin() as connection:
            connection.execute(change.values(**values))


def _named(title: str, heading: str) -> str:
    parts = (title, heading if heading != title else "")
    return " › ".join(short(part, 100) for part in parts if part)
