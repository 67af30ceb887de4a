"""An open hand-off goes from one to the next until somebody takes it, and is asked after then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.access.people import People
from bot.clock.timers import Timers
from bot.escalating.asker_told import AskerTold
from bot.escalating.call_posts import CallPosts
from bot.escalating.call_steps import next_call
from bot.handoff.handoff_card import Handoff
from bot.handoff.handoffs import Handoffs
from bot.handoff.kept_calls import FREED, SHIFT, Call
from bot.handoff.turns import begins_after
from bot.memory.record import Record, Records, now
from bot.memory.state_tables import ERASED
from config.domain import SHIFT_CHANGE, Domain
from config.errors import ConfigError
from telemetry import metrics

CALL, TAKER = "handoff-call", "handoff-taker"
TAKER_ASKED_AFTER = timedelta(hours=24)
"""The same hour of the next day, when whoever took it is likely to be at work again."""
GIVEN_UP_AFTER = timedelta(days=7)
"""Nobody is called any more; digests tell of it as long as it is on record."""
LOOK_AGAIN = timedelta(hours=1)
"""At one that waits and has no timer."""


@dataclass(frozen=True, kw_only=True)
class HandoffClock:
    handoffs: Handoffs
    records: Records
    timers: Timers
    posts: CallPosts
    told: AskerTold
    people: People

    def changed(self, question_id: str) -> None:
        """Asked for, taken, or resolved. Safe to repeat."""
        handoff, record = self.handoffs.get(question_id), self.records.get(question_id)
        if not (handoff and record):
            return
        if not (handoff.is_taken or handoff.resolved_by):
            self.call(question_id)
            return
        self.timers.cancel(CALL, question_id)
        if handoff.resolved_by:
            self.timers.cancel(TAKER, question_id)
        elif handoff.taken_at:
            due = handoff.taken_at.replace(tzinfo=UTC) + TAKER_ASKED_AFTER
            self.timers.set(TAKER, question_id, due)
        self.posts.settle(record, handoff)
        domain = self.handoffs.domain_of(record)
        self.told.tell_asker(record, handoff, domain.domain if domain else "")

    def call(self, question_id: str) -> None:
        """Whoever is due, and a timer for who is next. Safe to repeat."""
        record = self.records.get(question_id)
        domain = self.handoffs.domain_of(record) if record else None
        while True:
            handoff = self.handoffs.get(question_id)
            if not (record and domain and handoff and handoff.card_ts) or _is_over(handoff):
                return
            self.posts.post_due(record, handoff)
            due_at = self._due(record, domain)
            if due_at is None or due_at > now():
                break
            self._call_next(record, domain)
            self.handoffs.show(question_id)
        if due_at:
            self.timers.set(CALL, question_id, due_at.replace(tzinfo=UTC))

    def look_after(self, question_id: str) -> None:
        """It was taken a day ago: by somebody who is still here?"""
        handoff, record = self.handoffs.get(question_id), self.records.get(question_id)
        if not (handoff and record) or handoff.resolved_by or not handoff.taken_by:
            return
        domain = self.handoffs.domain_of(record)
        if self._is_gone(handoff.taken_by):
            self._free(record, handoff, domain)
        elif handoff.taken_at and handoff.taken_at <= now() - TAKER_ASKED_AFTER:
            self.told.remind_taker(record, handoff, domain.domain if domain else "")

    def _due(self, record: Record, domain: Domain) -> datetime | None:
        """When somebody is called next; UTC, without a zone."""
        called = self.handoffs.calls.of(record.id)
        if not called:
            return None  # asked for by a release that called once
        if due := next_call(domain.escalation, called):
            return due.due_at
        if not domain.escalation.rota or (domain.digest and domain.digest.at == SHIFT_CHANGE):
            return None  # the digest tells the next
        return self._next_shift(domain, called[-1])

    def _next_shift(self, domain: Domain, last: Call) -> datetime | None:
        try:
            seen = self.handoffs.rotas.of(domain, domain.escalation.rota)
        except ConfigError:
            return None
        begins = begins_after(seen.shifts, last.called_at.replace(tzinfo=UTC))
        return begins.replace(tzinfo=None) if begins else None

    def _call_next(self, record: Record, domain: Domain) -> None:
        whom, called = self.handoffs.whom, self.handoffs.calls.of(record.id)
        label = ""
        if due := next_call(domain.escalation, called):
            step, level = due.step.name, due.step.level
            reached = whom.level(domain, level) if level else whom.first(domain)
            label = level.name if level else ""
        else:
            step, reached = f"{SHIFT}{now():%Y%m%dT%H%M%S}", whom.first(domain)
        self._keep(record, domain, step, who=reached.who, why=reached.why, label=label)

    def _keep(self, record: Record, domain: Domain, step: str, **more: str) -> None:
        if self.handoffs.calls.keep(record.id, step, domain.domain, **more) and more["who"]:
            kind = next((one for one in (SHIFT, FREED) if step.startswith(one)), step).rstrip("-")
            metrics.HANDOFF_CALLS.labels(domain.domain, kind).inc()

    def _is_gone(self, taker: str) -> bool:
        return taker == ERASED or self.people.known(taker).standing == "gone"

    def _free(self, record: Record, handoff: Handoff, domain: Domain | None) -> None:
        """Somebody else is called at once: whoever asked believes that they are helped."""
        if domain:
            reached = self.handoffs.whom.first(domain)
            when = f"{handoff.taken_at:%Y%m%dT%H%M%S}" if handoff.taken_at else ""
            self._keep(record, domain, f"{FREED}-{when}", who=reached.who, why=reached.why)
        self.handoffs.free(record.id, handoff.taken_by)
        self.call(record.id)


def _is_over(handoff: Handoff) -> bool:
    """Nobody is to be called for it any more."""
    age = now() - handoff.requested_at if handoff.requested_at else timedelta()
    return bool(handoff.resolved_by) or handoff.is_taken or age > GIVEN_UP_AFTER
