"""Posts what changed before an alert, once, in the alert's thread.

Nothing is stored: messages are read when somebody asks, and the post is found again by its
metadata."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from bot.access.gate import Place
from bot.bus.events import Event
from bot.feature import FeatureContext, SayWhyNot
from bot.features.changes.collect import AlertPost, ChangeCollector, Span, alerts_of
from bot.features.changes.views import MAX_LINES, Changes, changes_message
from bot.posting.posts import post_once
from bot.slack.events import IncomingMessage
from bot.slack.messages import fetch, is_own, moment, payload_of, profile_name
from config.domain import Domain, domain_of
from index.permissions.acts import Act
from telemetry import metrics

ASKED = metrics.counter(
    "oncall_changes_asked_total", "Replies to the question what changed before an alert", "domain"
)
POST_EVENT = "oncall_changes"
BEFORE = timedelta(hours=6)
"""Before the alert, unless another time is asked for: see docs/decisions/162-what-changed.md."""
AT_MOST = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class ChangesDue(Event):
    """Post what changed; as an event, so that only one worker does it."""

    kind: ClassVar[str] = "changes_due"
    channel: str
    thread_ts: str
    at: str
    """When it was asked, as Slack's timestamp."""
    since: float | None = None
    """Seconds since 1970; None: `BEFORE` the alert."""


@dataclass(frozen=True)
class ChangesService:
    context: FeatureContext
    say_why_not: SayWhyNot

    def domain_at(self, channel: str) -> Domain | None:
        """The channel's domain, if it has change channels."""
        domain = domain_of(self.context.domains().values(), channel)
        return domain if domain and domain.sources.change_channels else None

    def alerts_in(self, domain: Domain, channel: str, thread_ts: str) -> list[AlertPost]:
        """Alerts of the domain's bots in a thread, oldest first."""
        thread = fetch(self.context.web, channel, thread_ts)
        return list(alerts_of(self.context.web, domain, channel, thread))

    def request(self, event: IncomingMessage, domain: Domain, due: ChangesDue, key: str) -> None:
        """Post it soon; who may not ask gets the reason privately. `key`: the same for requests
        that get one reply."""
        place = Place(domain=domain, channel=event.channel)
        if self.context.gate.may_act(Act.INCIDENT, event.user, place):
            self.context.put(f"{due.kind}-{due.channel}-{due.thread_ts}-{key}", due)
        else:
            self.say_why_not(event)

    def post(self, event_id: str, event: ChangesDue) -> None:
        """Safe to repeat. Raises SlackBusy, SlackUnsure or SlackRefused."""
        domain = self.domain_at(event.channel)
        if domain is None or self._posted(event_id, event):
            return
        alerts = self.alerts_in(domain, event.channel, event.thread_ts)
        if not alerts:  # deleted since
            return
        readers = self.context.readers
        to_all = readers.channel(domain, event.channel)
        showing = readers.showing(to_all, door="changes", place=event.channel)
        span = span_of(event, min(one.at for one in alerts))
        changes = ChangeCollector(self.context, domain, alerts, span, showing).changes()
        message = changes_message(self._with_people(changes))
        showing.record(event_id)
        post_once(
            self.context.web,
            message,
            channel=event.channel,
            thread_ts=event.thread_ts,
            metadata={"event_type": POST_EVENT, "event_payload": {"asked": event_id}},
            find=lambda: self._posted(event_id, event),
        )
        ASKED.labels(domain.domain).inc()

    def _posted(self, event_id: str, event: ChangesDue) -> str | None:
        """A reply that an attempt before a crash posted."""
        web = self.context.web
        for message in fetch(web, event.channel, event.thread_ts):
            is_ours = payload_of(message, POST_EVENT).get("asked") == event_id
            if is_ours and is_own(message, web.bot_user):
                return str(message["ts"])
        return None

    def _with_people(self, changes: Changes) -> Changes:
        """With the names of those who wrote the lines that are shown."""
        web, team_url = self.context.web, self.context.identity.team_url
        listed = changes.lines[:MAX_LINES]
        unnamed = dict.fromkeys(one.user for one in listed if one.user and not one.by)
        names = {user: profile_name(web, user) for user in unnamed}
        profiles = {user: f"{team_url}/team/{user}" if team_url else "" for user in unnamed}
        lines = [
            replace(one, by=names[one.user], profile=profiles[one.user])
            if one.user in names and not one.by
            else one
            for one in listed
        ]
        return replace(changes, lines=[*lines, *changes.lines[MAX_LINES:]])


def span_of(event: ChangesDue, alert_at: datetime) -> Span:
    """From `BEFORE` the alert, or since the time that was asked for, until somebody asked; at most
    `AT_MOST`, of which the time around the alert counts, or else the latest."""
    asked_at = moment(event.at).replace(tzinfo=UTC)
    if event.since is None:
        since = alert_at - BEFORE
        return Span(since=since, until=min(asked_at, since + AT_MOST), alert_at=alert_at)
    since = max(datetime.fromtimestamp(event.since, UTC), asked_at - AT_MOST)
    return Span(since=since, until=asked_at, alert_at=alert_at)
