"""Alerts of bots: answered once for each kind, counted from then on, in one thread.

A storm of one kind costs one reply and an update of it now and then; every message is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from agents.alerts.alert import name_key
from agents.alerts.by_runbook import matched, worth_answering
from agents.alerts.runbook_match import RunbookMatch
from bot.alerts.alert_course import with_course
from bot.alerts.alert_episodes import AlertEpisodes, Episode, Occurrence, key_of, utc
from bot.alerts.alert_message import AlertMessage, alert_message
from bot.feature import DigestPart
from bot.feature_tools import FeatureTools
from bot.memory.record import now
from bot.message.harmless.harmless_words import mrkdwn
from bot.question.attempt import Job
from bot.question.rules import decide
from bot.slack.event import Asked
from bot.slack.thread import fetch
from bot.slack.web import SlackRefused
from config.domain import Domain, domain_of
from config.errors import CopilotError
from index.readers import EVERYONE, as_read_by
from index.search import Snapshot
from telemetry import metrics

log = structlog.get_logger()

TIMER = "alert_course"
SHOWN_EVERY = 5.0
"""Seconds between two updates of one reply, at least."""
UPDATE_SECONDS = 1.5
"""For each kind that fires: Slack takes about fifty updates a minute."""
_OUTCOMES = {"found": "answered", "several": "asked_which"}


@dataclass(frozen=True)
class AlertDesk:
    tools: FeatureTools
    episodes: AlertEpisodes

    def on_event(self, event_id: str, event: Mapping[str, Any], team: str) -> bool:
        """Whether it was an alert of a bot on the list, in its domain's channel. Safe to walk again
        after a crash."""
        said = alert_message(event, bot_user=self.tools.identity.user, team=team)
        domain = domain_of(self.tools.domains().values(), said.asked.channel) if said else None
        if said is None or domain is None or decide(said.asked, domain) == "ignore":
            return False
        found = self._matches(said, domain)
        if found is None or not worth_answering(found):
            return False
        taken = [
            self._counted(one, match, domain)
            for one, match in self._occurrences(said.asked, domain, found)
        ]
        to_answer = [one for one in taken if one and one.question_id == said.asked.id]
        if to_answer and any(one.alert.status != "resolved" for one in found):
            self._answer(event_id, said.asked, domain)
        for question in dict.fromkeys(one.question_id for one in taken if one):
            if question != said.asked.id or any(one.elsewhere for one in to_answer):
                self._show_soon(question)
        return True

    def show(self, subject: str) -> None:
        """Bring the line above an answer up to date; `subject` as in `_show_soon`."""
        question = subject.partition("@")[0]
        record = self.tools.records.get(question)
        if record is None or record.state == "withdrawn":
            return
        told = [
            (episode, tally)
            for episode in self.episodes.of_question(question)
            if (tally := self.episodes.settle(episode.id))
        ]
        posts = self.tools.records.posts(question)
        if told and 0 in posts:
            self._update(record.channel, record.thread_ts, posts[0], told)
        elif told and record.state in {"working", "answered"}:
            self._show_soon(question)

    def digest(self, domain: Domain, since: datetime) -> Sequence[DigestPart]:
        missing = self.episodes.loudest(domain.domain, utc(since), without_runbook=True, limit=10)
        loudest = self.episodes.loudest(domain.domain, utc(since))
        parts = []
        if missing:
            parts.append(DigestPart(title="Alerts without a runbook", lines=_lines(missing)))
        if loudest:
            parts.append(DigestPart(title="Loudest alerts", lines=_lines(loudest)))
        return parts

    def _matches(self, said: AlertMessage, domain: Domain) -> list[RunbookMatch] | None:
        """None while nobody can look into the documents: then it goes the way of questions."""
        try:
            return matched(said.alerts, self._seen(domain), domain)
        except CopilotError as error:
            log.warning("an alert could not be looked up", cause=type(error).__name__)
            return None

    def _seen(self, domain: Domain) -> Snapshot:
        if self.tools.published is None:
            raise CopilotError("nothing is known of the documents")
        open_to = None if domain.access.audience == "channel" else EVERYONE
        return as_read_by(self.tools.published.snapshot(domain.domain), open_to)

    def _occurrences(
        self, asked: Asked, domain: Domain, found: Sequence[RunbookMatch]
    ) -> list[tuple[Occurrence, RunbookMatch]]:
        """One for each kind and status in the message, with all that it fired on."""
        kinds: dict[str, tuple[Occurrence, RunbookMatch]] = {}
        for one in found:
            named = key_of(asked.channel, name_key(one.alert.name))
            places = (one.alert.where,) if one.alert.where else ()
            occurrence = Occurrence(
                message=asked.id, kind=key_of(named, one.key), named=named, name=one.alert.name,
                domain=domain.domain, channel=asked.channel, outcome=one.outcome,
                status=one.alert.status or "firing", places=places, at=utc(asked.sent_at),
            )  # fmt: skip
            known, match = kinds.setdefault(occurrence.id, (occurrence, one))
            together = tuple(dict.fromkeys((*known.places, *places)))
            kinds[occurrence.id] = replace(known, places=together), match
        return list(kinds.values())

    def _counted(self, seen: Occurrence, match: RunbookMatch, domain: Domain) -> Episode | None:
        taken = self.episodes.take(seen, lambda: self._elsewhere(match, domain))
        if taken.is_new:
            begins = taken.episode is not None and taken.episode.question_id == seen.message
            outcome = "repeated"
            if seen.status == "resolved":
                outcome = "resolved"
            elif begins:
                outcome = _OUTCOMES.get(seen.outcome, "no_runbook")
            metrics.ALERTS.labels(seen.domain, outcome).inc()
        return taken.episode

    def _elsewhere(self, found: RunbookMatch, here: Domain) -> str:
        """A public channel of another domain that has this very row; of what is open to all."""
        if found.outcome not in {"none", "other_scope"}:
            return ""
        for domain in self.tools.domains().values():
            if domain.domain == here.domain:
                continue
            try:
                there = matched([found.alert], self._seen(domain), domain)[0]
            except CopilotError:
                continue
            if there.outcome in {"found", "several"} and there.entries[0].kind != "introduction":
                public = (one for one in domain.channels if self.tools.gate.channels.is_public(one))
                if channel := next(public, ""):
                    return channel
        return ""

    def _answer(self, event_id: str, asked: Asked, domain: Domain) -> None:
        """In its thread, as any other question: on record, audited, with feedback and a human."""
        asked = replace(asked, files=(), attached=())
        known = self.tools.records.get(asked.id)
        record = self.tools.records.claim(
            question_id=asked.id, event_id=event_id, channel=asked.channel,
            thread_ts=asked.thread_ts, asker=asked.user, text=asked.text, domain=domain.domain,
        )  # fmt: skip
        if record and record.state in {"working", "answered"}:
            self.tools.intake.attempts.respond(
                Job(
                    event=asked, record=record, thread=[], domains=[domain],
                    resumed=known is not None, quiet=True, alert=True,
                )
            )  # fmt: skip

    def _show_soon(self, question: str) -> None:
        """At the end of the stretch after this one, once for all that happens until then.

        A stretch is the longer, the more kinds fire. The timer of the running stretch may be in
        somebody's hands already, and would then miss what has just been counted."""
        active = self.episodes.active(now() - timedelta(minutes=1))
        stretch = max(SHOWN_EVERY, UPDATE_SECONDS * active)
        due = (math.floor(datetime.now(UTC).timestamp() / stretch) + 2) * stretch
        due_at = datetime.fromtimestamp(due, UTC)
        self.tools.timers.set(TIMER, f"{question}@{due:.0f}", due_at, keep=True)

    def _update(
        self, channel: str, thread_ts: str, ts: str, told: Sequence[tuple[Episode, Any]]
    ) -> None:
        message = next(
            (m for m in fetch(self.tools.web, channel, thread_ts) if m["ts"] == ts), None
        )
        before = (message or {}).get("blocks") or []
        if message is None or not before:
            return
        blocks = with_course(before, told)
        if blocks == before:
            return
        try:
            self.tools.web.call(
                "chat.update", channel=channel, ts=ts, text=message.get("text") or "",
                blocks=blocks, metadata=message.get("metadata"),
            )  # fmt: skip
        except SlackRefused as refused:
            log.warning("an alert's count is not shown", reason=refused.code)


def _lines(counted: Sequence[tuple[str, int]]) -> list[str]:
    return [
        f"`{mrkdwn(name.replace('`', ''))[:120]}`: {fired} time{'s' * (fired != 1)}"
        for name, fired in counted
    ]
