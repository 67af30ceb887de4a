"""Counts of a runbook's steps over its checklists, for a document as it reads now, and how admins
and owners of documents read them. Pure.

A person is the driver of a checklist. Fewer than `MIN_PEOPLE` are never counted: a smaller number
would say what one of them did."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from agents.runbooks.step import RunbookStep
from bot.blocks.kit import Json, header, link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.bus.events import Suggestion
from bot.feature import ChecklistRun, StepRun
from config.domain import Domain

MIN_PEOPLE = 3
MIN_REPORTERS = 2
"""People; how many they are is said from `MIN_PEOPLE` on."""

Place = tuple[str, tuple[str, ...]]
"""Document, and tab and headings of a section."""
Trouble = Literal["skipped", "reported"]


@dataclass(frozen=True)
class Tally:
    """Checklists, and their drivers."""

    runs: int
    people: int

    @property
    def is_open(self) -> bool:
        """Whether it may be said."""
        return self.people >= MIN_PEOPLE


@dataclass(frozen=True, kw_only=True)
class StepCount:
    number: str
    """As it is now."""
    words: str
    """Its text, plain."""
    text: str
    """The same as written, in one line."""
    ticked: Tally
    """Where it was ticked off itself: done, or not needed."""
    skipped: Tally
    copied: Tally
    reporters: int
    minutes: float | None
    """Median of where it was done; None where too few were timed."""
    is_conditional: bool
    """Its author says when it is needed."""

    @property
    def is_skipped(self) -> bool:
        """By most people, in most checklists; one person's habit is nothing."""
        runs = 3 * self.skipped.runs >= 2 * self.ticked.runs
        people = 3 * self.skipped.people >= 2 * self.ticked.people
        return self.skipped.is_open and runs and people and not self.is_conditional

    @property
    def troubles(self) -> Iterator[Trouble]:
        if self.is_skipped:
            yield "skipped"
        if self.reporters >= MIN_REPORTERS:
            yield "reported"


@dataclass(frozen=True, kw_only=True)
class RunbookCount:
    place: Place
    name: str
    url: str
    total: Tally
    minutes: float | None
    """Median of a checklist, without its pauses; None where too few were timed."""
    steps: tuple[StepCount, ...]


def by_place(runs: Iterable[ChecklistRun]) -> dict[Place, list[ChecklistRun]]:
    """Checklists of enough people, by section."""
    places: dict[Place, list[ChecklistRun]] = defaultdict(list)
    for run in runs:
        if any(step.act for step in run.steps):
            places[run.document, run.place].append(run)
    return {place: of for place, of in places.items() if _tally(of).is_open}


def count(runs: Sequence[ChecklistRun], now: Sequence[RunbookStep]) -> RunbookCount:
    """`runs`: of one section, the newest first. `now`: its steps as they are published; an edited
    step is a new one, which nobody has met yet."""
    met: dict[tuple[str, int], list[tuple[ChecklistRun, StepRun]]] = defaultdict(list)
    for run in runs:
        for key, step in zip(_keys([one.step for one in run.steps]), run.steps, strict=True):
            met[key].append((run, step))
    timed = [(run, _minutes(one.minutes for one in run.steps)) for run in runs]
    newest = runs[0]
    return RunbookCount(
        place=(newest.document, newest.place),
        name=newest.name,
        url=newest.url,
        total=_tally(runs),
        minutes=_median(timed),
        steps=tuple(
            _step_count(step, key[0], met[key])
            for key, step in zip(_keys(now), now, strict=True)
            if key in met
        ),
    )


def _step_count(
    now: RunbookStep, text: str, met: Sequence[tuple[ChecklistRun, StepRun]]
) -> StepCount:
    return StepCount(
        number=now.number,
        words=now.words,
        text=text,
        ticked=_tally(run for run, step in met if step.act),
        skipped=_tally(run for run, step in met if step.act == "skipped"),
        copied=_tally(run for run, step in met if step.copied),
        reporters=len({who for _, step in met for who in step.reporters}),
        minutes=_median((run, step.minutes) for run, step in met),
        is_conditional=bool(now.condition),
    )


