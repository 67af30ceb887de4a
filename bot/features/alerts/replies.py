"""The one reply to each kind of alert: queued, posted and updated.

Slack accepts about one message a second in a channel, and fifty updates a minute in all. A timer
waits for that, not a worker: workers stay free for people's questions."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

import structlog

from bot.blocks.kit import Json
from bot.bus.events import Event, Item
from bot.feature import AnswerAlert, FeatureContext
from bot.features.alerts.episodes import Episode, Tally
from bot.features.alerts.history import AlertCounts
from bot.features.alerts.store import EpisodeStore
from bot.features.alerts.views import with_course
from bot.questions.store import QuestionRecord, QuestionStore
from bot.slack.client import SlackRefused
from durable.database import now

log = structlog.get_logger()

ANSWER = "alert_answer"
"""Kind of an event, so that only one worker answers, and of the timer for its turn."""
COURSE = "alert_course"
"""Kind of the timer of an update."""
AT_ONCE = 5
"""Kinds of one channel that are answered at once; further ones wait for their turn."""
SECONDS_EACH = 1.5
"""Seconds per answer, and per kind that is updated."""
MIN_UPDATE_SECONDS = 5.0
"""Between two updates of one reply."""
MAX_UNKNOWN, UNKNOWN_WITHIN = 5, timedelta(minutes=10)
""""No runbook" replies in a channel during a storm; gaps and digest list the others."""
A_BOT = "bot"
"""Stands for an unknown id of a bot."""


@dataclass(frozen=True, kw_only=True)
class AlertAnswerDue(Event):
    kind: ClassVar[str] = ANSWER
    question_id: str

    def item(self) -> Item:
        return {self.kind: self.question_id}

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(question_id=item[cls.kind])


@dataclass(frozen=True)
class AlertReplies:
    context: FeatureContext
    records: QuestionStore
    episodes: EpisodeStore
    counts: AlertCounts
    answer_alert: AnswerAlert
    store_answer: AnswerAlert
    """The same, without a post."""

    def in_turn(self, record: QuestionRecord) -> None:
        """Answer at once, or after the alerts that already wait."""
        lately = now() - timedelta(hours=1)
        ahead = self.counts.waiting(record.channel, lately) - AT_ONCE
        if ahead <= 0 or all(one.outcome == "none" for one in self.episodes.of_question(record.id)):
            self.put(record.id)
        else:
            turn = datetime.now(UTC) + timedelta(seconds=ahead * SECONDS_EACH)
            self.context.timers.set(ANSWER, record.id, turn, keep=True)

    def put(self, question: str) -> None:
        """Enqueue the answer; one worker posts it, also after a crash."""
        if record := self.records.get(question):
            event_id = f"alert-{question}-{record.event_id}"
            self.context.put(event_id, AlertAnswerDue(question_id=question))

    def answer(self, event_id: str, event: AlertAnswerDue) -> None:
        """Answer in the alert's thread. Safe to repeat."""
        question = event.question_id
        record = self.records.get(question)
        domain = self.context.domains().get(record.domain) if record else None
        if record is None or domain is None or record.state not in {"working", "answered"}:
            return
        message = replace(record.event, bot=record.asker or A_BOT)
        episodes = self.episodes.of_question(question)
        if not self._is_worth_answering(episodes):
            self.store_answer(message, record, domain)
            self.records.advance(record, state="silent")
            return
        self.answer_alert(message, record, domain)
        if any(one.elsewhere for one in episodes):
            self.update(question)

    def update_soon(self, question: str) -> None:
        """Set a timer for one update at the end of the next interval.

        Intervals are longer the more kinds fire, and start at another moment for each question. The
        timer of the running interval may have fired already, and its update would miss the latest
        count."""
        active = self.counts.active(now() - timedelta(minutes=1))
        interval = max(MIN_UPDATE_SECONDS, SECONDS_EACH * active)
        offset = zlib.crc32(question.encode()) / 2**32 * interval
        passed = math.floor((datetime.now(UTC).timestamp() - offset) / interval)
        due = (passed + 2) * interval + offset
        due_at = datetime.fromtimestamp(due, UTC)
        self.context.timers.set(COURSE, f"{question}@{due:.0f}", due_at, keep=True)

    def update(self, subject: str) -> None:
        """Update the line above an answer. `subject`: the question's id, then `@` and the time."""
        question = subject.partition("@")[0]
        record = self.records.get(question)
        if record is None or record.state == "withdrawn":
            return
        tallies = [
            (episode, tally)
            for episode in self.episodes.of_question(question)
            if (tally := self.episodes.settle(episode.id))
        ]
        posts = self.records.posts(question)
        if tallies and 0 in posts:
            self._update(record, posts[0], tallies)
        elif tallies and record.state in {"working", "answered"}:
            self.update_soon(question)

    def _is_worth_answering(self, episodes: Sequence[Episode]) -> bool:
        """In a storm of alerts without a runbook only the first few are answered."""
        return any(
            one.outcome != "none"
            or one.elsewhere
            or self.counts.unknown_before(one, one.began_at - UNKNOWN_WITHIN) < MAX_UNKNOWN
            for one in episodes
        )

    def _update(
        self, record: QuestionRecord, ts: str, tallies: Sequence[tuple[Episode, Tally]]
    ) -> None:
        try:
            replies = self.context.web.call(
                "conversations.replies", channel=record.channel, ts=record.thread_ts,
                oldest=ts, latest=ts, inclusive=True, include_all_metadata=True,
            )  # fmt: skip
            messages = replies.get("messages") or ()
            message: Json = next((one for one in messages if one.get("ts") == ts), {})
            before = message.get("blocks") or []
            blocks = with_course(before, tallies) if before else []
            if blocks != before:
                self.context.web.call(
                    "chat.update", channel=record.channel, ts=ts, text=message.get("text") or "",
                    blocks=blocks, metadata=message.get("metadata"),
                )  # fmt: skip
        except SlackRefused as refused:
            log.warning("alert reply could not be updated", reason=refused.code)
