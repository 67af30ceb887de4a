"""Uses of runbook entries, their outcomes, and the record that they add up to. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import median
from typing import ClassVar, Literal, Protocol

from agents.runbooks.entries import RunbookEntry
from bot.bus.events import Event
from bot.feature import Verdicts

Outcome = Literal["", "unknown", "resolved", "failed"]
"""Empty: nobody worked with it, which is no use."""
GRADES: Mapping[str, str] = {
    "fixed": "It fixed it",
    "short": "One step short",
    "area": "Right area",
    "wrong": "Wrong",
}
"""Best first."""
MIN_USES, MIN_TIMES = 3, 5
"""Uses for more than their number, and resolution times for a median."""


@dataclass(frozen=True, kw_only=True)
class GradesDue(Event):
    """Ask for grades; as an event, so that only one worker does it."""

    kind: ClassVar[str] = "runbook_grade_due"
    question_id: str


@dataclass(frozen=True, kw_only=True)
class EntryGraded(Event):
    kind: ClassVar[str] = "runbook_grade"
    question_id: str
    entry: str
    grade: str
    user: str
    at: str
    """Slack's timestamp."""


def entry_key(entry: RunbookEntry) -> str:
    """Another one after each edit: `RunbookEntry.key` stays when only the first step changes."""
    words = " ".join([entry.key, entry.quote, *(cell.text for cell in entry.cells)]).split()
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:24]


@dataclass(frozen=True, kw_only=True)
class EntryUse:
    """An entry in the answer to one alert. Times are UTC without a zone."""

    question_id: str
    entry: str
    """See `entry_key`."""
    domain: str
    document: str
    name: str
    """The alert's."""
    began_at: datetime
    resolved_at: datetime | None = None
    outcome: Outcome = ""
    message_ts: str = ""
    """Timestamp of the message that asks for grades."""

    @property
    def channel(self) -> str:
        return self.question_id.partition(":")[0]


@dataclass(frozen=True, kw_only=True)
class Work:
    """What people did with an answer."""

    checklists: Sequence[bool] = ()
    """Whether each checklist that was begun from it is finished."""
    handed_off: bool = False
    verdicts: Verdicts = field(default_factory=Verdicts)

    @property
    def is_use(self) -> bool:
        feedback = self.verdicts.helpful + self.verdicts.unhelpful
        return bool(self.checklists or self.handed_off or feedback)

    @property
    def is_finished(self) -> bool:
        return any(self.checklists)


class EpisodeTimes(Protocol):
    """One kind of alert that an answer is about; UTC without a zone."""

    @property
    def name(self) -> str: ...
    @property
    def began_at(self) -> datetime: ...
    @property
    def resolved_at(self) -> datetime | None:
        """None while it fires."""
        ...


@dataclass(frozen=True, kw_only=True)
class UseSources:
    """What other features know of a question, by its id."""

    episodes: Callable[[str], Sequence[EpisodeTimes]]
    """None for a question that is no alert."""
    checklists: Callable[[str], Sequence[bool]]
    """Whether each checklist that was begun from the answer is finished."""
    is_handed_off: Callable[[str], bool]
    verdicts: Callable[[str], Verdicts]

    def work(self, question_id: str) -> Work:
        return Work(
            checklists=self.checklists(question_id),
            handed_off=self.is_handed_off(question_id),
            verdicts=self.verdicts(question_id),
        )


def settle(
    use: EntryUse,
    episodes: Sequence[EpisodeTimes],
    work: Work,
    grades: Mapping[str, int],
    entries: int,
) -> EntryUse:
    """The use as it turned out so far. `episodes`: of its alert; none once they are purged.
    `grades`: grade → people. `entries`: of the answer."""
    resolved_at = use.resolved_at
    if episodes:
        ends = [one.resolved_at for one in episodes if one.resolved_at]
        resolved_at = max(ends) if len(ends) == len(episodes) else None
    outcome = _outcome(work, grades, is_resolved=resolved_at is not None, is_only=entries == 1)
    return replace(use, resolved_at=resolved_at, outcome=outcome)


def _outcome(work: Work, grades: Mapping[str, int], *, is_resolved: bool, is_only: bool) -> Outcome:
    """Grades decide: the most frequent one, the worse of two as frequent.

    `is_only`: the answer has no other entry, so that work on the answer was work with this one."""
    if grades:
        order = list(GRADES)
        chosen = max(grades, key=lambda grade: (grades[grade], order.index(grade)))
        return "resolved" if chosen == "fixed" else "failed"
    if not (is_only and work.is_use):
        return ""
    helpful, unhelpful = work.verdicts.helpful, work.verdicts.unhelpful
    if work.handed_off or (unhelpful and unhelpful >= helpful):
        return "failed"
    return "resolved" if is_resolved and (work.is_finished or helpful) else "unknown"


@dataclass(frozen=True, kw_only=True)
class TrackRecord:
    used: int
    resolved: int
    unknown: int
    since: datetime
    """When the first use began."""
    failed_at: datetime | None
    """When the last use that failed began."""
    minutes: float | None
    """Median from the alert to its resolution; None for too few."""

    @property
    def failed(self) -> int:
        return self.used - self.resolved - self.unknown


def track_record(uses: Sequence[EntryUse]) -> TrackRecord | None:
    """None where the entry was never used."""
    used = [one for one in uses if one.outcome]
    if not used:
        return None
    resolved = [one for one in used if one.outcome == "resolved"]
    times = [
        (one.resolved_at - one.began_at).total_seconds() / 60
        for one in resolved
        if one.resolved_at and one.resolved_at >= one.began_at  # clocks may differ
    ]
    return TrackRecord(
        used=len(used),
        resolved=len(resolved),
        unknown=sum(one.outcome == "unknown" for one in used),
        since=min(one.began_at for one in used),
        failed_at=max((one.began_at for one in used if one.outcome == "failed"), default=None),
        minutes=median(times) if len(times) >= MIN_TIMES else None,
    )
