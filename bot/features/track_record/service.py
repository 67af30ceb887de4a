"""Records uses of runbook entries in answers to alerts, asks how they did, and shows the record.

A timer looks at each alert for a few days, at growing intervals: what people do with an answer, and
when its alert is resolved, is on record elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog

from agents.alerts.reader import alerts_in
from agents.runbooks.matching import match_alerts
from bot.blocks.render import SlackMessage
from bot.feature import (
    AnswerExtras,
    AnswerGate,
    DigestPart,
    FeatureContext,
    OutgoingAnswer,
    SayWhyNot,
)
from bot.features.track_record.record import (
    GRADES,
    EntryGraded,
    EntryUse,
    EpisodeTimes,
    GradesDue,
    TrackRecord,
    UseSources,
    Work,
    entry_key,
    settle,
    track_record,
)
from bot.features.track_record.store import TrackRecordStore
from bot.features.track_record.views import grade_message, record_line, wrong_line
from bot.posting.posts import find_posts, metadata_of, post_once, post_with_fallback
from bot.questions.store import QuestionRecord
from bot.questions.tables import FORGOTTEN, WITHDRAWN
from bot.showing import Showing
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.events import MessageDeleted
from bot.slack.messages import moment, permalink
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway
from durable.database import naive_utc, now
from enrichment.names import name_key
from index.permissions.acts import Act
from telemetry import metrics

log = structlog.get_logger()

USES = metrics.counter(
    "oncall_runbook_uses_total",
    "Uses of runbook entries for alerts, counted three days after the alert: resolved, failed, "
    "unknown",
    "domain",
    "outcome",
)

CHECK = "track_record"
"""Kind of the timer that looks at what became of an alert."""
CHECK_AFTER, CHECKED_FOR = timedelta(minutes=5), timedelta(days=3)
POST_EVENT = "oncall_runbook_grade"
"""Metadata type of the message that asks for grades."""
REFUSED = "-"
"""In place of its timestamp where Slack refuses it."""


@dataclass(frozen=True)
class TrackRecordService:
    """Safe to repeat after a crash."""

    answers: AnswerGate
    store: TrackRecordStore
    sources: UseSources
    say_why_not: SayWhyNot

    @property
    def context(self) -> FeatureContext:
        return self.answers.context

    def additions(self, outgoing: OutgoingAnswer) -> AnswerExtras:
        """The records of the entries in an alert's answer, each of which may be used from now."""
        if not outgoing.domain.runbooks.track_record or outgoing.privately:
            return AnswerExtras()
        question = outgoing.record.id
        try:
            uses = list(self._entries(outgoing))
            for use in uses:
                self.store.begin(use)
            if uses:
                first = datetime.now(UTC) + CHECK_AFTER
                self.context.timers.set(CHECK, question, first, keep=True)
            records = [(use, self._record(use, outgoing.domain)) for use in uses]
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except (CopilotError, SlackBusy, SlackUnsure) as error:
            log.info("no track record shown", question=question, reason=str(error))
            return AnswerExtras()
        is_one = len(uses) == 1
        return AnswerExtras(
            notes=tuple(
                record_line(record, now(), "" if is_one else use.name)
                for use, record in records
                if record
            )
        )

    def check(self, question_id: str) -> None:
        """Settle the uses in an alert's answer as far as they are known, and ask for grades."""
        record, uses = self.answers.records.get(question_id), self.store.of_question(question_id)
        domain = self.context.domains().get(record.domain) if record else None
        if record is None or domain is None or not uses or record.state in (WITHDRAWN, FORGOTTEN):
            return
        if not domain.runbooks.track_record:
            return
        work = self.sources.work(question_id)
        uses = self._settle(question_id, work)
        is_over = work.is_finished or all(one.resolved_at for one in uses)
        if work.is_use and is_over and not uses[0].message_ts:
            due = GradesDue(question_id=question_id)
            self.context.put(f"{due.kind}-{question_id}", due)
        age = now() - min(one.began_at for one in uses)
        if age < CHECKED_FOR:
            later = datetime.now(UTC) + max(CHECK_AFTER, age / 4)
            self.context.timers.set(CHECK, question_id, later)
            return
        for one in filter(lambda one: one.outcome, uses):
            USES.labels(one.domain, one.outcome).inc()

    def ask(self, event_id: str, event: GradesDue) -> None:
        if record := self.answers.records.get(event.question_id):
            self._show(record)

    def grade(self, event_id: str, event: EntryGraded) -> None:
        """One person's grade, which anyone may give who sees the thread and may ask."""
        question, user = event.question_id, event.user
        answer = self.answers.open(Act.INCIDENT, question, user)
        if answer is None:
            record = self.answers.records.get(question)
            if record and record.answer:
                self.say_why_not(replace(record.event, user=user))
            return
        uses = self.store.of_question(question)
        use = next((one for one in uses if one.entry == event.entry), None)
        if use is None or event.grade not in GRADES or not answer.domain.runbooks.track_record:
            return
        self.store.grade(use, user, event.grade, min(moment(event.at), now()))
        self._settle(question, self.sources.work(question))
        self._show(answer.record)

    def withdraw(self, event_id: str, event: MessageDeleted) -> None:
        """The alert's message was deleted: nothing of it counts, and nothing is asked."""
        uses = self.store.of_question(event.id)
        if not uses:
            return
        try:
            if uses[0].message_ts not in ("", REFUSED):
                self.context.web.call("chat.delete", channel=event.channel, ts=uses[0].message_ts)
        except SlackRefused as refused:
            log.info("could not delete a message", reason=refused.code)
        self.store.delete(event.id)

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        """Entries that people graded wrong."""
        if not domain.runbooks.track_record:
            return ()
        lines, places = [], []
        for use, people in self.store.wrong_since(domain.domain, naive_utc(since)):
            record = self.answers.records.get(use.question_id)
            if record and showing.names(use.domain, use.document):
                url = permalink(self.context.identity.team_url, record.event)
                lines.append(wrong_line(use, people, url))
                places.append(use.channel)
        title = "Runbooks graded wrong"
        return [DigestPart(title=title, lines=lines, places=places)] if lines else ()

    def _entries(self, outgoing: OutgoingAnswer) -> Iterator[EntryUse]:
        """Of the alerts that have exactly one, each once. Raises CopilotError."""
        record, domain = outgoing.record, outgoing.domain
        episodes = self.sources.episodes(record.id)
        if not episodes:
            return
        visible = self.context.channel_snapshot(domain)
        alerts = [one for one in alerts_in(record.text, by_bot=True) if one.status != "resolved"]
        cited = {one.document for one in outgoing.answer.citations}
        uses: dict[str, EntryUse] = {}
        for match in match_alerts(alerts, visible, domain):
            began = [one.began_at for one in _of(match.alert.name, episodes)]
            if match.outcome != "found" or not began:
                continue
            entry, document = match.entries[0], match.entries[0].chunk.document_id
            if document in cited:
                use = EntryUse(
                    question_id=record.id, entry=entry_key(entry), domain=domain.domain,
                    document=document, name=match.alert.name, began_at=min(began),
                )  # fmt: skip
                uses.setdefault(use.entry, use)
        yield from uses.values()

    def _record(self, use: EntryUse, domain: Domain) -> TrackRecord | None:
        """Of the entry's earlier uses, in channels that all readers of this one may see."""
        reader = self.context.readers.channel(domain, use.channel)
        return track_record(
            [
                one
                for one in self.store.of_entry(use.domain, use.entry)
                if one.question_id != use.question_id and reader.sees(one.channel)
            ]
        )

    def _settle(self, question_id: str, work: Work) -> list[EntryUse]:
        """The question's uses, as they turned out so far."""
        while True:
            uses, grades = self.store.of_question(question_id), self.store.grades(question_id)
            episodes = self.sources.episodes(question_id)
            settled = [
                settle(use, _of(use.name, episodes), work, grades.get(use.entry, {}), len(uses))
                for use in uses
            ]
            for one in set(settled) - set(uses):
                self.store.settle(one)
            # Another worker may store a grade meanwhile.
            if self.store.grades(question_id) == grades:
                return settled

    def _show(self, record: QuestionRecord) -> None:
        """Post or update the message that asks for grades. Another worker may do so at the same
        time: whoever shows older counts repeats it."""
        while uses := self.store.of_question(record.id):
            grades = self.store.grades(record.id)
            if uses[0].message_ts != REFUSED:
                self._put(record, uses[0].message_ts, grade_message(uses, grades))
            if self.store.grades(record.id) == grades:
                return

    def _put(self, record: QuestionRecord, ts: str, message: SlackMessage) -> None:
        """`ts`: of the message; empty before it is posted, or where that is not on record."""
        web, metadata = self.context.web, metadata_of(POST_EVENT, record.id)

        def find() -> str | None:
            return next(iter(find_posts(web, record.event, POST_EVENT)), None)

        posted = ts or find()
        try:
            if posted:
                place = {"channel": record.channel, "ts": posted, "metadata": metadata}
                post_with_fallback(web, web.call, "chat.update", message, place)
            else:
                posted = post_once(
                    web, message, channel=record.channel, thread_ts=record.thread_ts,
                    metadata=metadata, find=find,
                )  # fmt: skip
        except SlackRefused as refused:
            log.info("grades could not be asked for or shown", reason=refused.code)
        if posted != ts:
            self.store.set(record.id, message_ts=posted or REFUSED)


def _of(name: str, episodes: Sequence[EpisodeTimes]) -> list[EpisodeTimes]:
    return [one for one in episodes if name_key(one.name) == name_key(name)]
