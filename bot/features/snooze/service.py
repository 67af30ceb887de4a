"""Snoozes a kind of alert, and wakes who did so when it becomes another matter.

Each step is safe to repeat, and an end has one event: what comes first counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import structlog

from bot.blocks.kit import Json, link, short
from bot.blocks.render import SlackMessage
from bot.bus.events import Event
from bot.feature import (
    AlertEpisode,
    AlertFired,
    AlertHistory,
    AnswerGate,
    DigestPart,
    FeatureContext,
    IncidentThread,
    TimelineEntry,
)
from bot.features.snooze.store import SnoozeStore
from bot.features.snooze.views import (
    MAX_REASON,
    PAST,
    Meanwhile,
    ended_line,
    form,
    line,
    shift_option,
    snoozed,
    waking_message,
)
from bot.features.snooze.waking import (
    EARLY,
    WINDOW,
    End,
    Snooze,
    Waking,
    rate_of,
    recent_since,
    waking_by,
)
from bot.posting.posts import find_posts, metadata_of, post_once
from bot.questions.store import QuestionRecord
from bot.rotas.on_call import OnCallResolver
from bot.showing import Showing
from bot.slack.client import SlackRefused
from bot.slack.messages import ERASED, UNKNOWN_NAME, mention, profile_name, whisper
from config.domain import Domain
from durable.database import now
from index.permissions.acts import Act
from telemetry import metrics

log = structlog.get_logger()

SNOOZES = metrics.counter(
    "oncall_snoozes_total",
    "Snoozes of alerts that ended: time, person, replaced, deleted (with their thread), or early "
    "by severity, place or rate",
    "domain",
    "end",
)
OVER = "snooze_over"
"""Kind of the timer at a snooze's end."""
MESSAGE = "oncall_snooze"
"""Type of its messages' metadata."""


@dataclass(frozen=True, kw_only=True)
class SnoozeRequested(Event):
    kind: ClassVar[str] = "snooze"
    id: str
    question_id: str
    alert: str
    """Key of its kind."""
    user: str
    reason: str
    at: str
    """ISO, UTC without a zone, as `until`."""
    until: str


@dataclass(frozen=True, kw_only=True)
class SnoozeStopped(Event):
    kind: ClassVar[str] = "snooze_stop"
    id: str
    user: str


@dataclass(frozen=True, kw_only=True)
class SnoozeEnded(Event):
    kind: ClassVar[str] = "snooze_ended"
    id: str
    end: End
    at: str
    """ISO, UTC without a zone."""
    by: str = ""
    before: str = ""
    after: str = ""
    is_higher: bool = False


