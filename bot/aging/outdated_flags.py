"""*Flag outdated*: a reader says which cited place is out of date, and how; its owner decides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.aging.cited_place import KnownPlace, has_changed
from agents.aging.stale_documents import on_day
from agents.answer import Answer
from bot.access.doors import Door
from bot.access.gate import Gate
from bot.aging.known_places import SnapshotOf, kept_as, kept_place, place_meant
from bot.memory.aging_tables import flags
from bot.memory.record import Record, Records, decoded, now
from bot.message.blockkit import short
from bot.message.modal import MAX_TEXT
from bot.owners.suggestion import Suggestion
from bot.question.asking import Asking
from config.domain import Domain

MOST_NOTES = 2
OUTCOMES = frozenset({"accepted", "dismissed", "gone"})
Address = Callable[[Record], str]


@dataclass(frozen=True, kw_only=True)
class Flaggable:
    """An answer of which this person may flag a source."""

    record: Record
    answer: Answer
    domain: Domain
    private: bool
    """It was asked or answered between the asker and the bot: nobody else hears words of it."""


@dataclass(frozen=True, kw_only=True)
class OutdatedFlags:
    engine: Engine
    records: Records
    asking: Asking
    gate: Gate
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]
    address: Address

    def flaggable(self, question_id: str, user: str) -> Flaggable | None:
        """None where there is nothing to flag, or it isn't theirs to."""
        record = self.records.get(question_id)
        domain = self.asking.domains().get(record.domain) if record else None
        if record is None or domain is None or not record.answer:
            return None
        answer = decoded(record.answer)
        direct = record.channel.startswith("D")
        private = direct or self.asking.is_private(domain, answer)
        if private and user != record.asker:
            return None
        if not self.gate.open_to(Door.HAND_OFF, user, [domain]):
            return None
        return Flaggable(record=record, answer=answer, domain=domain, private=private)

    def flag(self, event_id: str, *, question_id: str, user: str, number: int, words: str) -> None:
        """Keep it, and tell the owner. Called again after a crash, it is one flag."""
        found = self.flaggable(question_id, user)
        cited = [one for one in found.answer.citations if one.number == number] if found else []
        if not found or not cited or not cited[0].document:
            return
        place = place_meant(cited[0], self.snapshot_of(found.domain.domain))
        mark = "flag-" + hashlib.sha256(event_id.encode()).hexdigest()[:16]
        said = words.strip()[:MAX_TEXT]
        row = {
            "id": mark,
            "domain": found.domain.domain,
            "document": place.document,
            "place": place.key,
            "kept": kept_as(place),
            "words": said,
            "flagged_by": user,
            "question_id": question_id,
            "flagged_at": now(),
        }
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(flags).values(**row))
        except IntegrityError:
            pass  # an attempt before a crash kept it; whether the owner was told, nobody knows
        self.suggest(
            Suggestion(
                id=mark,
                kind="outdated",
                domain=found.domain.domain,
                document=place.document,
                heading=_where(place),
                question="" if found.private else found.record.text,
                words="" if found.private else said,
                by="" if found.private else user,
                question_id=question_id,
                channel=found.record.channel,
                permalink="" if found.private else self.address(found.record),
            )
        )

    def decided(self, flag: str, outcome: str, by: str) -> None:
        """What its owner made of it; a second time changes nothing."""
        if outcome not in OUTCOMES:
            return
        change = update(flags).where(flags.c.id == flag, flags.c.outcome == "")
        with self.engine.begin() as connection:
            connection.execute(change.values(outcome=outcome, decided_by=by[:40]))

    def notes(self, domain: str, places: Sequence[KnownPlace]) -> Iterator[str]:
        """Of those that wait for their owner and say the same as when they were flagged."""
        told: set[str] = set()
        for kept, at in self._waiting(domain, {place.document for place in places}):
            for place in places:
                unmarked = not kept.exact and kept.path.endswith(place.path)
                if place.key in told or not (place.is_in(kept) or unmarked):
                    continue
                if kept.exact and has_changed(kept, place):
                    continue
                told.add(place.key)
                named = short(_where(place) or place.title, 150)
                yield (
                    f"“{named}” was flagged as out of date by a reader on {on_day(at.date())}: "
                    "waiting for its owner."
                )
                if len(told) == MOST_NOTES:
                    return

    def new_since(self, domain: str, since: datetime) -> list[tuple[KnownPlace, datetime]]:
        """That wait, newest first. `since`: UTC, without a zone."""
        query = (
            select(flags.c.kept, flags.c.flagged_at)
            .where(flags.c.domain == domain, flags.c.outcome == "")
            .where(flags.c.flagged_at >= since)
            .order_by(flags.c.flagged_at.desc())
            .limit(50)
        )
        with self.engine.connect() as connection:
            return [(kept_place(row.kept), row.flagged_at) for row in connection.execute(query)]

    def _waiting(self, domain: str, documents: set[str]) -> list[tuple[KnownPlace, datetime]]:
        query = (
            select(flags.c.kept, flags.c.flagged_at)
            .where(flags.c.domain == domain, flags.c.outcome == "")
            .where(flags.c.document.in_(documents))
            .order_by(flags.c.flagged_at.desc())
            .limit(200)
        )
        with self.engine.connect() as connection:
            return [(kept_place(row.kept), row.flagged_at) for row in connection.execute(query)]


def _where(place: KnownPlace) -> str:
    """The row, where it is one, and its heading."""
    return " › ".join(filter(None, (place.path, " ".join(place.row))))


def flag_item(item: Any) -> dict[str, Any]:
    """What a stored item says, with what it must have."""
    return {
        "question_id": str(item["question_id"]),
        "user": str(item["user"]),
        "number": int(item["number"]),
        "words": str(item["words"]),
    }
