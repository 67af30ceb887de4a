"""What this bot does beside answering: the one list."""

from __future__ import annotations

from bot.alerts.alert_feature import build_alerts
from bot.feature import Feature
from bot.feature_tools import FeatureTools


def build_features(tools: FeatureTools) -> tuple[Feature, ...]:
    """In the order in which they look at an event, and stand in App Home."""
    return (build_alerts(tools),)