@dataclass(frozen=True, kw_only=True)
class SnoozeService:
    context: FeatureContext
    store: SnoozeStore
    answers: AnswerGate
    history: AlertHistory
    resolver: OnCallResolver

    def form(self, question_id: str, user: str) -> Json | None:
        """None where this person may not snooze here, or the alert is no longer on record."""
        stored = self._stored(question_id, user)
        if stored is None:
            return None
        domain, episodes = stored
        running = [one for each in episodes for one in self.store.running(each.kind, now())[:1]]
        alerts = {one.kind: one.name for one in episodes}
        shift = self.resolver.on_call(domain) if domain.escalation.rota else None
        return form(alerts, running, shift_option(shift, user, datetime.now(UTC)), question_id)

    def request(self, event_id: str, event: SnoozeRequested) -> None:
        snooze = self.store.get(event.id) or self._begin(event)
        if snooze is None:
            return
        until = snooze.until.replace(tzinfo=UTC)
        self.context.timers.set(OVER, snooze.id, until, keep=True)
        for one in self.store.running(snooze.kind, snooze.since)[1:]:
            self._end(one, Waking(end="replaced"), by=snooze.by)
        latest, record = self.store.get(snooze.id), self.answers.records.get(snooze.question_id)
        if record and latest and not latest.ended_at:
            ts = self._post(record, line(snooze, self._name(snooze.by)), snooze, "line")
            self.store.place(snooze, ts)
            latest = self.store.get(snooze.id)
            if latest and latest.end and latest.ended_at:  # while it was posted
                self._close_line(latest, latest.end, self._meanwhile(latest, latest.ended_at))

    def stop(self, event_id: str, event: SnoozeStopped) -> None:
        snooze = self.store.get(event.id)
        if snooze and self.answers.open(Act.INCIDENT, snooze.question_id, event.user):
            self._end(snooze, Waking(end="person"), by=event.user)

    def over(self, snooze_id: str) -> None:
        if snooze := self.store.get(snooze_id):
            self._end(snooze, Waking(end="time"))

    def on_alert(self, fired: AlertFired) -> bool:
        """Whether it is snoozed. What ends its snooze does so here."""
        domain = self.context.domains().get(fired.domain)
        if domain is None or not domain.runbooks.snooze:
            return False
        running = self.store.running(fired.kind, fired.at)
        if not running:
            return False
        snooze = running[0]
        record = self.answers.records.get(snooze.question_id)
        if record is None or record.state == "withdrawn":
            self._end(snooze, Waking(end="deleted"))
            return False
        recent = self.history.fired(fired.kind, recent_since(snooze, fired.at))
        waking = waking_by(snooze, fired, recent)
        if waking:
            self._end(snooze, waking)
        return waking is None

    def show_end(self, event_id: str, event: SnoozeEnded) -> None:
        """Tell the thread. An early end mentions who snoozed; any other changes the line alone."""
        snooze = self.store.get(event.id)
        record = self.answers.records.get(snooze.question_id) if snooze else None
        domain = self.context.domains().get(record.domain) if record else None
        if snooze is None or record is None or domain is None or record.state == "withdrawn":
            return
        meanwhile = self._meanwhile(snooze, datetime.fromisoformat(event.at))
        if event.end in EARLY:
            waking = Waking(
                end=event.end, before=event.before, after=event.after, is_higher=event.is_higher
            )
            message = waking_message(snooze, waking, self._whom(snooze, domain), meanwhile)
            self._post(record, message, snooze, "end")
        self._close_line(snooze, event.end, meanwhile, event.by)

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        """What is snoozed now, for whoever comes on shift."""
        running = self.store.running_in(domain.domain, now()) if domain.runbooks.snooze else []
        lines = [snoozed(one, self._name(one.by)) for one in running]
        part = DigestPart(
            title="Snoozed alerts", lines=lines, places=[one.channel for one in running]
        )
        return [part] if lines else []

    def timeline(self, thread: IncidentThread) -> Iterator[TimelineEntry]:
        """When something was snoozed in the thread, and when that was over."""
        for one in self.store.of_questions(thread.questions):
            what = f"snoozed {one.name}"
            yield TimelineEntry(at=one.since, what=what, by=one.by, quote=one.reason, ts=one.ts)
            if one.ended_at:
                yield TimelineEntry(at=one.ended_at, what=f"The snooze of {one.name} ended")

    def _begin(self, event: SnoozeRequested) -> Snooze | None:
        stored = self._stored(event.question_id, event.user)
        since, until = (datetime.fromisoformat(one) for one in (event.at, event.until))
        if stored is None or event.alert not in {one.kind for one in stored[1]}:
            return None
        # What it is now: the button may be that of an earlier episode's answer.
        episode = self.history.of_kind(event.alert)[0]
        if until <= since:
            thread = event.question_id.partition(":")[2]
            whisper(self.context.web, event.user, episode.channel, thread, PAST)
            return None
        severities, places = self.history.signs(episode.id, since)
        lately = max(since - WINDOW, episode.began_at - timedelta(seconds=1))
        snooze = Snooze(
            id=event.id, kind=episode.kind, name=episode.name, domain=episode.domain,
            channel=episode.channel, question_id=event.question_id, by=event.user,
            reason=event.reason[:MAX_REASON], severities=severities, places=places,
            rate=rate_of(self.history.fired(episode.kind, lately, since), since - lately),
            since=since, until=until,
        )  # fmt: skip
        self.store.add(snooze)
        return snooze

    def _stored(self, question_id: str, user: str) -> tuple[Domain, list[AlertEpisode]] | None:
        """The domain and the alerts of a thread, where this person may snooze them."""
        stored = self.answers.open(Act.INCIDENT, question_id, user)
        episodes = list(self.history.of_question(question_id))
        if stored is None or not stored.domain.runbooks.snooze or not episodes:
            return None
        return stored.domain, episodes

    def _end(self, snooze: Snooze, waking: Waking, by: str = "") -> None:
        if snooze.end not in ("", waking.end):
            return
        at = min(now(), snooze.until)
        event = SnoozeEnded(id=snooze.id, at=at.isoformat(), by=by, **vars(waking))
        # First: after a crash between the two, whatever ends it comes again.
        self.context.put(f"{event.kind}-{snooze.id}", event)
        if self.store.end(snooze, waking.end, at):
            SNOOZES.labels(snooze.domain, waking.end).inc()

    def _whom(self, snooze: Snooze, domain: Domain) -> str:
        """Mentions who snoozed it, or who is on call where they have left."""
        who = snooze.by
        if who == ERASED or self.context.gate.people.member(who).kind == "former":
            who = self.resolver.first(domain).who
        return mention(who) if who else ""

    def _name(self, user: str) -> str:
        team_url = self.context.identity.team_url
        url = f"{team_url}/team/{user}" if team_url and user != ERASED else ""
        return link(url, short(profile_name(self.context.web, user), 80))

    def _post(
        self, record: QuestionRecord, message: SlackMessage, snooze: Snooze, part: str
    ) -> str:
        """Once, also after a crash; its timestamp."""
        web, key = self.context.web, f"{snooze.id}/{part}"

        def find() -> str | None:
            return next(iter(find_posts(web, record.event, MESSAGE, snooze=key)), None)

        return find() or post_once(
            web, message, channel=record.channel, thread_ts=record.thread_ts,
            metadata=metadata_of(MESSAGE, record.id, snooze=key), find=find,
        )  # fmt: skip

    def _meanwhile(self, snooze: Snooze, at: datetime) -> Meanwhile:
        latest = next(iter(self.history.of_kind(snooze.kind)), None)
        return Meanwhile(
            fired=self.history.fired(snooze.kind, snooze.since, at),
            resolved_at=latest.resolved_at if latest else None,
        )

    def _close_line(self, snooze: Snooze, end: End, meanwhile: Meanwhile, by: str = "") -> None:
        if not snooze.ts:
            return  # whoever posts it sees that it has ended
        ended_by = self._name(by) if by else UNKNOWN_NAME.capitalize()
        message = ended_line(snooze, self._name(snooze.by), ended_by, end, meanwhile)
        try:
            self.context.web.call(
                "chat.update", channel=snooze.channel, ts=snooze.ts, text=message.text,
                blocks=message.blocks,
            )  # fmt: skip
        except SlackRefused as refused:
            log.info("a snooze's line could not be updated", reason=refused.code)
