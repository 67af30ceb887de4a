"""The one reply to each kind of alert: given in its turn, and kept up to date.

Slack takes about one message a second in a channel, and fifty updates a minute in all. What waits
for that is a timer, and no worker: those stay free for people's questions."""

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
from bot.db import now
from bot.feature import AnswerAlert, FeatureContext
from bot.features.alerts.episodes import Episode, Tally
from bot.features.alerts.store import AlertCounts, EpisodeStore
from bot.features.alerts.views import with_course
from bot.questions.store import QuestionRecord, QuestionStore
from bot.slack.client import SlackRefused
from bot.slack.events import IncomingMessage
from config.domain import Domain

log = structlog.get_logger()

ANSWER = "alert_answer"
"""Kind of an event, so that only one worker answers, and of the timer for its turn."""
COURSE = "alert_course"
"""Kind of the timer of an update."""
AT_ONCE = 5
"""Kinds of one channel that are answered without waiting for a turn."""
SECONDS_EACH = 1.5
"""For each answer, and for each kind that is kept up to date."""
SHOWN_EVERY = 5.0
"""Seconds between two updates of one reply, at least."""
MOST_UNKNOWN, UNKNOWN_WITHIN = 5, timedelta(minutes=10)
"""How often a channel hears "no runbook"; of the others in a storm the gaps and the digest tell."""
A_BOT = "bot"
"""Stands for its id, where only that it is one matters."""


@dataclass(frozen=True, kw_only=True)
class AlertAnswerDue(Event):
    kind: ClassVar[str] = ANSWER
    question_id: str

    def item(self) -> Item:
        return {self.kind: self.question_id}

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(question_id=item[cls.kind])


@dataclass(frozen=True, kw_only=True)
class AlertReplies:
    tools: FeatureContext
    records: QuestionStore
    episodes: EpisodeStore
    figures: AlertCounts
    answer_alert: AnswerAlert

    def claim(self, event_id: str, asked: IncomingMessage, domain: Domain) -> QuestionRecord | None:
        """On record as any other question, and so audited, with feedback and a human to ask; None
        where another event of the same message was quicker."""
        return self.records.claim(
            question_id=asked.id, event_id=event_id, channel=asked.channel,
            thread_ts=asked.thread_ts, asker=asked.user, text=asked.text, domain=domain.domain,
        )  # fmt: skip

    def in_turn(self, record: QuestionRecord) -> None:
        """Have it answered: at once, or after those that wait already."""
        lately = now() - timedelta(hours=1)
        ahead = self.figures.waiting(record.channel, lately) - AT_ONCE
        if ahead <= 0 or all(one.outcome == "none" for one in self._told_of(record.id)):
            self.put(record.id)
        else:
            turn = datetime.now(UTC) + timedelta(seconds=ahead * SECONDS_EACH)
            self.tools.timers.set(ANSWER, record.id, turn, keep=True)

    def put(self, question: str) -> None:
        """One worker gives it, whatever happens meanwhile."""
        if record := self.records.get(question):
            event_id = f"alert-{question}-{record.event_id}"
            self.tools.put(event_id, AlertAnswerDue(question_id=question))

    def answer(self, event_id: str, event: AlertAnswerDue) -> None:
        """In its thread, as any other question. Called again after a crash."""
        question = event.question_id
        record = self.records.get(question)
        domain = self.tools.domains().get(record.domain) if record else None
        if record is None or domain is None or record.state not in {"working", "answered"}:
            return
        asked = replace(record.event, bot=record.asker or A_BOT)
        told = self._told_of(question)
        if not self._is_worth_saying(told):
            self.answer_alert(asked, record, domain, silently=True)
            self.records.advance(record, state="silent")
            return
        self.answer_alert(asked, record, domain)
        if any(one.elsewhere for one in told):
            self.show(question)

    def show_soon(self, question: str) -> None:
        """At the end of the stretch after this one, once for all that happens until then.

        A stretch is the longer, the more kinds fire, and begins for each at another moment. The
        timer of the running stretch may be in somebody's hands already, and would then miss what
        has just been counted."""
        active = self.figures.active(now() - timedelta(minutes=1))
        stretch = max(SHOWN_EVERY, SECONDS_EACH * active)
        offset = zlib.crc32(question.encode()) / 2**32 * stretch
        passed = math.floor((datetime.now(UTC).timestamp() - offset) / stretch)
        due = (passed + 2) * stretch + offset
        due_at = datetime.fromtimestamp(due, UTC)
        self.tools.timers.set(COURSE, f"{question}@{due:.0f}", due_at, keep=True)

    def show(self, subject: str) -> None:
        """Bring the line above an answer up to date; `subject`: as in `show_soon`."""
        question = subject.partition("@")[0]
        record = self.records.get(question)
        if record is None or record.state == "withdrawn":
            return
        told = [
            (episode, tally)
            for episode in self._told_of(question)
            if (tally := self.episodes.settle(episode.id))
        ]
        posts = self.records.posts(question)
        if told and 0 in posts:
            self._update(record, posts[0], told)
        elif told and record.state in {"working", "answered"}:
            self.show_soon(question)

    def _told_of(self, question: str) -> list[Episode]:
        return self.episodes.of_question(question)

    def _is_worth_saying(self, told: Sequence[Episode]) -> bool:
        """That there is no runbook is said a few times, and not five hundred."""
        return any(
            one.outcome != "none"
            or one.elsewhere
            or self.figures.unknown_before(one, one.began_at - UNKNOWN_WITHIN) < MOST_UNKNOWN
            for one in told
        )

    def _update(
        self, record: QuestionRecord, ts: str, told: Sequence[tuple[Episode, Tally]]
    ) -> None:
        try:
            found = self.tools.web.call(
                "conversations.replies", channel=record.channel, ts=record.thread_ts,
                oldest=ts, latest=ts, inclusive=True, include_all_metadata=True,
            )  # fmt: skip
            shown = (one for one in found.get("messages") or () if one.get("ts") == ts)
            message: Json = next(shown, {})
            before = message.get("blocks") or []
            blocks = with_course(before, told) if before else []
            if blocks != before:
                self.tools.web.call(
                    "chat.update", channel=record.channel, ts=ts, text=message.get("text") or "",
                    blocks=blocks, metadata=message.get("metadata"),
                )  # fmt: skip
        except SlackRefused as refused:
            log.warning("an alert's count is not shown", reason=refused.code)
