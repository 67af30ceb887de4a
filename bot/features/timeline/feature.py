"""Timelines as a feature: asked for in a thread, or by a button below an alert's answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slack_bolt import App

from bot.blocks.kit import Json, button
from bot.bus.events import Enqueue
from bot.feature import (
    Ack,
    AlertHistory,
    AnswerExtras,
    DocumentOwners,
    Feature,
    FeatureContext,
    OutgoingAnswer,
    SayWhyNot,
)
from bot.features.timeline.service import (
    Source,
    TimelineRequested,
    TimelineService,
    is_timeline_request,
)
from bot.features.timeline.store import TimelineStore
from bot.features.timeline.views import DOCUMENT, MARKDOWN, TIMELINE
from bot.questions.store import QuestionStore
from bot.slack.events import IncomingMessage
from bot.slack.messages import user_of


def _listen(app: App, put: Enqueue) -> None:
    def press(ack: Ack, body: Json, action: Json) -> None:
        channel, _, thread_ts = str(action.get("value") or "").partition(":")
        form = str(action.get("action_id") or "").partition("_")[2] or "message"
        event = TimelineRequested(
            channel=channel,
            thread_ts=thread_ts,
            user=user_of(body),
            at=str(action.get("action_ts") or ""),
            form=form,
        )
        put(event.id, event)
        ack()

    app.action(re.compile(rf"^(?:{TIMELINE}|{MARKDOWN}|{DOCUMENT})$"))(press)


@dataclass(frozen=True)
class TimelineRequests:
    context: FeatureContext
    history: AlertHistory
    service: TimelineService

    def additions(self, answer: OutgoingAnswer) -> AnswerExtras:
        """The button below an alert's answer that everyone in the channel sees."""
        record = answer.record
        is_shown = not answer.privately and self.service.domain(record.channel)
        if not is_shown or not self.history.of_question(record.id):
            return AnswerExtras()
        value = f"{record.channel}:{record.thread_ts}"
        return AnswerExtras(buttons=(button("Timeline", TIMELINE, value),))

    def on_message(
        self, event_id: str, message: IncomingMessage, event: Mapping[str, object]
    ) -> bool:
        """`@copilot timeline` in a thread."""
        is_request = message.mentioned and not message.bot and is_timeline_request(message.text)
        if not is_request or self.service.domain(message.channel) is None:
            return False
        request = TimelineRequested(
            channel=message.channel, thread_ts=message.thread_ts, user=message.user, at=message.ts
        )
        self.context.put(request.id, request)
        return True


def build_timeline(
    context: FeatureContext,
    records: QuestionStore,
    history: AlertHistory,
    sources: Sequence[Source],
    owners: DocumentOwners | None,
    say_why_not: SayWhyNot,
) -> Feature:
    """`sources`: what other features have on record about a thread."""
    store = TimelineStore(context.engine)
    service = TimelineService(context, records, store, sources, owners, say_why_not)
    requests = TimelineRequests(context, history, service)
    return Feature(
        listen=_listen,
        handlers={TimelineRequested: service.answer},
        on_message=requests.on_message,
        additions=requests.additions,
    )
