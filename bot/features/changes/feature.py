"""*What changed?* as a feature: asked by a button below an alert's answer, or in its thread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from slack_bolt import App

from agents.thread.turns import is_zone
from bot.blocks.kit import Json, button
from bot.bus.events import Enqueue, Event
from bot.feature import (
    Ack,
    AlertHistory,
    AnswerExtras,
    Feature,
    FeatureContext,
    OutgoingAnswer,
    SayWhyNot,
)
from bot.features.changes.service import ChangesDue, ChangesService
from bot.questions.store import QuestionRecord, QuestionStore
from bot.slack.events import IncomingMessage
from bot.slack.messages import user_of

BUTTON = "what_changed"

REQUEST = re.compile(
    r"\W*(?:what(?:['’]s| has| have)? changed|(?:(?:show|list|any|recent|the|me) ){0,3}changes)"
    r"(?: (?:in|within|during|over|for|of|from)?(?: ?the)? ?(?:last|past)"
    r" (?P<number>\d{1,4})? ?(?P<unit>m|h|d|min|minute|hour|hr|day|week)s?"
    r"|,? (?:since )?(?P<day>today|yesterday))?\W*",
    re.IGNORECASE,
)
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
"""First letter of a unit → its seconds."""


@dataclass(frozen=True, kw_only=True)
class ChangesRequested(Event):
    """Somebody pressed the button."""

    kind: ClassVar[str] = BUTTON
    question_id: str
    user: str
    at: str
    """Slack's timestamp."""


def _listen(app: App, put: Enqueue) -> None:
    def press(ack: Ack, body: Json, action: Json) -> None:
        question, user = str(action.get("value") or ""), user_of(body)
        at = str(action.get("action_ts") or "")
        event = ChangesRequested(question_id=question, user=user, at=at)
        put(f"{BUTTON}-{question}-{user}-{at}"[:120], event)
        ack()

    app.action(BUTTON)(press)


@dataclass(frozen=True)
class ChangesRequests:
    context: FeatureContext
    records: QuestionStore
    history: AlertHistory
    service: ChangesService

    def additions(self, answer: OutgoingAnswer) -> AnswerExtras:
        record = answer.record
        if answer.privately or not self._is_alert(record):
            return AnswerExtras()
        return AnswerExtras(buttons=(button("What changed?", BUTTON, record.id),))

    def _is_alert(self, record: QuestionRecord) -> bool:
        is_on = self.service.domain_at(record.channel) is not None
        return is_on and bool(self.history.of_question(record.id))

    def on_press(self, event_id: str, event: ChangesRequested) -> None:
        """Presses within a minute get one reply."""
        record = self.records.get(event.question_id)
        domain = self.service.domain_at(record.channel) if record else None
        if record is None or domain is None or not self._is_alert(record):
            return
        acted = replace(record.event, user=event.user, ts=event.at)
        due = ChangesDue(channel=record.channel, thread_ts=record.thread_ts, at=acted.ts)
        self.service.request(acted, domain, due, key=f"{acted.sent_at:%Y%m%d%H%M}")

    def on_message(
        self, event_id: str, message: IncomingMessage, event: Mapping[str, object]
    ) -> bool:
        """`@copilot what changed in the last 24 hours?` in an alert's thread."""
        if message.bot or message.edited or message.starts_thread or not message.mentioned:
            return False
        domain = self.service.domain_at(message.channel)
        request = REQUEST.fullmatch(message.text) if domain else None
        if domain is None or request is None:
            return False
        if not self.service.alerts_in(domain, message.channel, message.thread_ts):
            return False
        due = ChangesDue(
            channel=message.channel, thread_ts=message.thread_ts, at=message.ts,
            since=self._since(request, message),
        )  # fmt: skip
        self.service.request(message, domain, due, key=message.ts)
        return True

    def _since(self, request: re.Match[str], message: IncomingMessage) -> float | None:
        """Seconds since 1970; None where no time is given. A day begins by the asker's clock."""
        asked_at = message.sent_at
        if unit := request["unit"]:
            return asked_at.timestamp() - int(request["number"] or 1) * _UNITS[unit[0].lower()]
        if not request["day"]:
            return None
        name = self.context.gate.people.time_zone(message.user)
        zone = ZoneInfo(name if is_zone(name) else "UTC")
        today = asked_at.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        days = timedelta(days=request["day"].lower() == "yesterday")
        return (today - days).timestamp()


def build_changes(
    context: FeatureContext, records: QuestionStore, history: AlertHistory, say_why_not: SayWhyNot
) -> Feature:
    service = ChangesService(context, say_why_not)
    requests = ChangesRequests(context, records, history, service)
    return Feature(
        listen=_listen,
        handlers={ChangesRequested: requests.on_press, ChangesDue: service.post},
        on_message=requests.on_message,
        additions=requests.additions,
    )
