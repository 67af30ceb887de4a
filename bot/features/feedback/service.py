"""Verdicts on answers and corrections of them, by people who may ask in the answer's domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from bot.bus.events import Event
from bot.feature import AnswerGate, SayWhyNot
from bot.features.feedback.store import FeedbackStore
from index.permissions.acts import Act
from telemetry import metrics

VERDICTS = metrics.counter("oncall_feedback_total", "Feedback given", "verdict")


@dataclass(frozen=True, kw_only=True)
class VerdictGiven(Event):
    kind: ClassVar[str] = "feedback"
    question_id: str
    user: str
    verdict: str
    """helpful | unhelpful."""
    at: str
    """Slack's timestamp."""


@dataclass(frozen=True, kw_only=True)
class CorrectionGiven(Event):
    """The form behind *Not helpful*."""

    kind: ClassVar[str] = "correction"
    question_id: str
    user: str
    reason: str
    words: str
    source: str


@dataclass(frozen=True)
class FeedbackService:
    """Safe to repeat after a crash."""

    answers: AnswerGate
    feedback: FeedbackStore
    say_why_not: SayWhyNot

    def may_give(self, question_id: str, user: str) -> bool:
        return self.answers.open(Act.FEEDBACK, question_id, user) is not None

    def give(self, event_id: str, event: VerdictGiven) -> None:
        if self.may_give(event.question_id, event.user):
            self.feedback.give(event.question_id, event.user, event.verdict, event.at)
            VERDICTS.labels(event.verdict).inc()
            return
        record = self.answers.records.get(event.question_id)
        if record and record.answer and not record.channel.startswith("D"):
            self.say_why_not(replace(record.event, user=event.user))

    def explain(self, event_id: str, event: CorrectionGiven) -> None:
        if answer := self.answers.open(Act.CORRECTION, event.question_id, event.user):
            self.feedback.explain(
                event.question_id,
                event.user,
                reason=event.reason,
                correction=event.words,
                source=event.source,
                private=answer.private,
            )
