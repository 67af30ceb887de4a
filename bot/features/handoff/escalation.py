"""Escalates an open hand-off level by level until someone takes it, then reminds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from bot.bus.events import Event
from bot.feature import FeatureContext
from bot.features.handoff.notifications import AskerNotifier, CallMessages, news_of
from bot.features.handoff.service import HandoffService
from bot.features.handoff.store import (
    AGAIN,
    FIRST,
    FREE,
    LEVEL,
    NO_MESSAGE,
    SHIFT,
    Handoff,
    HandoffCall,
)
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import WITHDRAWN
from bot.rotas.shifts import begins_after
from bot.slack.messages import ERASED
from config.domain import SHIFT_CHANGE, Domain, Escalation, EscalationLevel
from config.errors import ConfigError
from durable.database import now

CALL, TAKER = "handoff-call", "handoff-taker"
"""Kinds of timers."""
REMINDER_DELAY = timedelta(hours=24)
"""The same hour of the next day, when the taker is likely to be at work again."""
MAX_AGE = timedelta(days=7)
"""Older hand-offs are no longer escalated; digests still list them."""
RETRY_DELAY = timedelta(hours=1)
"""Delay for a hand-off that waits and has no timer."""


NO_WAIT = timedelta(0)


@dataclass(frozen=True)
class CallStep:
    name: str
    wait: timedelta
    """Time after the previous call."""
    level: EscalationLevel | None = None
    """None: the one who is called first."""


@dataclass(frozen=True)
class NextCall:
    step: CallStep
    due_at: datetime
    """UTC, without a zone."""


def escalation_steps(escalation: Escalation) -> list[CallStep]:
    again = timedelta(minutes=escalation.remind_minutes)
    return [
        CallStep(FIRST, NO_WAIT),
        *([CallStep(AGAIN, again)] if again else []),
        *(
            CallStep(f"{LEVEL}{number}", timedelta(minutes=level.after_minutes), level)
            for number, level in enumerate(escalation.levels, start=1)
        ),
    ]


def next_call(escalation: Escalation, calls: Sequence[HandoffCall]) -> NextCall | None:
    """None once everyone was called. `calls`: oldest first, the first call included.

    People who can't be reached are skipped at once."""
    steps = escalation_steps(escalation)
    made = {one.step: one for one in calls}
    reached = max((at for at, step in enumerate(steps) if step.name in made), default=0)
    for step in steps[reached + 1 :]:
        first = made.get(FIRST)  # None: requested by a release that called once
        if step.name == AGAIN and first and not first.who:
            continue
        wait = step.wait if calls[-1].who else NO_WAIT
        return NextCall(step, calls[-1].called_at + wait)
    return None


@dataclass(frozen=True, kw_only=True)
class CallStored(Event):
    """A call is to be posted; as an event, so that only one worker posts it."""

    kind: ClassVar[str] = "handoff_called"
    question_id: str
    step: str


@dataclass(frozen=True, kw_only=True)
class AskerNews(Event):
    """The asker is to be notified; as an event, so that only one worker does it."""

    kind: ClassVar[str] = "handoff_told_asker"
    question_id: str
    news: str


