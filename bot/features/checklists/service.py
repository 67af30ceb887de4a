"""Handles presses and reports on a checklist, and lists unfinished checklists in a digest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

import structlog

from bot.access.gate import Place
from bot.blocks.kit import MAX_INPUT_CHARS, link, local_time, short
from bot.bus.events import Event, Suggestion
from bot.feature import DigestPart, FeatureContext, IncidentThread, SayWhyNot, TimelineEntry
from bot.features.checklists.posts import ChecklistPosts
from bot.features.checklists.progress import (
    ACTS,
    WHOLE,
    Checklist,
    ChecklistProgress,
    Press,
    StepReport,
)
from bot.features.checklists.runbook import runbook_change
from bot.features.checklists.step_views import commands, first_words
from bot.features.checklists.store import ChecklistStore
from bot.features.checklists.views import page_of, step_count
from bot.showing import Showing
from bot.slack.events import IncomingMessage
from bot.slack.messages import mention, moment
from config.domain import Domain
from durable.database import now
from index.permissions.acts import Act

log = structlog.get_logger()

MAX_FORWARDED = 3
"""Reports of one person about one step that go to the owner; the step shows all of them."""
COMPARED_FOR = timedelta(days=14)
"""Time for which an unfinished checklist is compared with its runbook."""
TOUCHED_WITHIN = timedelta(days=7)
"""A checklist without a press for longer is not in the digest."""


@dataclass(frozen=True, kw_only=True)
class ChecklistPressed(Event):
    """An act on a step, or on the whole checklist."""

    kind: ClassVar[str] = "checklist_press"
    id: str
    checklist: str
    step: int
    act: str
    user: str
    at: str
    """Slack's timestamp."""


@dataclass(frozen=True, kw_only=True)
class StepReported(Event):
    """A person reports a problem with a step."""

    kind: ClassVar[str] = "checklist_report"
    id: str
    user: str
    words: str
    checklist: str
    step: int


@dataclass(frozen=True, kw_only=True)
class ChecklistDue(Event):
    """Post or update the checklist; as an event, so that only one worker does it."""

    kind: ClassVar[str] = "checklist_show"
    checklist: str


@dataclass(frozen=True, kw_only=True)
class SummaryDue(Event):
    kind: ClassVar[str] = "checklist_sum_up"
    checklist: str


@dataclass(frozen=True)
class ChecklistService:
    context: FeatureContext
    store: ChecklistStore
    posts: ChecklistPosts
    say_why_not: SayWhyNot

    def on_press(self, event_id: str, event: ChecklistPressed) -> None:
        checklist = self.store.get(event.checklist)
        act, user, step = event.act, event.user, event.step
        if checklist is None or act not in ACTS or not WHOLE <= step < len(checklist.runbook.steps):
            return
        if not self._may_act(user, checklist, event.at):
            return
        press = Press(id=event.id, step=step, act=act, by=user, at=moment(event.at))
        self.store.press(checklist, press)
        if act == "copied":
            return  # nothing looks different
        if act == "finish":
            # Two people may press it: one worker posts the summary.
            due = SummaryDue(checklist=checklist.id)
            self.context.put(f"{due.kind}-{checklist.id}", due)
        self._compare(checklist)
        everywhere = act in ("finish", "skipped", "undone", "take")
        steps = range(len(checklist.runbook.steps)) if everywhere else [step]
        self.posts.show(checklist, steps)

    def on_report(self, event_id: str, event: StepReported) -> None:
        checklist = self.store.get(event.checklist)
        user, step = event.user, event.step
        words = event.words.strip()[:MAX_INPUT_CHARS]
        if checklist is None or not words or not 0 <= step < len(checklist.runbook.steps):
            return
        if not self._may_act(user, checklist, event.id):
            return
        report = StepReport(id=event.id, step=step, words=words, by=user, at=now())
        self.store.report(checklist, report)
        reports = self.store.progress(checklist).reports[step]
        own = [one.id for one in reports if one.by == user]
        if report.id in own[:MAX_FORWARDED]:
            self._suggest_to_owner(checklist, report)
        self.posts.show(checklist, [step])

    def post(self, event_id: str, event: ChecklistDue) -> None:
        if checklist := self.store.get(event.checklist):
            self.posts.post(checklist)

    def post_summary(self, event_id: str, event: SummaryDue) -> None:
        if checklist := self.store.get(event.checklist):
            self.posts.post_summary(checklist)

    def compare_all(self) -> None:
        """Mark checklists whose runbook has changed. Several workers may do so at once."""
        for checklist in self.store.open_since(now() - COMPARED_FOR):
            before = checklist.changed
            after = self._compare(checklist)
            if after is not None and after.changed != before:
                due = ChecklistDue(checklist=checklist.id)
                self.context.put(f"{due.kind}-{checklist.id}-{after.generation}", due)

    def _may_act(self, user: str, checklist: Checklist, ts: str) -> bool:
        event = IncomingMessage(
            channel=checklist.channel, ts=ts, thread_ts=checklist.thread_ts, user=user, team="",
            text="", key=checklist.id,
        )  # fmt: skip
        return self.may(event, checklist.domain, checklist.started_by)

    def commands(self, checklist_id: str, step: int, user: str) -> tuple[str, ...]:
        """Of a step, for a person who may tick it."""
        checklist = self.store.get(checklist_id)
        if checklist is None or not 0 <= step < len(checklist.runbook.steps):
            return ()
        place = Place(
            domain=self.context.domains().get(checklist.domain),
            channel=checklist.channel,
            owner=checklist.started_by,
            is_private=checklist.channel.startswith("D"),
        )
        is_allowed = self.context.gate.may_act(Act.CHECKLIST, user, place)
        return commands(checklist.runbook.steps[step]) if is_allowed else ()

    def may(self, event: IncomingMessage, name: str, owner: str) -> bool:
        """Whether its user may ask the domain `name` and see the thread; who may not ask gets the
        reason in a private message. In a direct message only `owner` may act."""
        place = Place(
            domain=self.context.domains().get(name),
            channel=event.channel,
            owner=owner,
            is_private=event.direct,
        )
        allowed = self.context.gate.may_act(Act.CHECKLIST, event.user, place)
        if not (allowed or place.is_private):
            self.say_why_not(event)
        return allowed

    def _compare(self, checklist: Checklist) -> Checklist | None:
        """The checklist as it is now, where a new generation is published."""
        if self.context.published is None:
            return None
        change = runbook_change(checklist, self.context.published.snapshot)
        if change is None:
            return None
        generation, changed = change
        self.store.set(checklist, generation=generation, changed=changed)
        return self.store.get(checklist.id)

    def _suggest_to_owner(self, checklist: Checklist, report: StepReport) -> None:
        step = checklist.runbook.steps[report.step]
        self.context.suggest(
            Suggestion(
                id=report.id,
                kind="step",
                domain=checklist.domain,
                document=checklist.document,
                heading=checklist.runbook.heading,
                question=f"Step {step.number}: {first_words(step, 300)}",
                words=report.words,
                by=report.by,
                question_id=checklist.question_id,
                channel=checklist.channel,
                permalink=thread_link(self.context.identity.team_url, checklist),
            )
        )


