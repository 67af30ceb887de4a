"""Alerts, as a feature of the bot."""

from __future__ import annotations

from bot.alerts.alert_desk import AGAIN, AlertDesk
from bot.alerts.alert_figures import AlertFigures
from bot.alerts.alert_replies import ANSWER, COURSE, AlertReplies
from bot.alerts.kept_episodes import KeptEpisodes
from bot.feature import AnswerAlert, Feature
from bot.feature_tools import FeatureTools
from bot.memory.record import Records


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