@dataclass(frozen=True)
class EscalationTimer:
    context: FeatureContext
    records: QuestionStore
    handoffs: HandoffService
    messages: CallMessages
    notifier: AskerNotifier

    def update(self, question_id: str) -> None:
        """Update calls after the hand-off was changed or withdrawn. Safe to repeat."""
        handoff, record = self._load(question_id)
        if not (handoff and record):
            return
        is_withdrawn = record.state == WITHDRAWN
        if not (handoff.is_taken or handoff.resolved_by or is_withdrawn):
            self.call(question_id)
            return
        self.context.timers.cancel(CALL, question_id)
        if handoff.resolved_by or is_withdrawn:
            self.context.timers.cancel(TAKER, question_id)
        elif handoff.taken_at:
            due = handoff.taken_at.replace(tzinfo=UTC) + REMINDER_DELAY
            self.context.timers.set(TAKER, question_id, due)
        self.messages.close(record, handoff)
        if not is_withdrawn:
            news = AskerNews(question_id=question_id, news=news_of(handoff))
            self.context.put(f"told-{question_id}-{news.news}", news)

    def notify_asker(self, event_id: str, event: AskerNews) -> None:
        """Unless there is newer news. Safe to repeat."""
        handoff, record = self._load(event.question_id)
        if handoff and record and news_of(handoff) == event.news:
            self.notifier.notify_asker(record, handoff)

    def post_call(self, event_id: str, event: CallStored) -> None:
        """Post a stored call. Safe to repeat."""
        handoff, record = self._load(event.question_id)
        call = self.handoffs.calls.get(event.question_id, event.step)
        if not (handoff and record and call) or call.ts:
            return
        if _is_over(record, handoff):
            self.handoffs.calls.set(call.question_id, call.step, ts=NO_MESSAGE)
        else:
            self.messages.post(record, handoff, call)
            handoff, record = self._load(event.question_id)
            if handoff and record and _is_over(record, handoff):
                self.messages.close(record, handoff)  # before the call's timestamp was stored

    def call(self, question_id: str) -> None:
        """Call who is due, and set a timer for the next. Safe to repeat."""
        record = self.records.get(question_id)
        domain = self.handoffs.domain_of(record) if record else None
        while True:
            handoff = self.handoffs.get(question_id)
            if not (record and domain and handoff and handoff.card_ts) or _is_over(record, handoff):
                return
            self._post_calls(record, handoff)
            due = self._due(record, domain)
            if due is None or due.due_at > now():
                break
            on_call, level = self.handoffs.on_call, due.step.level
            target = on_call.level(domain, level) if level else on_call.first(domain)
            label = level.name if level else ""
            self.handoffs.add_call(question_id, due.step.name, domain, target, label)
            self.handoffs.refresh(question_id)
        if due:
            self.context.timers.set(CALL, question_id, due.due_at.replace(tzinfo=UTC))

    def check_taker(self, question_id: str) -> None:
        """Remind the taker after a day; call another person if the taker has left."""
        handoff, record = self._load(question_id)
        if not (handoff and record) or handoff.resolved_by or record.state == WITHDRAWN:
            return
        if not handoff.taken_by:
            self.call(question_id)  # released, and crashed before anybody was called
            return
        people, taker = self.context.gate.people, handoff.taken_by
        if taker == ERASED or people.member(taker).kind == "former":
            self._free(record, handoff)
        elif handoff.taken_at and handoff.taken_at <= now() - REMINDER_DELAY:
            self.notifier.remind_taker(record, handoff)

    def _load(self, question_id: str) -> tuple[Handoff | None, QuestionRecord | None]:
        return self.handoffs.get(question_id), self.records.get(question_id)

    def _post_calls(self, record: QuestionRecord, handoff: Handoff) -> None:
        """Each as an event of its own. Its id has the hour: one that was abandoned while Slack was
        down is followed by another."""
        for call in self.messages.pending(record, handoff):
            hour = (now() - call.called_at) // timedelta(hours=1)
            event = CallStored(question_id=record.id, step=call.step)
            self.context.put(f"called-{record.id}-{call.step}-{hour}", event)

    def _due(self, record: QuestionRecord, domain: Domain) -> NextCall | None:
        """The next call; None when no call is planned, as far as the rotas are known."""
        calls = self.handoffs.calls.of(record.id)
        if not calls:
            return None  # requested by a release that called once
        if due := next_call(domain.escalation, calls):
            return due
        shifts = self._next_shifts(record, domain, calls)
        return min(shifts, key=lambda one: one.due_at, default=None)

    def _next_shifts(
        self, record: QuestionRecord, domain: Domain, calls: Sequence[HandoffCall]
    ) -> Iterator[NextCall]:
        """The next shifts of the rota, and of levels at which nobody was on call."""
        in_digest = (
            domain.digest
            and domain.digest.at == SHIFT_CHANGE
            and record.channel == domain.channels[0]
        )
        if domain.escalation.rota and not in_digest:
            yield from self._next_shift(domain, domain.escalation.rota, calls[-1], SHIFT)
        for number, level in enumerate(domain.escalation.levels, start=1):
            prefix = f"{SHIFT}{number}-"
            tried = [
                one
                for one in calls
                if one.step == f"{LEVEL}{number}" or one.step.startswith(prefix)
            ]
            if level.rota and tried and not any(one.who for one in tried):
                yield from self._next_shift(domain, level.rota, tried[-1], prefix, level)

    def _next_shift(
        self,
        domain: Domain,
        rota: str,
        after: HandoffCall,
        prefix: str,
        level: EscalationLevel | None = None,
    ) -> Iterator[NextCall]:
        try:
            cached = self.handoffs.rotas.of(domain, rota)
        except ConfigError:
            return
        if begins := begins_after(cached.shifts, after.called_at.replace(tzinfo=UTC)):
            step = CallStep(f"{prefix}{begins:%Y%m%dT%H%M%S}", NO_WAIT, level)
            yield NextCall(step, begins.replace(tzinfo=None))

    def _free(self, record: QuestionRecord, handoff: Handoff) -> None:
        """The taker has left: call another person at once, since the asker expects help."""
        if domain := self.handoffs.domain_of(record):
            target = self.handoffs.on_call.first(domain)
            when = f"{handoff.taken_at:%Y%m%dT%H%M%S}" if handoff.taken_at else ""
            self.handoffs.add_call(record.id, f"{FREE}-{when}", domain, target)
        self.handoffs.free(record.id, handoff.taken_by)
        self.call(record.id)


def _is_over(record: QuestionRecord, handoff: Handoff) -> bool:
    """Whether calls for it have ended."""
    age = now() - handoff.requested_at if handoff.requested_at else timedelta()
    done = bool(handoff.resolved_by) or handoff.is_taken or record.state == WITHDRAWN
    return done or age > MAX_AGE
