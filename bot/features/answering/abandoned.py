"""Questions whose event ended without a last word: a human is offered in place of the answer.

That is what is left when Slack or the database failed for longer than the inbox tries. Every worker
looks at its start and every minute; a timer's event makes each question one worker's. Where the
tables of questions fail themselves, the worker that gives up writes the last word without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

from bot.blocks.render import apology
from bot.bus.events import Item, SlackEvent
from bot.feature import FeatureContext
from bot.features.answering.service import AnsweringService
from bot.posting.live_answer import LiveAnswer
from bot.questions.store import UNCONCLUDED, QuestionRecord, QuestionStore
from bot.slack.events import IncomingMessage, read
from bot.slack.messages import (
    Message,
    fetch,
    is_own,
    mentions,
    question_id,
    unfinished,
    words_of,
)  # fmt: skip
from config.errors import new_reference
from durable.database import now
from durable.failures import cause_of
from telemetry import metrics

log = structlog.get_logger()

ABANDONED = "question_abandoned"
"""Kind of the timer."""
AFTER = timedelta(minutes=15)
"""Longer than the inbox tries after failures of the database."""
WITHIN = timedelta(days=1)
AGAIN = timedelta(hours=1)
"""Slack may refuse a look: the bot may have left the channel, and come back."""
SOON = timedelta(seconds=5)
"""The inbox has then stored that the event ended."""


@dataclass(frozen=True, kw_only=True)
class AbandonedQuestions:
    context: FeatureContext
    attempts: AnsweringService
    unfinished: Callable[[], frozenset[str]]
    """Ids of the events that wait or are being handled."""

    def plan(self) -> None:
        """Find questions that nobody works on. One is looked at once an hour, whoever finds it."""
        domains = [*self.context.domains(), ""]
        open_ones = self.attempts.records.unconcluded(domains, now() - WITHIN, now() - AFTER)
        handled = self.unfinished() if open_ones else frozenset()
        for one in open_ones:
            if one.event_id not in handled:
                due = one.asked_at.replace(tzinfo=UTC) + AFTER
                due += (datetime.now(UTC) - due) // AGAIN * AGAIN
                self.context.timers.set(ABANDONED, one.id, due, keep=True)

    def abandon(self, event_id: str, item: Item) -> None:
        """The inbox won't try this event again."""
        try:
            questions = self.attempts.records.recent(limit=1, event_id=event_id)
            for one in questions:
                self.context.timers.set(ABANDONED, one.id, datetime.now(UTC) + SOON)
        except SQLAlchemyError as error:
            log.warning("a question can't be looked up", cause=cause_of(error))
            questions = []
        if not questions:
            self._conclude_unrecorded(item)

    def _conclude_unrecorded(self, item: Item) -> None:
        """Write the last word to a message for the bot that is not on record, or can't be read."""
        if SlackEvent.kind not in item:
            return
        slack = SlackEvent.from_item(item)
        event = read(slack.event, bot_user=self.context.identity.user, team=slack.team)
        if not isinstance(event, IncomingMessage) or event.bot or not event.mentioned:
            return
        thread = fetch(self.context.web, event.channel, event.thread_ts)
        if self._has_last_word(event.id, thread):
            return
        post = LiveAnswer(
            self.context.web, Unrecorded(), event,
            pace=self.attempts.pace, stream=self.attempts.streaming,
        )  # fmt: skip
        post.resume()
        reference = new_reference()
        log.error("question abandoned: offering a human", question=event.id, reference=reference)
        post.finish([apology(reference, question_id=event.id)])

    def conclude(self, question: str) -> None:
        """Write the last word, where a placeholder or an unanswered mention waits for one."""
        records = self.attempts.records
        record = records.get(question)
        if record is None or record.state not in UNCONCLUDED:
            return
        if record.event_id in self.unfinished():
            return
        thread = fetch(self.context.web, record.channel, record.thread_ts)
        if not thread:  # the bot may not read it now
            return
        post = self.attempts.post(record.event, stream=self.attempts.streaming)
        has_begun = post.resume()
        if self._has_last_word(record.id, thread):
            records.advance(record, state="posted")
        elif has_begun or self._was_asked(record, thread):
            reference = new_reference()
            log.error(
                "question abandoned: offering a human", question=question, reference=reference
            )
            metrics.FAILED.labels(record.domain).inc()
            post.finish([apology(reference, question_id=record.id)])
            records.advance(record, state="failed", reference=reference)
        else:
            records.advance(record, state="silent")

    def _has_last_word(self, question: str, thread: Sequence[Message]) -> bool:
        bot_user = self.context.identity.user
        mine = [m for m in thread if is_own(m, bot_user) and question_id(m) == question]
        return bool(mine) and not any(map(unfinished, mine))

    def _was_asked(self, record: QuestionRecord, thread: Sequence[Message]) -> bool:
        if record.channel.startswith("D"):
            return True
        texts = [words_of(message) for message in thread if message.get("ts") == record.ts]
        return any(self.context.identity.user in mentions(text) for text in texts)


class Unrecorded(QuestionStore):
    """Posts of an answer while their tables can't be used; they are found by their metadata."""

    def __init__(self) -> None:
        """Opens nothing."""

    def posts(self, question_id: str) -> Mapping[int, str]:
        return {}

    def own_post(self, question_id: str, part: int, channel: str, ts: str) -> bool:
        return True

    def own_posts(self, channel: str, timestamps: list[str]) -> frozenset[str]:
        return frozenset()

    def forget_post(self, question_id: str, part: int) -> None:
        pass
