"""Answers to alerts, as a feature of the bot."""

from __future__ import annotations

from collections.abc import Sequence

from bot.feature import AlertHook, AnswerAlert, Feature, FeatureContext
from bot.features.alerts.history import AlertCounts
from bot.features.alerts.replies import ANSWER, COURSE, AlertAnswerDue, AlertReplies
from bot.features.alerts.service import RETRY, AlertService
from bot.features.alerts.store import EpisodeStore
from bot.questions.store import QuestionStore


def build_alerts(
    context: FeatureContext,
    records: QuestionStore,
    answer_alert: AnswerAlert,
    store_answer: AnswerAlert,
    hooks: Sequence[AlertHook] = (),
) -> Feature:
    def is_deleted(question: str) -> bool:
        record = records.get(question)
        return record is not None and record.state == "withdrawn"

    episodes = EpisodeStore(context.engine, is_deleted=is_deleted)
    counts = AlertCounts(context.engine)
    replies = AlertReplies(context, records, episodes, counts, answer_alert, store_answer)
    service = AlertService(context, replies, hooks)
    return Feature(
        on_message=service.on_message,
        handlers={AlertAnswerDue: replies.answer},
        timers={ANSWER: replies.put, COURSE: replies.update, RETRY: service.retry},
        digest=service.digest,
        timeline=service.timeline,
    )
