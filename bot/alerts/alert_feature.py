"""Alerts, as a feature of the bot."""

from __future__ import annotations

from bot.alerts.alert_desk import TIMER, AlertDesk
from bot.alerts.alert_episodes import AlertEpisodes
from bot.feature import Feature
from bot.feature_tools import FeatureTools


def build_alerts(tools: FeatureTools) -> Feature:
    def is_gone(question: str) -> bool:
        record = tools.records.get(question)
        return record is not None and record.state == "withdrawn"

    desk = AlertDesk(tools, AlertEpisodes(tools.engine, is_gone=is_gone))
    return Feature(on_event=desk.on_event, timers={TIMER: desk.show}, digest=desk.digest)
