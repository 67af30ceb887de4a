"""Alerts of bots: each kind is answered once, in one thread, and counted from then on.

A storm of one kind costs one reply and an update now and then; every message is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from agents.alerts.alert import Alert
from agents.alerts.reader import alerts_in
from agents.runbooks.matching import RunbookMatch, match_alerts, worth_answering
from bot.access.gate import is_by_alert_bot
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import (
    AlertFired,
    AlertHook,
    DigestPart,
    FeatureContext,
    IncidentThread,
    TimelineEntry,
)
from bot.features.alerts.episodes import (
    WITHOUT_RUNBOOK,
    AlertMessage,
    Episode,
    EpisodeUpdate,
    Occurrence,
    alert_message,
    key_of,
)
from bot.features.alerts.replies import A_BOT, AlertReplies
from bot.questions.store import QuestionRecord
from bot.slack.events import IncomingMessage
from config.domain import Domain, domain_of
from config.errors import CopilotError, IndexUnavailable, NothingPublished
from durable.database import naive_utc, now
from durable.failures import passing_failure
from enrichment.names import name_key
from telemetry import metrics

log = structlog.get_logger()

ALERTS = metrics.counter(
    "oncall_alerts_total",
    "Alerts that listed bots posted: answered, asked_which (its labels left several entries), "
    "no_runbook, repeated (counted in the thread of the first), snoozed (counted only), resolved",
    "domain",
    "outcome",
)

RETRY = "alert_again"
"""Kind of the timer of an alert that came while the documents were unavailable."""
RETRY_AFTER, RETRY_FOR = timedelta(seconds=30), timedelta(hours=6)
_OUTCOMES = {"found": "answered", "several": "asked_which"}


@dataclass(frozen=True)
class AlertService:
    context: FeatureContext
    replies: AlertReplies
    hooks: Sequence[AlertHook] = ()

    def on_message(self, event_id: str, message: IncomingMessage, event: Mapping[str, Any]) -> bool:
        """Whether it was an alert of a listed bot, in its domain's channel. Safe to repeat."""
        domain = domain_of(self.context.domains().values(), message.channel)
        if domain is None or not is_by_alert_bot(message, domain):
            return False
        alert = alert_message(message, event)
        if alert is None:
            return False
        if not alert.alerts:
            return self._edited(alert)
        try:
            return self._handle(event_id, alert, domain)
        except NothingPublished:
            return False
        except IndexUnavailable as error:
            log.warning("index unavailable, alert is retried later", cause=str(error))
            if self.replies.records.claim(event_id, alert.message, domain.domain):
                self._retry_later(alert.message.id)
            return True

    def retry(self, question: str) -> None:
        """Handle an alert that came while the documents were unavailable."""
        record = self.replies.records.get(question)
        domain = self.context.domains().get(record.domain) if record else None
        if record is None or domain is None or record.state != "working":
            return
        message = replace(record.event, bot=record.asker or A_BOT)
        alerts = alerts_in(record.text, by_bot=True)
        alert = AlertMessage(message=message, alerts=alerts, status="", at=message.sent_at)
        try:
            self._handle(record.event_id, alert, domain)
        except IndexUnavailable:
            if now() - record.asked_at < RETRY_FOR:
                self._retry_later(question)
                return
            log.error("alert abandoned without a lookup", question=question)
        episodes = self.replies.episodes.of_question(question)
        if all(one.quiet for one in episodes):  # a repeat, in no document, or to stay quiet
            self.replies.records.advance(record, state="silent")

    def digest(self, domain: Domain, since: datetime, _: object) -> Sequence[DigestPart]:
        loudest, after = self.replies.counts.loudest, naive_utc(since)
        missing = loudest(domain.domain, after, without_runbook=True, limit=10)
        listed = {name for name, _, _ in missing}
        repeated = (one for one in loudest(domain.domain, after) if one[2] > 1)
        often = [one for one in repeated if one[0] not in listed]
        parts = (_part("Alerts without a runbook", missing), _part("Loudest alerts", often))
        return [one for one in parts if one.lines]

    def timeline(self, thread: IncidentThread) -> Iterator[TimelineEntry]:
        """Each time that an alert of the thread fired or was resolved."""
        begun: set[str] = set()
        for row in self.replies.episodes.occurrences(thread.questions):
            is_first = row.status == "firing" and row.episode not in begun
            is_last = row.status == "resolved" and row.at == row.resolved_at
            begun |= {row.episode} if is_first else set()
            verb = "fired" if is_first else "fired again" if row.status == "firing" else "resolved"
            places = ", ".join(json.loads(row.places))
            yield TimelineEntry(
                at=row.at,
                what=f"{verb} on {places}" if places else verb,
                ts=row.id.split(":")[1],
                alert=row.name,
                episode=row.episode,
                edge="began" if is_first else "ended" if is_last else "",
            )

    def _handle(self, event_id: str, alert: AlertMessage, domain: Domain) -> bool:
        """Whether the bot answers such alerts. Raises IndexUnavailable."""
        message = alert.message
        matches = match_alerts(alert.alerts, self.context.channel_snapshot(domain), domain)
        if not worth_answering(matches):
            return False
        updates = [
            self._count(one, match, domain)
            for one, match in occurrences(alert, domain, matches)
            if worth_answering([match])
        ]
        episodes = [one.episode for one in updates if one.episode and not one.stays_quiet]
        mine = [one for one in episodes if one.question_id == message.id]
        if mine:
            # As a question it has audit, feedback and hand-off.
            record = self.replies.records.claim(event_id, message, domain.domain)
            record = record or self._reopened(event_id, message, [one.name for one in mine], domain)
            if record:
                self.replies.in_turn(record)
        changed = (one.episode.question_id for one in updates if one.episode and one.changes)
        for question in dict.fromkeys(changed):
            self.replies.update_soon(question)
        return True

    def _reopened(
        self, event_id: str, message: IncomingMessage, names: Sequence[str], domain: Domain
    ) -> QuestionRecord | None:
        """The question again where an edit names more alerts: a new answer replaces the old one."""
        record = self.replies.records.get(message.id)
        if record is None or not message.edited or record.state == "withdrawn":
            return None
        before = match_alerts(
            alerts_in(record.text, by_bot=True), self.context.channel_snapshot(domain), domain
        )
        answered = {name_key(one.alert.name) for one in before}
        if {name_key(name) for name in names} <= answered:
            return None
        self.replies.records.reopen(message.id, event_id=event_id, text=message.text)
        self.replies.update_soon(message.id)
        return self.replies.records.get(message.id)

    def _edited(self, alert: AlertMessage) -> bool:
        """Whether the message named alerts before an edit; an edit may say that they are over."""
        episodes = self.replies.episodes.of_message(alert.message.id)
        if alert.status == "resolved":
            for one in episodes:
                self.replies.episodes.end(one, alert.message.id, naive_utc(alert.at))
                self.replies.update_soon(one.question_id)
        return bool(episodes)

    def _retry_later(self, question: str) -> None:
        due = datetime.now(UTC) + RETRY_AFTER
        self.context.timers.set(RETRY, question, due, keep=True)

    def _count(self, occurrence: Occurrence, match: RunbookMatch, domain: Domain) -> EpisodeUpdate:
        episodes = self.replies.episodes
        change = episodes.count(occurrence, lambda: self._elsewhere(match, domain))
        if change.episode is not None and occurrence.status == "firing":
            change = self._heard(occurrence, change, change.episode)
        if change.is_new:
            episode, outcome = change.episode, "repeated"
            if occurrence.status == "resolved":
                outcome = "resolved"
            elif change.stays_quiet:
                outcome = "snoozed"
            elif episode is not None and episode.question_id == occurrence.message:
                outcome = _OUTCOMES.get(occurrence.outcome, "no_runbook")
            ALERTS.labels(occurrence.domain, outcome).inc()
        return change

    def _heard(self, fires: Occurrence, change: EpisodeUpdate, episode: Episode) -> EpisodeUpdate:
        """The update as the hooks leave it. All of them are called."""
        fired = AlertFired(
            kind=fires.kind, name=fires.name, domain=fires.domain, channel=fires.channel,
            severities=fires.severities, places=fires.places, at=fires.at,
        )  # fmt: skip
        episodes = self.replies.episodes
        quiet = [_is_quiet(hook, fired) for hook in self.hooks]
        if not any(quiet):
            return replace(change, episode=episodes.wake(episode, fires.message))
        record = self.replies.records.get(episode.question_id)
        if episode.question_id == fires.message and (record is None or record.state == "working"):
            episodes.keep_quiet(episode)
        return replace(change, stays_quiet=True, changes=change.changes and record is not None)

    def _elsewhere(self, match: RunbookMatch, here: Domain) -> str:
        """A public channel of another domain whose documents, as far as open to everyone, have a
        runbook for this alert; empty where there is none."""
        if match.outcome not in WITHOUT_RUNBOOK:
            return ""
        for domain in self.context.domains().values():
            channels = self.context.gate.channels
            public = next((one for one in domain.channels if channels.is_public(one)), "")
            if domain.domain != here.domain and public and self._has(match.alert, domain):
                return public
        return ""

    def _has(self, alert: Alert, domain: Domain) -> bool:
        try:
            match = match_alerts([alert], self.context.channel_snapshot(domain), domain)[0]
        except CopilotError:
            return False
        return match.outcome in {"found", "several"}


