"""Rehearsals as a feature: started by a word in a direct message, gone through by its buttons."""

from __future__ import annotations

import re

from slack_bolt import App

from bot.blocks.kit import Json
from bot.bus.events import Enqueue
from bot.feature import Ack, Feature, FeatureContext
from bot.features.rehearsal.drills import Drills, PastAlerts
from bot.features.rehearsal.service import RehearsalPressed, RehearsalService
from bot.features.rehearsal.store import RehearsalStore
from bot.features.rehearsal.views import NEXT, SHOW, STOP
from bot.questions.store import QuestionStore
from bot.slack.events import MessageDeleted
from bot.slack.messages import user_of


def _listen(app: App, put: Enqueue) -> None:
    def press(ack: Ack, body: Json, action: Json) -> None:
        rehearsal, _, position = str(action.get("value") or "").partition(" ")
        act, user = str(action.get("action_id") or ""), user_of(body)
        if position.isdecimal():
            event = RehearsalPressed(
                rehearsal=rehearsal, position=int(position), act=act, user=user
            )
            put(f"{act}-{rehearsal}-{position}-{user}"[:120], event)
        ack()

    app.action(re.compile(rf"^(?:{SHOW}|{NEXT}|{STOP})$"))(press)


def build_rehearsal(context: FeatureContext, records: QuestionStore, past: PastAlerts) -> Feature:
    service = RehearsalService(
        context, RehearsalStore(context.engine), Drills(context, records, past)
    )
    return Feature(
        listen=_listen,
        handlers={RehearsalPressed: service.on_press, MessageDeleted: service.on_deleted},
        on_message=service.on_message,
        plan=service.forget_old,
    )
