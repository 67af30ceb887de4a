"""What the bot shows beside answers, put together: suggested questions, previews of links, and
earlier threads.

What this bot does beside answering: the one list, and what one feature does for another.

Every table of the bot's features that holds something of people; see docs/privacy.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from bot.access.gate import Gate
from bot.feature import Feature, FeatureContext, PublishedIndex
from bot.features.alerts.feature import build_alerts
from bot.features.alerts.store import KEPT_ALERTS, AlertCounts, create_alert_tables
from bot.features.answering.ask import AskService
from bot.features.answering.earlier_threads import EarlierThreads
from bot.features.answering.intake import Intake
from bot.features.checklists.feature import build_checklists
from bot.features.checklists.store import CHECKLISTS_KEPT, create_checklist_tables
from bot.features.digest import store as digest_store
from bot.features.digest.feature import build_digest
from bot.features.feedback.feature import build_feedback
from bot.features.feedback.store import FeedbackStore
from bot.features.freshness.feature import build_aging
from bot.features.freshness.store import AGING_KEPT, create_aging_tables
from bot.features.gaps.feature import build_gaps
from bot.features.gaps.store import KEPT_OF_GAPS, create_gap_tables
from bot.features.handoff.calls import KEPT_CALLS, create_calls
from bot.features.handoff.feature import build_escalating, handoff_report
from bot.features.handoff.service import HandoffService
from bot.features.home.feature import build_examples
from bot.features.home.suggestions import Suggest, Suggestions, only_examples
from bot.features.link_previews.feature import build_details
from bot.features.link_previews.service import LinkPreviews
from bot.features.owner_drafts.feature import build_owner_drafts
from bot.features.owner_drafts.proposals import propose
from bot.features.owner_drafts.store import KEPT_OF_OWNERS, create_owner_tables
from bot.privacy.tables import FeatureTables
from bot.questions.store import QuestionStore
from bot.slack.client import SlackClient
from bot.slack.manifest import lacking
from config.domain import Domain
from config.errors import NothingPublished
from index.audit import Audit
from index.permissions.rules import IdentitiesOf
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class BesideAnswers:
    suggest: Suggest
    previews: LinkPreviews
    earlier: EarlierThreads
    domains: Callable[[], Mapping[str, Domain]]
    granted: frozenset[str]
    """What Slack lets the app do; empty when it didn't say."""

    def troubles(self) -> list[str]:
        """What Slack doesn't let the bot do, with the remedy; for whoever runs it."""
        told = [self.previews.problem, self.earlier.problem]
        if self.granted:
            told += lacking(self.granted, self.domains().values())
        return [problem for problem in told if problem]


def beside_answers(
    web: SlackClient,
    engine: Engine,
    *,
    gate: Gate,
    domains: Callable[[], Mapping[str, Domain]],
    identities: IdentitiesOf,
    audit: Audit,
    team_url: str,
    published: PublishedIndex | None,
) -> BesideAnswers:
    """`published`: None suggests the domain files' examples, and previews nothing."""
    is_public = gate.channels.is_public
    suggest: Suggest = only_examples
    if published:
        suggest = Suggestions(
            engine, snapshot=published.snapshot, embed=published.embed, is_public=is_public
        )
    return BesideAnswers(
        suggest=suggest,
        previews=LinkPreviews(
            web,
            domains=domains,
            gate=gate,
            snapshot=published.snapshot if published else _nothing,
            identities=identities,
            audit=audit,
        ),
        earlier=EarlierThreads(web, is_public=is_public, team_url=team_url),
        domains=domains,
        granted=web.granted,
    )


def _nothing(domain: str) -> Snapshot:
    raise NothingPublished(domain)


@dataclass(frozen=True, kw_only=True)
class FeatureServices:
    """What features have of one another, and of answering."""

    records: QuestionStore
    feedback: FeedbackStore
    handoffs: HandoffService
    asking: AskService
    intake: Intake
    previews: LinkPreviews


def build_features(tools: FeatureContext, services: FeatureServices) -> tuple[Feature, ...]:
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
        alerts=AlertCounts(tools.engine).question_ids,
        whom=handoffs.whom,
    )
    return (*built, digest)


FEATURE_TABLES = FeatureTables(
    tables=(
        *KEPT_ALERTS,
        *CHECKLISTS_KEPT,
        KEPT_CALLS,
        *digest_store.PERSONAL_TABLES,
        *KEPT_OF_OWNERS,
        *KEPT_OF_GAPS,
        *AGING_KEPT,
    ),
    creators=(
        create_alert_tables,
        create_checklist_tables,
        create_calls,
        digest_store.create_tables,
        create_owner_tables,
        create_gap_tables,
        create_aging_tables,
    ),
    proposals=propose,
)
