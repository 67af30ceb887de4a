"""What this bot does beside answering: the one list, and what one feature does for another."""

from __future__ import annotations

from dataclasses import dataclass

from bot.aging.aging_feature import build_aging
from bot.alerts.alert_feature import build_alerts
from bot.alerts.alert_figures import AlertFigures
from bot.checklist.checklist_feature import build_checklists
from bot.digest.digest_feature import build_digest
from bot.escalating.handoff_feature import build_escalating, handoff_report
from bot.feature import Feature
from bot.feature_tools import FeatureTools
from bot.feedback import Feedback
from bot.feedback_feature import build_feedback
from bot.gaps.gaps_feature import build_gaps
from bot.handoff.handoffs import Handoffs
from bot.home.home_feature import build_examples
from bot.link_previews.link_previews import LinkPreviews
from bot.link_previews.preview_feature import build_details
from bot.memory.record import Records
from bot.owner_drafts.owner_drafts_feature import build_owner_drafts
from bot.question.asking import Asking
from bot.question.intake import Intake


@dataclass(frozen=True, kw_only=True)
class FeatureServices:
    """What features have of one another, and of answering."""

    records: Records
    feedback: Feedback
    handoffs: Handoffs
    asking: Asking
    intake: Intake
    previews: LinkPreviews


def build_features(tools: FeatureTools, services: FeatureServices) -> tuple[Feature, ...]:
    """In the order in which they look at an event, and stand in App Home."""
    records, handoffs = services.records, services.handoffs
    asking, intake = services.asking, services.intake
    report = handoff_report(tools, records, handoffs)
    built = (
        build_feedback(tools.web, services.feedback),
        build_examples(),
        build_details(services.previews.details),
        build_alerts(tools, records, intake.attempts.answer_alert),
        build_checklists(tools, records, asking.is_private, intake.say_why_not),
        build_escalating(tools, records, handoffs, report),
        build_owner_drafts(tools, asking.identities),
        build_gaps(tools, records),
        build_aging(tools, records, asking.is_private),
    )
    # Last: it says what the others have to say.
    digest = build_digest(
        tools,
        records,
        parts=[one.digest for one in built if one.digest],
        waiting=report.waiting,
        alerts=AlertFigures(tools.engine).question_ids,
        whom=handoffs.whom,
    )
    return (*built, digest)
