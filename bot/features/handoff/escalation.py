"""An open hand-off goes from one to the next until somebody takes it, and is asked after then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import ClassVar

from bot.access.directory import People
from bot.bus.events import Enqueue, Event
from bot.bus.timers import TimerStore
from bot.db import now
from bot.features.handoff.calls import (
    FREED,
    LEVEL,
    NOT_AT_ALL,
    SHIFT,
    CallStep,
    HandoffCall,
    NextCall,
    next_call,
)
from bot.features.handoff.notifications import AskerNotifier, CallMessages, news_of
from bot.features.handoff.service import HandoffService
from bot.features.handoff.views import Handoff
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import WITHDRAWN
from bot.rotas.shifts import begins_after
from bot.slack.messages import ERASED
from config.domain import SHIFT_CHANGE, Domain, EscalationLevel
from config.errors import ConfigError
from telemetry import metrics

CALL, TAKER = "handoff-call", "handoff-taker"
"""Kinds of timers."""
TAKER_ASKED_AFTER = timedelta(hours=24)
"""The same hour of the next day, when whoever took it is likely to be at work again."""
GIVEN_UP_AFTER = timedelta(days=7)
"""Nobody is called any more; digests tell of it as long as it is on record."""
LOOK_AGAIN = timedelta(hours=1)
"""At one that waits and has no timer."""


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


@dataclass(frozen=True, kw_only=True)
class EscalationTimer:
    handoffs: HandoffService
    records: QuestionStore
    timers: TimerStore
    posts: CallMessages
    told: AskerNotifier
    people: People
    put: Enqueue

    def changed(self, question_id: str) -> None:
        """Asked for, taken, or resolved. Safe to repeat."""
        handoff, record = self.handoffs.get(question_id), self.records.get(question_id)
        if not (handoff and record):
            return
        withdrawn = record.state == WITHDRAWN
        if not (handoff.is_taken or handoff.resolved_by or withdrawn):
            self.call(question_id)
            return
        self.timers.cancel(CALL, question_id)
        if handoff.resolved_by or withdrawn:
            self.timers.cancel(TAKER, question_id)
        elif handoff.taken_at:
            due = handoff.taken_at.replace(tzinfo=UTC) + TAKER_ASKED_AFTER
            self.timers.set(TAKER, question_id, due)
        self.posts.settle(record, handoff)
        if not withdrawn:
            news = AskerNews(question_id=question_id, news=news_of(handoff))
            self.put(f"told-{question_id}-{news.news}", news)

    def tell_asker(self, event_id: str, event: AskerNews) -> None:
        """Unless something newer is to be told. Safe to repeat."""
        handoff, record = self._known(event.question_id)
        if handoff and record and news_of(handoff) == event.news:
            domain = self.handoffs.domain_of(record)
            self.told.tell_asker(record, handoff, domain.domain if domain else "")

    def post_call(self, event_id: str, event: CallStored) -> None:
        """A call that is on record. Safe to repeat."""
        handoff, record = self._known(event.question_id)
        call = self.handoffs.calls.get(event.question_id, event.step)
        if not (handoff and record and call) or call.ts:
            return
        if _is_over(record, handoff):
            self.posts.give_up(call)
        else:
            self.posts.post(record, handoff, call)

    def call(self, question_id: str) -> None:
        """Whoever is due, and a timer for who is next. Safe to repeat."""
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
            self._call_next(record, domain, due.step)
            self.handoffs.show(question_id)
        if due:
            self.timers.set(CALL, question_id, due.due_at.replace(tzinfo=UTC))

    def look_after(self, question_id: str) -> None:
        """It was taken a day ago: by somebody who is still here?"""
        handoff, record = self.handoffs.get(question_id), self.records.get(question_id)
        if not (handoff and record) or handoff.resolved_by or record.state == WITHDRAWN:
            return
        domain = self.handoffs.domain_of(record)
        if not handoff.taken_by:
            self.call(question_id)  # freed, and died before anybody was called
            return
        if self._is_gone(handoff.taken_by):
            self._free(record, handoff, domain)
        elif handoff.taken_at and handoff.taken_at <= now() - TAKER_ASKED_AFTER:
            self.told.remind_taker(record, handoff, domain.domain if domain else "")

    def _known(self, question_id: str) -> tuple[Handoff | None, QuestionRecord | None]:
        return self.handoffs.get(question_id), self.records.get(question_id)

    def _post_calls(self, record: QuestionRecord, handoff: Handoff) -> None:
        """Each as an item of its own. Its id has the hour: an item that Slack's absence outlasted
        is followed by another."""
        for call in self.posts.waiting(record, handoff):
            hour = (now() - call.called_at) // timedelta(hours=1)
            event = CallStored(question_id=record.id, step=call.step)
            self.put(f"called-{record.id}-{call.step}-{hour}", event)

    def _due(self, record: QuestionRecord, domain: Domain) -> NextCall | None:
        """Who is called next; None when that is nobody as far as is known."""
        called = self.handoffs.calls.of(record.id)
        if not called:
            return None  # asked for by a release that called once
        if due := next_call(domain.escalation, called):
            return due
        shifts = self._next_shifts(record, domain, called)
        return min(shifts, key=lambda one: one.due_at, default=None)

    def _next_shifts(
        self, record: QuestionRecord, domain: Domain, called: Sequence[HandoffCall]
    ) -> Iterator[NextCall]:
        """Of the rota, and of levels that nobody was to be called for, as in a gap."""
        told_by_digest = (
            domain.digest
            and domain.digest.at == SHIFT_CHANGE
            and record.channel == domain.channels[0]
        )
        if domain.escalation.rota and not told_by_digest:
            yield from self._begins(domain, domain.escalation.rota, called[-1], SHIFT)
        for number, level in enumerate(domain.escalation.levels, start=1):
            prefix = f"{SHIFT}{number}-"
            tried = [
                one
                for one in called
                if one.step == f"{LEVEL}{number}" or one.step.startswith(prefix)
            ]
            if level.rota and tried and not any(one.who for one in tried):
                yield from self._begins(domain, level.rota, tried[-1], prefix, level)

    def _begins(
        self,
        domain: Domain,
        rota: str,
        after: HandoffCall,
        prefix: str,
        level: EscalationLevel | None = None,
    ) -> Iterator[NextCall]:
        try:
            seen = self.handoffs.rotas.of(domain, rota)
        except ConfigError:
            return
        if begins := begins_after(seen.shifts, after.called_at.replace(tzinfo=UTC)):
            step = CallStep(f"{prefix}{begins:%Y%m%dT%H%M%S}", NOT_AT_ALL, level)
            yield NextCall(step, begins.replace(tzinfo=None))

    def _call_next(self, record: QuestionRecord, domain: Domain, step: CallStep) -> None:
        whom, level = self.handoffs.whom, step.level
        reached = whom.level(domain, level) if level else whom.first(domain)
        label = level.name if level else ""
        self._keep(record, domain, step.name, who=reached.who, why=reached.why, label=label)

    def _keep(self, record: QuestionRecord, domain: Domain, step: str, **more: str) -> None:
        if self.handoffs.calls.keep(record.id, step, domain.domain, **more) and more["who"]:
            kind = next((one for one in (SHIFT, FREED) if step.startswith(one)), step).rstrip("-")
            metrics.HANDOFF_CALLS.labels(domain.domain, kind).inc()

    def _is_gone(self, taker: str) -> bool:
        return taker == ERASED or self.people.known(taker).standing == "gone"

    def _free(self, record: QuestionRecord, handoff: Handoff, domain: Domain | None) -> None:
        """Somebody else is called at once: whoever asked believes that they are helped."""
        if domain:
            reached = self.handoffs.whom.first(domain)
            when = f"{handoff.taken_at:%Y%m%dT%H%M%S}" if handoff.taken_at else ""
            self._keep(record, domain, f"{FREED}-{when}", who=reached.who, why=reached.why)
        self.handoffs.free(record.id, handoff.taken_by)
        self.call(record.id)


def _is_over(record: QuestionRecord, handoff: Handoff) -> bool:
    """Nobody is to be called for it any more."""
    age = now() - handoff.requested_at if handoff.requested_at else timedelta()
    done = bool(handoff.resolved_by) or handoff.is_taken or record.state == WITHDRAWN
    return done or age > GIVEN_UP_AFTER
