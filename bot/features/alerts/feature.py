"""Alerts, as a feature of the bot."""

from __future__ import annotations

from bot.feature import AnswerAlert, Feature, FeatureContext
from bot.features.alerts.replies import ANSWER, COURSE, AlertAnswerDue, AlertReplies
from bot.features.alerts.service import AGAIN, AlertService
from bot.features.alerts.store import AlertCounts, EpisodeStore
from bot.questions.store import QuestionStore


def build_alerts(
    context: FeatureContext, records: QuestionStore, answer_alert: AnswerAlert
) -> Feature:
    def is_gone(question: str) -> bool:
        record = records.get(question)
        return record is not None and record.state == "withdrawn"

    replies = AlertReplies(
        tools=context,
        records=records,
        episodes=EpisodeStore(context.engine, is_gone=is_gone),
        figures=AlertCounts(context.engine),
        answer_alert=answer_alert,
    )
    desk = AlertService(tools=context, replies=replies)
    return Feature(
        on_event=desk.on_event,
        handlers={AlertAnswerDue: replies.answer},
        timers={ANSWER: replies.put, COURSE: replies.show, AGAIN: desk.again},
        digest=desk.digest,
    )
