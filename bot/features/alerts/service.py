"""Alerts of bots: answered once for each kind, counted from then on, in one thread.

A storm of one kind costs one reply and an update of it now and then; every message is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from agents.alerts.alert import Alert, name_key
from agents.alerts.parser import alerts_in
from agents.runbooks.lookup import match_alerts, worth_answering
from agents.runbooks.matching import RunbookMatch
from bot.access.gate import is_by_alert_bot
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.db import now
from bot.feature import DigestPart, FeatureContext
from bot.features.alerts.episodes import (
    WITHOUT_RUNBOOK,
    AlertMessage,
    Occurrence,
    Taken,
    alert_message,
    key_of,
    utc,
)
from bot.features.alerts.replies import A_BOT, AlertReplies
from bot.questions.store import QuestionRecord
from bot.slack.events import IncomingMessage
from config.domain import Domain, domain_of
from config.errors import CopilotError, IndexUnavailable, NothingPublished
from index.permissions.rules import EVERYONE, visible_to
from index.search import Snapshot
from telemetry import metrics

log = structlog.get_logger()

ALERTS = metrics.counter(
    "oncall_alerts_total",
    "Alerts that listed bots posted: answered, asked_which (its labels left several entries), "
    "no_runbook, repeated (counted in the thread of the first), resolved",
    "domain",
    "outcome",
)

AGAIN = "alert_again"
"""Kind of the timer of an alert that couldn't be looked up."""
AGAIN_AFTER, AGAIN_FOR = timedelta(seconds=30), timedelta(hours=6)
_OUTCOMES = {"found": "answered", "several": "asked_which"}


