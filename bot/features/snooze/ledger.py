"""The ledger of alerts: kinds that nobody acts on, and kinds that are begun with the same step.

*Acted on* is what is on record: a tick, a hand-off, a snooze, feedback, or a message in the thread.
What people press or do elsewhere it cannot see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import structlog

from agents.runbooks.cited_steps import cited_steps
from agents.runbooks.step import RunbookStep
from bot.blocks.kit import short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.bus.events import Suggestion
from bot.feature import AlertEpisode, AlertHistory, DigestPart, FeatureContext, OutgoingAnswer
from bot.features.snooze.store import SnoozeStore
from bot.questions.store import QuestionStore, decode_answer
from bot.showing import Showing
from bot.slack.events import IncomingMessage
from bot.slack.messages import moment, permalink
from config.domain import Domain, domain_of
from config.errors import CopilotError, DatabaseAway
from durable.database import now

log = structlog.get_logger()

REVIEW = "alert_review"
"""Kind of the timer of a domain's weekly look."""
FirstSteps = Callable[[Collection[str]], Mapping[str, RunbookStep]]
"""Ids of questions → the step that was ticked first in the checklist of each that has one."""

LOOKS_BACK = timedelta(days=30)
MIN_DAYS = 5
"""On which a kind fired that counts as ignored: one bad night is no habit."""
MAX_IGNORED = 5
"""Kinds of a domain in one week and in one digest, the loudest first."""
MIN_BEGUN, MAX_BEGUN = 3, 5
"""Checklists of a kind that all began with the same step; the latest ones are looked at."""
_MONDAY, _AT = 0, time(8)


@dataclass(frozen=True, kw_only=True)
class IgnoredAlert:
    latest: AlertEpisode
    fired: int

    @property
    def line(self) -> str:
        """mrkdwn."""
        name = sanitize_mrkdwn(short(self.latest.name, 120).replace("`", ""))
        return f"`{name}` fired {self.fired} times in {LOOKS_BACK.days} days"


@dataclass
class AlertLedger:
    context: FeatureContext
    store: SnoozeStore
    records: QuestionStore
    history: AlertHistory
    first_steps: FirstSteps
    clock: Callable[[], datetime] = now
    """UTC, without a zone."""
    _planned_for: date = field(default=date.min, init=False)

    def plan(self) -> None:
        """Each Monday a look at each domain. All workers set the same timer: it comes once."""
        today = self.clock().date()
        if today.weekday() != _MONDAY or self._planned_for == today:
            return
        for name, domain in self.context.domains().items():
            if domain.runbooks.snooze:
                due = datetime.combine(today, _AT, UTC)
                self.context.timers.set(REVIEW, f"{name} {today:%Y-%m-%d}", due, keep=True)
        self._planned_for = today

    def review(self, subject: str) -> None:
        """Propose to owners what to do about ignored kinds; about each once a quarter. `subject`:
        domain and day."""
        name, _, day = subject.partition(" ")
        domain = self.context.domains().get(name)
        if domain is None or not domain.runbooks.snooze:
            return
        on = date.fromisoformat(day)
        for one in self.ignored(name):
            self.context.suggest(self._suggestion(one, f"{on.year}q{(on.month - 1) // 3}"))

    def ignored(self, domain: str) -> list[IgnoredAlert]:
        """The loudest first."""
        since = self.clock() - LOOKS_BACK
        days, kinds = self.history.days(domain, since), defaultdict[str, list[AlertEpisode]](list)
        for one in self.history.since(domain, since):
            kinds[one.kind].append(one)
        often = [episodes for kind, episodes in kinds.items() if days.get(kind, 0) >= MIN_DAYS]
        questions = {one.question_id for episodes in often for one in episodes}
        acted = self.store.acted_on(questions) | set(self.first_steps(questions))
        ignored = [
            IgnoredAlert(latest=episodes[-1], fired=sum(one.fired for one in episodes))
            for episodes in often
            if acted.isdisjoint(one.question_id for one in episodes)
        ]
        return sorted(ignored, key=lambda one: -one.fired)[:MAX_IGNORED]

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        ignored = self.ignored(domain.domain) if domain.runbooks.snooze else []
        part = DigestPart(
            title="Alerts that nobody acted on here",
            lines=[one.line for one in ignored],
            places=[one.latest.channel for one in ignored],
        )
        return [part] if ignored else []

    def notes(self, outgoing: OutgoingAnswer, episodes: Sequence[AlertEpisode]) -> Iterator[str]:
        """The step with which people begin, where it isn't the first one."""
        if len(episodes) != 1:
            return
        earlier = [
            one.question_id
            for one in self.history.of_kind(episodes[0].kind)
            if one.question_id != outgoing.record.id
        ]
        begun = self.first_steps(earlier)
        latest = [begun[one] for one in earlier if one in begun][:MAX_BEGUN]
        texts = {one.text for one in latest}
        if len(latest) < MIN_BEGUN or len(texts) != 1:
            return
        steps = self._steps(outgoing)
        # As the runbook is now: the step may be another one since, or gone.
        step = next((one for one in steps[1:] if one.text in texts), None)
        if step:
            words = short(step.text.replace("`", ""), 100)
            yield f"The last {len(latest)} times people began with step {step.number}: {words}"

    def on_message(self, event_id: str, message: IncomingMessage, event: Mapping[str, Any]) -> bool:
        """Note that a person wrote in an alert's thread; never keeps the message from others."""
        domain = domain_of(self.context.domains().values(), message.channel)
        if message.bot or message.starts_thread or domain is None or not domain.runbooks.snooze:
            return False
        question = f"{message.channel}:{message.thread_ts}"
        if self.history.of_question(question):
            self.store.add_talk(question, domain.domain, moment(message.ts))
        return False

    def _steps(self, outgoing: OutgoingAnswer) -> Sequence[RunbookStep]:
        try:
            snapshot = self.context.snapshot(outgoing.domain.domain)
            section = cited_steps(outgoing.answer, snapshot, lambda url: None)
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError as error:
            log.info("steps could not be read", reason=str(error))
            return ()
        return section.steps if section else ()

    def _suggestion(self, ignored: IgnoredAlert, quarter: str) -> Suggestion:
        """For the owner of its runbook entry, or for the domain's admins."""
        one = ignored.latest
        record = self.records.get(one.question_id)
        answer = decode_answer(record.answer) if record and record.answer else None
        cited = next((each for each in answer.citations if each.document), None) if answer else None
        remedy = (
            "Raise its threshold, or say in its runbook entry when to ignore it."
            if cited
            else "Raise its threshold, turn it off, or write a runbook entry for it."
        )
        return Suggestion(
            id=f"ignored-{one.kind}-{quarter}",
            kind="review",
            domain=one.domain,
            document=cited.document if cited else "",
            heading=cited.heading if cited else "",
            question=f"{short(one.name, 120)} fired {ignored.fired} times in {LOOKS_BACK.days} "
            f"days, and no work on it is on record here. {remedy}",
            question_id=one.question_id if record else "",
            channel=one.channel,
            permalink=permalink(self.context.identity.team_url, record) if record else "",
        )