def _is_quiet(hook: AlertHook, fired: AlertFired) -> bool:
    """False where the hook fails: an alert is answered rather than lost."""
    try:
        return hook(fired)
    except Exception as error:
        if passing_failure(error):
            raise  # the alert waits for the database
        log.exception("an alert's hook failed", cause=type(error).__name__)
        return False


def occurrences(
    alert: AlertMessage, domain: Domain, matches: Sequence[RunbookMatch]
) -> list[tuple[Occurrence, RunbookMatch]]:
    """One for each kind and status in the message, with all places where it fired."""
    message, kinds = alert.message, dict[str, tuple[Occurrence, RunbookMatch]]()
    for one in matches:
        named = key_of(message.channel, name_key(one.alert.name))
        places = (one.alert.where,) if one.alert.where else ()
        occurrence = Occurrence(
            message=message.id, kind=key_of(named, one.key), named=named, name=one.alert.name,
            domain=domain.domain, channel=message.channel, outcome=one.outcome,
            status=one.alert.status or "firing", places=places, at=naive_utc(alert.at),
            severities=(one.alert.severity,) if one.alert.severity else (), edited=message.edited,
        )  # fmt: skip
        first, match = kinds.setdefault(occurrence.id, (occurrence, one))
        places = tuple(dict.fromkeys((*first.places, *places)))
        severities = tuple(dict.fromkeys((*first.severities, *occurrence.severities)))
        kinds[occurrence.id] = replace(first, places=places, severities=severities), match
    return sorted(kinds.values(), key=lambda one: one[0].status)  # firing before resolved


def _part(title: str, counted: Sequence[tuple[str, str, int]]) -> DigestPart:
    """Lists alerts in channels that the digest's reader may see; counts the others."""
    lines = []
    for name, _, fired in counted:
        often = "once" if fired == 1 else f"{fired} times"
        lines.append(f"`{sanitize_mrkdwn(name.replace('`', ''))[:120]}` fired {often}")
    return DigestPart(title=title, lines=lines, places=[channel for _, channel, _ in counted])
