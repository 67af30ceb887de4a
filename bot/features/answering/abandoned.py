"""Questions whose event ended without a last word: a human is offered in place of the answer.

That is what is left when Slack or the database failed for longer than the inbox tries. Every worker
looks at its start and every minute; a timer's event makes each question one worker's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from bot.blocks.render import apology
from bot.feature import FeatureContext
from bot.features.answering.service import AnsweringService
from bot.posting.posts import own_messages
from bot.questions.store import UNCONCLUDED, QuestionRecord
from bot.slack.messages import fetch, mentions, question_id, unfinished, words_of
from config.errors import new_reference
from durable.database import now
from telemetry import metrics

log = structlog.get_logger()

ABANDONED = "question_abandoned"
"""Kind of the timer."""
AFTER = timedelta(minutes=15)
"""Longer than the inbox tries after failures of the database."""
WITHIN = timedelta(days=1)
SOON = timedelta(seconds=5)
"""The inbox has then stored that the event ended."""


@dataclass(frozen=True, kw_only=True)
class AbandonedQuestions:
    context: FeatureContext
    attempts: AnsweringService
    unfinished: Callable[[], frozenset[str]]
    """Ids of the events that wait or are being handled."""

    def plan(self) -> None:
        """Find questions that nobody works on. One is looked at once, whoever finds it."""
        domains = [*self.context.domains(), ""]
        open_ones = self.attempts.records.unconcluded(domains, now() - WITHIN, now() - AFTER)
        handled = self.unfinished() if open_ones else frozenset()
        for one in open_ones:
            if one.event_id not in handled:
                due = one.asked_at.replace(tzinfo=UTC) + AFTER
                self.context.timers.set(ABANDONED, one.id, due, keep=True)

    def abandon(self, event_id: str) -> None:
        """The inbox won't try this event again."""
        for one in self.attempts.records.recent(limit=1, event_id=event_id):
            self.context.timers.set(ABANDONED, one.id, datetime.now(UTC) + SOON)

    def conclude(self, question: str) -> None:
        """Write the last word, where a placeholder or an unanswered mention waits for one."""
        records = self.attempts.records
        record = records.get(question)
        if record is None or record.state not in UNCONCLUDED:
            return
        if record.event_id in self.unfinished():
            return
        post = self.attempts.post(record.event, stream=self.attempts.streaming)
        has_begun = post.resume()
        messages = own_messages(self.context.web, record.event)
        mine = [message for message in messages if question_id(message) == record.id]
        if mine and not any(map(unfinished, mine)):
            records.advance(record, state="posted")
        elif has_begun or self._was_asked(record):
            reference = new_reference()
            log.error(
                "question abandoned: offering a human", question=question, reference=reference
            )
            metrics.FAILED.labels(record.domain).inc()
            post.finish([apology(reference, question_id=record.id)])
            records.advance(record, state="failed", reference=reference)

    def _was_asked(self, record: QuestionRecord) -> bool:
        if record.channel.startswith("D"):
            return True
        thread = fetch(self.context.web, record.channel, record.thread_ts)
        texts = [words_of(message) for message in thread if message.get("ts") == record.ts]
        return any(self.context.identity.user in mentions(text) for text in texts)
