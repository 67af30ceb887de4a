"""What this bot does beside answering: the one list."""

from __future__ import annotations

from bot.aging.aging_feature import build_aging
from bot.alerts.alert_feature import build_alerts
from bot.checklist.checklist_feature import build_checklists
from bot.digest.digest_feature import build_digest
from bot.escalating.handoff_feature import build_escalating
from bot.feature import Feature
from bot.feature_tools import FeatureTools
from bot.gaps.gaps_feature import build_gaps
from bot.owner_drafts.owner_drafts_feature import build_owner_drafts


def build_features(tools: FeatureTools) -> tuple[Feature, ...]:
    """In the order in which they look at an event, and stand in App Home."""
    built = (
        build_alerts(tools),
        build_checklists(tools),
        build_escalating(tools),
        build_owner_drafts(tools),
        build_gaps(tools),
        build_aging(tools),
    )
    # Last: it says what the others have to say.
    return (*built, build_digest(tools, [one.digest for one in built if one.digest]))
