"""Alerts, as a feature of the bot."""

from __future__ import annotations

from bot.feature import AnswerAlert, Feature, FeatureTools
from bot.features.alerts.replies import ANSWER, COURSE, AlertReplies
from bot.features.alerts.service import AGAIN, AlertDesk
from bot.features.alerts.store import AlertFigures, KeptEpisodes
from bot.questions.store import Records


def build_alerts(tools: FeatureTools, records: Records, answer_alert: AnswerAlert) -> Feature:
    def is_gone(question: str) -> bool:
        record = records.get(question)
        return record is not None and record.state == "withdrawn"

    replies = AlertReplies(
        tools=tools,
        records=records,
        episodes=KeptEpisodes(tools.engine, is_gone=is_gone),
        figures=AlertFigures(tools.engine),
        answer_alert=answer_alert,
    )
    desk = AlertDesk(tools=tools, replies=replies)
    return Feature(
        on_event=desk.on_event,
        items={ANSWER: replies.answer},
        timers={ANSWER: replies.put, COURSE: replies.show, AGAIN: desk.again},
        digest=desk.digest,
    )
