"""Track records of runbook entries as a feature: shown below an alert's answer, graded by buttons
in its thread."""

from __future__ import annotations

import re

from slack_bolt import App

from bot.blocks.kit import Json
from bot.bus.events import Enqueue
from bot.feature import Ack, AnswerGate, Feature, SayWhyNot
from bot.features.track_record.record import GRADES, EntryGraded, GradesDue, UseSources
from bot.features.track_record.service import CHECK, TrackRecordService
from bot.features.track_record.store import TrackRecordStore
from bot.features.track_record.views import GRADE
from bot.slack.events import MessageDeleted
from bot.slack.messages import user_of


def _listen(app: App, put: Enqueue) -> None:
    def grade(ack: Ack, body: Json, action: Json) -> None:
        question, _, entry = str(action.get("value") or "").rpartition(" ")
        chosen = str(action.get("action_id") or "").removeprefix(f"{GRADE}_")
        user, at = user_of(body), str(action.get("action_ts") or "")
        event = EntryGraded(question_id=question, entry=entry, grade=chosen, user=user, at=at)
        put(f"{event.kind}-{entry}-{user}-{at}-{question}"[:120], event)
        ack()

    app.action(re.compile(rf"^{GRADE}_(?:{'|'.join(GRADES)})$"))(grade)


def build_track_record(answers: AnswerGate, sources: UseSources, say_why_not: SayWhyNot) -> Feature:
    store = TrackRecordStore(answers.context.engine)
    service = TrackRecordService(answers, store, sources, say_why_not)
    return Feature(
        listen=_listen,
        handlers={
            GradesDue: service.ask,
            EntryGraded: service.grade,
            MessageDeleted: service.withdraw,
        },
        timers={CHECK: service.check},
        additions=service.additions,
        digest=service.digest,
    )