@dataclass(frozen=True, kw_only=True)
class AlertService:
    tools: FeatureContext
    replies: AlertReplies

    def on_event(self, event_id: str, event: Mapping[str, Any], team: str) -> bool:
        """Whether it was an alert of a bot on the list, in its domain's channel. Safe to walk again
        after a crash."""
        said = alert_message(event, bot_user=self.tools.identity.user, team=team)
        domain = domain_of(self.tools.domains().values(), said.asked.channel) if said else None
        if said is None or domain is None or not is_by_alert_bot(said.asked, domain):
            return False
        if not said.alerts:
            return self._rewritten(said)
        try:
            return self._taken(event_id, said, domain)
        except NothingPublished:
            return False
        except IndexUnavailable as error:
            log.warning("an alert waits for the documents", cause=str(error))
            if self.replies.claim(event_id, said.asked, domain):
                self._look_again(said.asked.id)
            return True

    def again(self, question: str) -> None:
        """What couldn't be looked up before."""
        record = self.replies.records.get(question)
        domain = self.tools.domains().get(record.domain) if record else None
        if record is None or domain is None or record.state != "working":
            return
        asked = replace(record.event, bot=record.asker or A_BOT)
        alerts = alerts_in(record.text, by_bot=True)
        said = AlertMessage(asked=asked, alerts=alerts, status="", at=asked.sent_at)
        try:
            self._taken(record.event_id, said, domain)
        except IndexUnavailable:
            if now() - record.asked_at < AGAIN_FOR:
                self._look_again(question)
                return
            log.error("an alert was never looked up", question=question)
        if not self.replies.episodes.of_question(question):  # a repeat, or nobody knows it
            self.replies.records.advance(record, state="silent")

    def digest(self, domain: Domain, since: datetime) -> Sequence[DigestPart]:
        loudest, after = self.replies.figures.loudest, utc(since)
        missing = loudest(domain.domain, after, without_runbook=True, limit=10)
        told = {name for name, _, _ in missing}
        often = [one for one in loudest(domain.domain, after) if one[2] > 1 and one[0] not in told]
        parts = (_part("Alerts without a runbook", missing), _part("Loudest alerts", often))
        return [one for one in parts if one.lines]

    def _taken(self, event_id: str, said: AlertMessage, domain: Domain) -> bool:
        """Raises IndexUnavailable while nobody can look into the documents."""
        asked = said.asked
        found = match_alerts(said.alerts, self._seen(domain), domain)
        if not worth_answering(found):
            return False
        taken = [
            self._counted(one, match, domain) for one, match in _occurrences(said, domain, found)
        ]
        mine = [one.episode for one in taken if one.episode and one.episode.question_id == asked.id]
        if mine:
            record = self.replies.claim(event_id, asked, domain) or self._reopened(
                event_id, asked, [one.name for one in mine], domain
            )
            if record:
                self.replies.in_turn(record)
        changed = (one.episode.question_id for one in taken if one.episode and one.changes)
        for question in dict.fromkeys(changed):
            self.replies.show_soon(question)
        return True

    def _reopened(
        self, event_id: str, asked: IncomingMessage, names: Sequence[str], domain: Domain
    ) -> QuestionRecord | None:
        """To be answered anew, in place of the answer before: the bot has added to its message."""
        record = self.replies.records.get(asked.id)
        if record is None or not asked.edited or record.state == "withdrawn":
            return None
        before = match_alerts(alerts_in(record.text, by_bot=True), self._seen(domain), domain)
        told = {name_key(one.alert.name) for one in before}
        if {name_key(name) for name in names} <= told:
            return None
        self.replies.records.reopen(asked.id, event_id=event_id, text=asked.text)
        self.replies.show_soon(asked.id)
        return self.replies.records.get(asked.id)

    def _rewritten(self, said: AlertMessage) -> bool:
        """To words that name no alert any more, perhaps to say that it is over."""
        episodes = self.replies.episodes.of_message(said.asked.id)
        if said.status == "resolved":
            for one in episodes:
                self.replies.episodes.end(one, said.asked.id, utc(said.at))
                self.replies.show_soon(one.question_id)
        return bool(episodes)

    def _look_again(self, question: str) -> None:
        due = datetime.now(UTC) + AGAIN_AFTER
        self.tools.timers.set(AGAIN, question, due, keep=True)

    def _seen(self, domain: Domain) -> Snapshot:
        if self.tools.published is None:
            raise NothingPublished(domain.domain)
        open_to = None if domain.access.audience == "channel" else EVERYONE
        return visible_to(self.tools.published.snapshot(domain.domain), open_to)

    def _counted(self, seen: Occurrence, found: RunbookMatch, domain: Domain) -> Taken:
        taken = self.replies.episodes.take(seen, lambda: self._elsewhere(found, domain))
        if taken.is_new:
            begins = taken.episode is not None and taken.episode.question_id == seen.message
            outcome = "repeated"
            if seen.status == "resolved":
                outcome = "resolved"
            elif begins:
                outcome = _OUTCOMES.get(seen.outcome, "no_runbook")
            ALERTS.labels(seen.domain, outcome).inc()
        return taken

    def _elsewhere(self, found: RunbookMatch, here: Domain) -> str:
        """A public channel of another domain that has this very row; of what is open to all."""
        if found.outcome not in WITHOUT_RUNBOOK:
            return ""
        for domain in self.tools.domains().values():
            channels = self.tools.gate.channels
            public = next((one for one in domain.channels if channels.is_public(one)), "")
            if domain.domain != here.domain and public and self._has(found.alert, domain):
                return public
        return ""

    def _has(self, alert: Alert, domain: Domain) -> bool:
        try:
            there = match_alerts([alert], self._seen(domain), domain)[0]
        except CopilotError:
            return False
        told = there.outcome in {"found", "several"}
        return told and there.entries[0].kind != "introduction"


def _occurrences(
    said: AlertMessage, domain: Domain, found: Sequence[RunbookMatch]
) -> list[tuple[Occurrence, RunbookMatch]]:
    """One for each kind and status in the message, with all that it fired on."""
    asked, kinds = said.asked, dict[str, tuple[Occurrence, RunbookMatch]]()
    for one in found:
        named = key_of(asked.channel, name_key(one.alert.name))
        places = (one.alert.where,) if one.alert.where else ()
        occurrence = Occurrence(
            message=asked.id, kind=key_of(named, one.key), named=named, name=one.alert.name,
            domain=domain.domain, channel=asked.channel, outcome=one.outcome,
            status=one.alert.status or "firing", places=places, at=utc(said.at),
        )  # fmt: skip
        known, match = kinds.setdefault(occurrence.id, (occurrence, one))
        together = tuple(dict.fromkeys((*known.places, *places)))
        kinds[occurrence.id] = replace(known, places=together), match
    return sorted(kinds.values(), key=lambda one: one[0].status)  # what began before what is over


def _part(title: str, counted: Sequence[tuple[str, str, int]]) -> DigestPart:
    """Of channels that its reader may see."""
    lines = []
    for name, _, fired in counted:
        often = "once" if fired == 1 else f"{fired} times"
        lines.append(f"`{sanitize_mrkdwn(name.replace('`', ''))[:120]}` fired {often}")
    return DigestPart(title=title, lines=lines, places=[channel for _, channel, _ in counted])
