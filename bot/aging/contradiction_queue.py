"""Places that contradict each other, met while answering: one entry for a pair, for people to
settle. An answer is never changed by it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from sqlalchemy import Engine, Row, Table, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.aging.cited_place import KnownPlace, as_it_is_now, has_changed, text_of_place
from agents.answer import CITED, Answer, Contradiction
from bot.aging.known_places import SnapshotOf, kept_as, kept_place, place_meant
from bot.memory.aging_tables import contradictions, contradictions_met
from bot.memory.record import Records, decoded, now
from bot.message.blockkit import short
from bot.owners.suggestion import Suggestion
from config.domain import Domain
from enrichment.standing import is_out_of_force

Choice = Literal["one", "other", "none"]
CHOICES: frozenset[str] = frozenset(("one", "other", "none"))
OPEN = "open"
MOST_NOTES = 2
_LONGEST_ABOUT = 200
_LONGEST_WORDS = 500


@dataclass(frozen=True, kw_only=True)
class Sides:
    """A pair that waits, as the documents of today have it."""

    id: str
    domain: str
    about: str
    one: KnownPlace
    other: KnownPlace
    one_says: str
    other_says: str
    one_url: str
    other_url: str
    met: int
    """Questions whose answer met it."""
    found_at: datetime


@dataclass(frozen=True, kw_only=True)
class ContradictionQueue:
    engine: Engine
    records: Records
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
            .limit(100)
        )
        if since:
            query = query.where(contradictions.c.found_at >= since)
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
        found = (self._sides(row) for row in rows)
        return [sides for sides in found if sides][:most]

    def decide(self, contradiction: str, choice: str, user: str) -> None:
        """By an admin of its domain; whoever is first decides. The owner of the side that isn't
        kept is told what the other one says."""
        row = self._row(contradiction)
        domain = self.domains().get(row.domain) if row else None
        if row is None or domain is None or user not in domain.admins or choice not in CHOICES:
            return
        sides = self._sides(row)
        again = row.state == choice and row.decided_by == user
        if row.state != OPEN and not again:
            return
        change = update(contradictions).where(
            contradictions.c.id == contradiction, contradictions.c.state == OPEN
        )
        with self.engine.begin() as connection:
            connection.execute(change.values(state=choice, decided_by=user))
        if sides and choice != "none":
            self.suggest(_suggestion(sides, cast("Choice", choice), user))

    def notes(self, answer: Answer) -> Iterator[str]:
        """Where an answer doesn't cite both sides itself."""
        said = {int(number) for number in CITED.findall(answer.text)}
        for one in answer.contradictions[:MOST_NOTES]:
            numbers = {one.one.number, one.other.number}
            if 0 in numbers or not numbers <= said:
                sides = " and ".join(
                    _named(side.title, side.heading) for side in (one.one, one.other)
                )
                about = f" about {short(one.about, _LONGEST_ABOUT)}" if one.about else ""
                yield f"Two sources say different things{about}: {sides}."

    def _met(self, domain: str, question_id: str, met: Contradiction) -> None:
        snapshot = self.snapshot_of(domain)
        first, second = (place_meant(side, snapshot) for side in (met.one, met.other))
        if first.key == second.key:
            return
        known = snapshot.cards([first.document, second.document]) if snapshot else []
        if any(is_out_of_force(card) for card in known):
            return
        keys = sorted((first.key, second.key))
        pair = hashlib.sha256("\x1f".join((domain, *keys)).encode()).hexdigest()[:32]
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
            if row is not None and (not settled or self._says_else(row, first, second)):
                # Kept as it is now: what it said when it was first met may be gone.
                reopened = {"state": OPEN, "decided_by": ""} if settled else {}
                was = {} if settled else {"found_at": row.found_at}
                self._update(pair, {**values, **reopened, **was})
            self._update(pair, {"met_at": now()})
        of = {"contradiction": pair, "question_id": question_id, "domain": domain}
        self._inserted(contradictions_met, {**of, "met_at": now()})

    def _says_else(self, row: Row[tuple[str]], first: KnownPlace, second: KnownPlace) -> bool:
        """Whether a side changed since people settled it."""
        kept = {place.key: place for place in (kept_place(row.one), kept_place(row.other))}
        return any(
            side.key in kept and has_changed(kept[side.key], side) for side in (first, second)
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


def _suggestion(sides: Sides, choice: Choice, user: str) -> Suggestion:
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


def _named(title: str, heading: str) -> str:
    parts = (title, heading if heading != title else "")
    return " › ".join(short(part, 100) for part in parts if part)


def both_sides(
    sides: Sequence[Sides],
) -> Iterator[tuple[Sides, Sequence[tuple[KnownPlace, str, str]]]]:
    """Each with (place, address, what it says) of either side."""
    for pair in sides:
        yield (
            pair,
            (
                (pair.one, pair.one_url, pair.one_says),
                (pair.other, pair.other_url, pair.other_says),
            ),
        )