def _keys(steps: Sequence[RunbookStep]) -> list[tuple[str, int]]:
    """(text, which of those with this text); the numbers of steps change when one is added."""
    times: dict[str, int] = defaultdict(int)
    keys = []
    for step in steps:
        text = " ".join(step.text.split())
        keys.append((text, times[text]))
        times[text] += 1
    return keys


def _minutes(steps: Iterable[float | None]) -> float | None:
    """Of a checklist; None where none of its steps was timed."""
    timed = [one for one in steps if one is not None]
    return sum(timed) if timed else None


def _median(timed: Iterable[tuple[ChecklistRun, float | None]]) -> float | None:
    minutes = [(run, one) for run, one in timed if one is not None]
    is_open = _tally(run for run, _ in minutes).is_open
    return median(one for _, one in minutes) if is_open else None


def _tally(runs: Iterable[ChecklistRun]) -> Tally:
    drivers = [run.driver for run in runs]
    return Tally(len(drivers), len(set(drivers)))


MAX_STEPS = 4
MAX_NAME_CHARS, MAX_WORDS_CHARS, MAX_QUOTE_CHARS = 120, 100, 200


def suggestion(domain: str, runbook: RunbookCount, step: StepCount, trouble: Trouble) -> Suggestion:
    """The same for good while the step reads the same, however the counts grow."""
    document, place = runbook.place
    key = "\x1f".join((domain, document, *place, step.text, trouble))
    return Suggestion(
        id=f"steps-{hashlib.sha256(key.encode()).hexdigest()[:24]}",
        kind="steps",
        domain=domain,
        document=document,
        heading=place[-1] if len(place) > 1 else "",
        question=suggestion_text(step, trouble),
        drawn_from=(document,),
    )


def suggestion_text(step: StepCount, trouble: Trouble) -> str:
    """Message text: what happened, the step's own words, and what may be done about it."""
    quote = f"“{short(step.words, MAX_QUOTE_CHARS).rstrip('.')}”"
    if trouble == "reported":
        many = step.reporters >= MIN_PEOPLE
        who = f"{step.reporters} people" if many else "Different people"
        return f"{who} reported step {step.number} as wrong or outdated: {quote}."
    return (
        f"Step {step.number}, {quote}, was marked not needed in {step.skipped.runs} of the "
        f"{step.ticked.runs} runs that ticked it off. Mark it “Only if …”, move it, or take it out."
    )


def home_blocks(domain: Domain, runbooks: Sequence[RunbookCount]) -> Iterator[Json]:
    if not runbooks:
        return
    yield header(f"{sanitize_plain(domain.title)}: how runbooks are used")
    for number, one in enumerate(runbooks):
        yield section(_runbook(one), block_id=f"step_counts_{domain.domain}_{number}")


def _runbook(one: RunbookCount) -> str:
    total = one.total
    head = (
        f"*{link(one.url, short(one.name, MAX_NAME_CHARS))}*: {total.runs} runs by "
        f"{total.people} people"
    )
    lines = [head if one.minutes is None else f"{head}, median {_duration(one.minutes)}"]
    longest = max(one.steps, key=lambda step: step.minutes or 0.0, default=None)
    notable = ((step, list(_facts(step, is_longest=step is longest))) for step in one.steps)
    listed = [(step, facts) for step, facts in notable if facts]
    for step, facts in listed[:MAX_STEPS]:
        words = sanitize_mrkdwn(short(step.words, MAX_WORDS_CHARS))
        lines.append(f"• Step {sanitize_mrkdwn(step.number)}, “{words}”: {', '.join(facts)}")
    if len(listed) > MAX_STEPS:
        lines.append(f"and {len(listed) - MAX_STEPS} more")
    return "\n".join(lines)


def _facts(step: StepCount, *, is_longest: bool) -> Iterator[str]:
    for trouble in step.troubles:
        if trouble == "skipped":
            yield f"not needed in {step.skipped.runs} of {step.ticked.runs} runs"
        else:
            yield "reported as wrong by different people"
    if is_longest and step.minutes and step.minutes >= 1:
        yield f"takes the longest, median {_duration(step.minutes)}"
    if step.copied.is_open:
        yield f"its command copied in {step.copied.runs} runs"


def _duration(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes >= 1 else "under a minute"
