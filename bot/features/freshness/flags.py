"""*Flag outdated*: a reader reports outdated text in a cited place; its owner decides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from agents.freshness.cited_places import CitedSection, has_changed
from agents.freshness.stale_documents import on_day
from bot.blocks.kit import MAX_INPUT_CHARS, short
from bot.bus.events import Event, Suggestion, SuggestionDecided
from bot.feature import AnswerGate, FeatureContext, StoredAnswer
from bot.features.freshness.places import SnapshotOf, cited_place, dump_place, load_place
from bot.features.freshness.store import FlagRow, FlagStore
from bot.slack.messages import permalink
from durable.database import now
from index.permissions.acts import Act

MAX_NOTES = 2
MAX_FLAGS_PER_DAY = 20
"""Limit for one person: an owner gets five suggestions a day, and others flag, too."""
OUTCOMES = frozenset({"accepted", "dismissed", "gone"})


@dataclass(frozen=True, kw_only=True)
class SourceFlagged(Event):
    """A reader says that a cited place is out of date."""

    kind: ClassVar[str] = "flag_outdated"
    question_id: str
    user: str
    number: int
    """Number of the citation."""
    words: str


@dataclass(frozen=True, kw_only=True)
class Flag:
    place: CitedSection
    """The place as of the time of the flag."""
    at: datetime
    is_accepted: bool


@dataclass(frozen=True, kw_only=True)
class FlagService:
    context: FeatureContext
    flags: FlagStore
    answers: AnswerGate
    snapshot_of: SnapshotOf

    def flaggable(self, question_id: str, user: str) -> StoredAnswer | None:
        """None where there is nothing to flag, or this person may not."""
        return self.answers.open(Act.FLAG, question_id, user)

    def is_over_limit(self, user: str) -> bool:
        return self.flags.count(user, since=now() - timedelta(days=1)) >= MAX_FLAGS_PER_DAY

    def flag(self, event_id: str, event: SourceFlagged) -> None:
        """Store a flag and suggest it to the owner. Safe to repeat."""
        question_id, user = event.question_id, event.user
        target = self.flaggable(question_id, user)
        citations = target.answer.citations if target else ()
        cited = [one for one in citations if one.number == event.number]
        if not target or not cited or not cited[0].document:
            return
        place = cited_place(cited[0], self.snapshot_of(target.domain.domain))
        mark = "flag-" + hashlib.sha256(event_id.encode()).hexdigest()[:16]
        if self.is_over_limit(user) and not self.flags.exists(mark):
            return
        text = event.words.strip()[:MAX_INPUT_CHARS]
        self.flags.add(
            mark, domain=target.domain.domain, document=place.document, place=place.key,
            kept=dump_place(place), words=text, flagged_by=user, question_id=question_id,
        )  # fmt: skip
        url = "" if target.private else permalink(self.context.identity.team_url, target.record)
        # Also when it exists: the attempt that stored it may have crashed before this.
        self.context.suggest(
            Suggestion(
                id=mark,
                kind="outdated",
                domain=target.domain.domain,
                document=place.document,
                heading=_where(place),
                question="" if target.private else target.record.text,
                words="" if target.private else text,
                by="" if target.private else user,
                question_id=question_id,
                channel=target.record.channel,
                permalink=url,
            )
        )

    def record_outcome(self, event_id: str, event: SuggestionDecided) -> None:
        if event.outcome in OUTCOMES:
            self.flags.set_outcome(event.id, event.outcome, event.by)

    def notes(self, domain: str, places: Sequence[CitedSection]) -> Iterator[str]:
        """Of flagged places that have not changed since, while the flag waits or is accepted."""
        noted: set[str] = set()
        rows = self.flags.active(domain, {place.document for place in places})
        for flag in sorted(map(_flag, rows), key=lambda flag: flag.is_accepted):
            for place in places:
                if place.key in noted or not _is_about(flag.place, place):
                    continue
                noted.add(place.key)
                named = short(_where(place) or place.title, 150)
                day = on_day(flag.at.date())
                yield (
                    f"“{named}” is out of date: a reader flagged it on {day}, and that was "
                    "accepted. The document doesn't say otherwise yet."
                    if flag.is_accepted
                    else f"“{named}” was flagged as out of date by a reader on {day}: waiting for "
                    "its owner."
                )
                if len(noted) == MAX_NOTES:
                    return

    def new_since(self, domain: str, since: datetime) -> list[Flag]:
        """Waiting flags, newest first, each place once. `since`: UTC, without a zone."""
        flags = [_flag(row) for row in self.flags.waiting_since(domain, since)]
        return list({flag.place.key: flag for flag in reversed(flags)}.values())[::-1]


def _flag(row: FlagRow) -> Flag:
    return Flag(
        place=load_place(row.kept), at=row.flagged_at, is_accepted=row.outcome == "accepted"
    )


def _is_about(flagged: CitedSection, place: CitedSection) -> bool:
    """Unchanged. Of a place without marks only the nearest heading is known."""
    if not flagged.exact:
        return place.path == flagged.path or place.path.endswith(f" › {flagged.path}")
    return place.is_in(flagged) and not has_changed(flagged, place)


def _where(place: CitedSection) -> str:
    """The row, where it is one, and its heading."""
    return " › ".join(filter(None, (place.path, " ".join(place.row))))
