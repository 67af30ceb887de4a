"""A checklist and its progress, which follows from its presses in order of their time. Pure.

Nothing is counted up or overwritten, so the order in which workers store presses doesn't matter,
nor how often they do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from agents.runbooks.step import RunbookStep
from bot.feature import ChecklistRun, StepRun

ACTS: frozenset[str] = frozenset(("done", "skipped", "undone", "take", "finish", "copied"))
"""`copied`: the command of a step was opened to be copied; it changes no state."""
WHOLE = -1
"""The place of a step that means the whole checklist."""
PAUSE = timedelta(hours=1)
"""More between two ticks is no work on a step."""


@dataclass(frozen=True, kw_only=True)
class Runbook:
    """A section of steps as it was when the checklist began."""

    title: str
    heading: str
    heading_path: tuple[str, ...]
    tab: str
    url: str
    modified_at: datetime | None
    """Last edit of the document, UTC."""
    steps: tuple[RunbookStep, ...]
    links: tuple[str, ...] = ()
    """Addresses in the steps that stay links: documents of the same domain."""

    @property
    def name(self) -> str:
        heading = self.heading if self.heading != self.title else ""
        return " › ".join(filter(None, (self.title, heading)))


@dataclass(frozen=True, kw_only=True)
class Checklist:
    id: str
    domain: str
    channel: str
    thread_ts: str
    question_id: str
    document: str
    runbook: Runbook
    generation: int
    changed: str
    """Change of the runbook since the checklist began: '' | changed | gone."""
    started_by: str
    started_at: datetime
    """UTC without a zone, as all times here."""


@dataclass(frozen=True, kw_only=True)
class Press:
    """A button press. It asks for a state, so a second one changes nothing."""

    id: str
    step: int
    act: str
    by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """A person's report of a problem with a step."""

    id: str
    step: int
    words: str
    by: str
    at: datetime


@dataclass(frozen=True)
class PressedChecklist:
    """A checklist with all that people did to it, in any order."""

    checklist: Checklist
    presses: Sequence[Press]
    reports: Sequence[StepReport]


@dataclass(frozen=True, kw_only=True)
class StepMark:
    act: Literal["done", "skipped"]
    by: str
    at: datetime
    press: str


@dataclass(frozen=True, kw_only=True)
class ChecklistProgress:
    marks: Mapping[int, StepMark]
    """Step → how it was ticked off; open steps are missing."""
    driver: str
    driving_since: datetime
    last_at: datetime
    finished_by: str = ""
    finished_at: datetime | None = None
    reports: Mapping[int, Sequence[StepReport]] = field(default_factory=dict)
    version: int = 0
    """Grows with each press and report."""

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None


def progress_of(
    checklist: Checklist, presses: Iterable[Press], reports: Iterable[StepReport] = ()
) -> ChecklistProgress:
    """The first tick of a step counts; presses after the end do not."""
    ordered = sorted(presses, key=lambda one: (one.at, one.id))
    marks: dict[int, StepMark] = {}
    driver, since, last = checklist.started_by, checklist.started_at, checklist.started_at
    end: Press | None = None
    for press in ordered:
        if press.act == "finish":
            end = press
            break
        if press.act == "take":
            if driver != press.by:
                driver, since = press.by, press.at
        elif 0 <= press.step < len(checklist.runbook.steps):
            _tick(checklist.runbook.steps, marks, press)
        last = max(last, press.at)
    by_step: dict[int, list[StepReport]] = {}
    for report in sorted(reports, key=lambda one: (one.at, one.id)):
        by_step.setdefault(report.step, []).append(report)
    return ChecklistProgress(
        marks=marks,
        driver=driver,
        driving_since=since,
        last_at=last,
        finished_by=end.by if end else "",
        finished_at=end.at if end else None,
        reports=by_step,
        version=len(ordered) + sum(map(len, by_step.values())),
    )


def _tick(steps: Sequence[RunbookStep], marks: dict[int, StepMark], press: Press) -> None:
    """A step that isn't needed marks the open steps below it, too; undone, it opens them again."""
    if press.act == "undone":
        mark = marks.pop(press.step, None)
        for place in below(steps, press.step):
            if mark and place in marks and marks[place].press == mark.press:
                del marks[place]
    elif press.act in ("done", "skipped") and press.step not in marks:
        act: Literal["done", "skipped"] = "done" if press.act == "done" else "skipped"
        mark = StepMark(act=act, by=press.by, at=press.at, press=press.id)
        marks[press.step] = mark
        for place in below(steps, press.step) if act == "skipped" else ():
            marks.setdefault(place, mark)


def below(steps: Sequence[RunbookStep], place: int) -> list[int]:
    """Places of the steps below this one."""
    places = []
    for at in range(place + 1, len(steps)):
        if steps[at].level <= steps[place].level:
            break
        places.append(at)
    return places


def run_of(pressed: PressedChecklist) -> ChecklistRun:
    """What became of each step, for counts over many checklists. It has nobody's ticks: its people
    are the driver and those who reported a problem, by whom different people are told apart."""
    checklist, runbook = pressed.checklist, pressed.checklist.runbook
    progress = progress_of(checklist, pressed.presses, pressed.reports)
    own = _own_marks(progress)
    minutes = _minutes(checklist, progress, own)
    copied = {one.step for one in pressed.presses if one.act == "copied"}
    return ChecklistRun(
        document=checklist.document,
        place=(runbook.tab, *runbook.heading_path),
        name=runbook.name,
        url=runbook.url,
        driver=progress.driver,
        steps=tuple(
            StepRun(
                step=step,
                act=progress.marks[at].act if at in own else "",
                minutes=minutes.get(at),
                copied=at in copied,
                reporters=frozenset(one.by for one in progress.reports.get(at, ())),
            )
            for at, step in enumerate(runbook.steps)
        ),
    )


def _own_marks(progress: ChecklistProgress) -> set[int]:
    """Places that were ticked themselves, not with a skipped step above them."""
    first: dict[str, int] = {}
    for at in sorted(progress.marks):
        first.setdefault(progress.marks[at].press, at)
    return set(first.values())


def _minutes(checklist: Checklist, progress: ChecklistProgress, own: set[int]) -> dict[int, float]:
    """Place of a done step → minutes since the tick before; the first since the start."""
    minutes: dict[int, float] = {}
    before = checklist.started_at
    for at in sorted(own, key=lambda place: (progress.marks[place].at, place)):
        mark = progress.marks[at]
        if mark.act == "done" and timedelta() <= mark.at - before <= PAUSE:
            minutes[at] = (mark.at - before).total_seconds() / 60
        before = mark.at
    return minutes


def day(at: datetime) -> str:
    """A document's date, such as `27 March 2026`, the same for every reader."""
    return f"{at.day} {at:%B %Y}"


def lasted(start: datetime, end: datetime) -> str:
    """`under a minute`, `12 min`, `2 h 5 min`."""
    minutes = max(0, int((end - start).total_seconds() // 60))
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