def thread_link(team_url: str, checklist: Checklist) -> str:
    """Empty when the workspace's address is unknown."""
    place = f"archives/{checklist.channel}/p{checklist.thread_ts.replace('.', '')}"
    return f"{team_url}/{place}" if team_url else ""


def half_done(
    store: ChecklistStore, team_url: str, domain: Domain, since: datetime, showing: Showing
) -> Sequence[DigestPart]:
    """Unfinished checklists of the domain's channels, the last press first, whenever they began.
    Direct messages are left out, and each line is only for those who may see its channel."""
    oldest = now() - TOUCHED_WITHIN
    unfinished = [
        (one, store.progress(one))
        for one in store.open_since(oldest, domain.domain)
        if one.channel in domain.channels and showing.names(domain.domain, one.document)
    ]
    unfinished.sort(key=lambda pair: pair[1].last_at, reverse=True)
    lines = [_line(*one, team_url) for one in unfinished]
    places = [one.channel for one, _ in unfinished]
    part = DigestPart(title="Checklists half done", lines=lines, places=places)
    return [part] if lines else []


ACT_WORDS = {
    "done": "ticked off step {}",
    "skipped": "marked step {} as not needed",
    "undone": "opened step {} again",
    "take": "took over the checklist",
    "finish": "finished the checklist",
}


def timeline(store: ChecklistStore, thread: IncidentThread) -> Iterator[TimelineEntry]:
    """Starts, presses that changed something, and reports of the thread's checklists."""
    for checklist in store.in_thread(thread.channel, thread.ts):
        (presses, reports), posts = store.acts(checklist), store.posts(checklist)
        first = posts.get(0, "")
        yield TimelineEntry(
            at=checklist.started_at, what="started the checklist", by=checklist.started_by,
            quote=checklist.runbook.name, document=checklist.document, domain=checklist.domain,
            ts=first,
        )  # fmt: skip
        latest = {WHOLE: ("take", checklist.started_by)}
        in_order = sorted(presses, key=lambda one: (one.at, one.id))
        for press in (one for one in in_order if one.act in ACT_WORDS):
            act = (press.act, press.by if press.step == WHOLE else "")
            before = latest.get(press.step, ("undone", ""))
            # The first tick of a step counts, until it is undone.
            if before == act or (press.step != WHOLE and "undone" not in (before[0], press.act)):
                continue
            latest[press.step] = act
            yield _entry(checklist, press, posts.get(page_of(checklist, press.step), first))
            if press.act == "finish":
                break
        for report in reports:
            number = checklist.runbook.steps[report.step].number
            yield TimelineEntry(
                at=report.at, what=f"reported a problem with step {number}", by=report.by,
                quote=report.words, ts=posts.get(page_of(checklist, report.step), first),
            )  # fmt: skip


def _entry(checklist: Checklist, press: Press, ts: str) -> TimelineEntry:
    what = ACT_WORDS[press.act]
    if press.step == WHOLE:
        return TimelineEntry(at=press.at, what=what, by=press.by, ts=ts)
    step = checklist.runbook.steps[press.step]
    return TimelineEntry(
        at=press.at, what=what.format(step.number), by=press.by, quote=first_words(step, 300),
        document=checklist.document, domain=checklist.domain, ts=ts,
    )  # fmt: skip


def _line(checklist: Checklist, progress: ChecklistProgress, team_url: str) -> str:
    title = link(thread_link(team_url, checklist), short(checklist.runbook.name, 150))
    driver = f"{mention(progress.driver)} drives since {local_time(progress.driving_since)}"
    return f"{title} · {step_count(checklist, progress)} · {driver}"
