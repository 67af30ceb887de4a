"""*Flag outdated*: a reader says which cited place is out of date, and how; its owner decides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from sqlalchemy import ColumnElement, Engine, and_, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.answer import Answer
from agents.freshness.cited_places import CitedSection, has_changed
from agents.freshness.stale_documents import on_day
from bot.access.gate import EntryPoint, Gate
from bot.blocks.kit import MAX_TEXT, short
from bot.bus.events import Event, Suggestion, SuggestionDecided
from bot.db import now
from bot.feature import IsPrivate
from bot.features.freshness.places import SnapshotOf, kept_as, kept_place, place_meant
from bot.features.freshness.store import flags
from bot.questions.store import QuestionRecord, QuestionStore, decoded
from config.domain import Domain

MOST_NOTES = 2
MOST_A_DAY = 20
"""Flags of one person: an owner hears of five suggestions a day, and others have some, too."""
OUTCOMES = frozenset({"accepted", "dismissed", "gone"})
Address = Callable[[QuestionRecord], str]


@dataclass(frozen=True, kw_only=True)
class SourceFlagged(Event):
    """A reader says that a cited place is out of date."""

    kind: ClassVar[str] = "flag_outdated"
    question_id: str
    user: str
    number: int
    """Of the citation."""
    words: str


@dataclass(frozen=True, kw_only=True)
class Flaggable:
    """An answer of which this person may flag a source."""

    record: QuestionRecord
    answer: Answer
    domain: Domain
    private: bool
    """It was asked or answered between the asker and the bot: nobody else hears words of it."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    place: CitedSection
    """As it was then."""
    at: datetime
    is_accepted: bool


@dataclass(frozen=True, kw_only=True)
class FlagService:
    engine: Engine
    records: QuestionStore
    domains: Callable[[], Mapping[str, Domain]]
    is_private: IsPrivate
    gate: Gate
    snapshot_of: SnapshotOf
    suggest: Callable[[Suggestion], None]
    address: Address

    def flaggable(self, question_id: str, user: str) -> Flaggable | None:
        """None where there is nothing to flag, or it isn't theirs to."""
        record = self.records.get(question_id)
        domain = self.domains().get(record.domain) if record else None
        if record is None or domain is None or not record.answer:
            return None
        answer = decoded(record.answer)
        direct = record.channel.startswith("D")
        private = direct or self.is_private(domain, answer)
        if private and user != record.asker:
            return None
        if not self.gate.open_to(EntryPoint.HAND_OFF, user, [domain]):
            return None
        return Flaggable(record=record, answer=answer, domain=domain, private=private)

    def had_enough(self, user: str) -> bool:
        """Whether this person has flagged as much as anybody may in a day."""
        lately = and_(flags.c.flagged_by == user, flags.c.flagged_at > now() - timedelta(days=1))
        query = select(func.count()).select_from(flags).where(lately)
        with self.engine.connect() as connection:
            return int(connection.execute(query).scalar_one()) >= MOST_A_DAY

    def flag(self, event_id: str, event: SourceFlagged) -> None:
        """Keep it, and tell the owner. Called again after a crash, it is one flag."""
        question_id, user = event.question_id, event.user
        found = self.flaggable(question_id, user)
        cites = found.answer.citations if found else ()
        cited = [one for one in cites if one.number == event.number]
        if not found or not cited or not cited[0].document:
            return
        place = place_meant(cited[0], self.snapshot_of(found.domain.domain))
        mark = "flag-" + hashlib.sha256(event_id.encode()).hexdigest()[:16]
        if self.had_enough(user) and not self._is_kept(mark):
            return
        said = event.words.strip()[:MAX_TEXT]
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

    def _is_kept(self, mark: str) -> bool:
        with self.engine.connect() as connection:
            query = select(flags.c.id).where(flags.c.id == mark)
            return connection.execute(query).first() is not None

    def decided(self, event_id: str, event: SuggestionDecided) -> None:
        """What its owner made of it; a second time changes nothing."""
        if event.outcome not in OUTCOMES:
            return
        change = update(flags).where(flags.c.id == event.id, flags.c.outcome == "")
        with self.engine.begin() as connection:
            connection.execute(change.values(outcome=event.outcome, decided_by=event.by[:40]))

    def notes(self, domain: str, places: Sequence[CitedSection]) -> Iterator[str]:
        """Of those that say the same as when they were flagged: until somebody decides, and where
        the flag was accepted, until they say something else."""
        told: set[str] = set()
        for flag in self._standing(domain, {place.document for place in places}):
            for place in places:
                if place.key in told or not _is_of(flag.place, place):
                    continue
                told.add(place.key)
                named = short(_where(place) or place.title, 150)
                day = on_day(flag.at.date())
                yield (
                    f"“{named}” is out of date: a reader flagged it on {day}, and that was "
                    "accepted. The document doesn't say otherwise yet."
                    if flag.is_accepted
                    else f"“{named}” was flagged as out of date by a reader on {day}: waiting for "
                    "its owner."
                )
                if len(told) == MOST_NOTES:
                    return

    def new_since(self, domain: str, since: datetime) -> list[Flag]:
        """That wait, newest first, each place once. `since`: UTC, without a zone."""
        found = self._flags(domain, flags.c.outcome == "", flags.c.flagged_at >= since)
        return list({flag.place.key: flag for flag in reversed(found)}.values())[::-1]

    def _standing(self, domain: str, documents: set[str]) -> list[Flag]:
        """Those that wait come first."""
        of = flags.c.document.in_(documents)
        found = self._flags(domain, of, flags.c.outcome.in_(("", "accepted")))
        return sorted(found, key=lambda flag: flag.is_accepted)

    def _flags(self, domain: str, *which: ColumnElement[bool]) -> list[Flag]:
        query = (
            select(flags.c.kept, flags.c.flagged_at, flags.c.outcome)
            .where(flags.c.domain == domain, *which)
            .order_by(flags.c.flagged_at.desc())
            .limit(200)
        )
        with self.engine.connect() as connection:
            return [
                Flag(
                    place=kept_place(row.kept),
                    at=row.flagged_at,
                    is_accepted=row.outcome == "accepted",
                )
                for row in connection.execute(query)
            ]


def _is_of(flagged: CitedSection, place: CitedSection) -> bool:
    """Whether it is the place that was flagged, as it was then. Of one without marks only its
    nearest heading is known."""
    if not flagged.exact:
        return place.path == flagged.path or place.path.endswith(f" › {flagged.path}")
    return place.is_in(flagged) and not has_changed(flagged, place)


def _where(place: CitedSection) -> str:
    """The row, where it is one, and its heading."""
    return " › ".join(filter(None, (place.path, " ".join(place.row))))
