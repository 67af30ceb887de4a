"""What this bot does beside answering: the one list."""

from __future__ import annotations

from bot.feature import Feature
from bot.feature_tools import FeatureTools
from bot.gaps.gaps_feature import build_gaps


def build_features(tools: FeatureTools) -> tuple[Feature, ...]:
    """In the order in which they look at an event, and stand in App Home."""
    return (build_gaps(tools),)
