"""All features of the bot: their order, and what each is built with.

`FEATURE_TABLES` are their tables with personal data; see docs/privacy.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agents.answer import Ask
from agents.ledger.ledger import RunLedger
from agents.ledger.runs import create_run_table
from bot.feature import AnswerGate, DocumentOwners, Feature, FeatureContext
from bot.features.alerts import store as alert_store
from bot.features.alerts.feature import build_alerts
from bot.features.alerts.history import AlertCounts, RecordedAlerts
from bot.features.answering.abandoned import AbandonedQuestions
from bot.features.answering.ask import RUNS
from bot.features.answering.earlier_threads import EarlierThreads
from bot.features.answering.feature import build_answering
from bot.features.answering.intake import Intake
from bot.features.budgets.feature import build_budgets
from bot.features.changes.feature import build_changes
from bot.features.checklists import store as checklist_store
from bot.features.checklists.feature import build_checklists
from bot.features.checklists.store import ChecklistStore
from bot.features.digest import store as digest_store
from bot.features.digest.feature import build_digest
from bot.features.drills import store as drill_store
from bot.features.drills.feature import build_drills
from bot.features.feedback.feature import build_feedback
from bot.features.feedback.store import FeedbackStore
from bot.features.freshness import store as freshness_store
from bot.features.freshness.feature import build_freshness
from bot.features.gaps import store as gap_store
from bot.features.gaps.feature import build_gaps
from bot.features.handoff import store as handoff_store
from bot.features.handoff.feature import build_handoff
from bot.features.handoff.report import HandoffReport
from bot.features.handoff.service import HandoffService
from bot.features.home.feature import build_home
from bot.features.home.service import ExampleService, HomeService, ReportSources, StatusOf
from bot.features.home.store import WellAnsweredStore
from bot.features.home.suggestions import Suggest, Suggestions, only_examples
from bot.features.link_previews.feature import build_link_previews
from bot.features.link_previews.service import LinkPreviews
from bot.features.owner_drafts import store as owner_draft_store
from bot.features.owner_drafts.feature import build_owner_drafts
from bot.features.owner_drafts.proposals import propose
from bot.features.rehearsal import store as rehearsal_store
from bot.features.rehearsal.feature import build_rehearsal
from bot.features.replay.service import DraftReplay, PreviewWords
from bot.features.replay.store import PastQuestions
from bot.features.replay.views import summary
from bot.features.snooze import store as snooze_store
from bot.features.snooze.feature import build_snooze
from bot.features.step_counts.feature import build_step_counts
from bot.features.timeline import store as timeline_store
from bot.features.timeline.feature import build_timeline
from bot.features.track_record import store as track_record_store
from bot.features.track_record.feature import build_track_record
from bot.features.track_record.record import UseSources
from bot.privacy.tables import FeatureTables
from bot.slack.manifest import missing_scopes


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Features that accompany answers; each works as far as Slack lets the app do it."""

    suggest: Suggest
    previews: LinkPreviews
    earlier: EarlierThreads
    context: FeatureContext

    def problems(self) -> list[str]:
        """Missing Slack permissions and their remedies, for the operator."""
        problems = [self.previews.problem, self.earlier.problem]
        if granted := self.context.web.granted:  # empty where Slack doesn't say
            problems += missing_scopes(granted, self.context.domains().values())
        return [problem for problem in problems if problem]


def build_extras(context: FeatureContext) -> Extras:
    """Without a published index, only examples are suggested, and no link has a preview."""
    published, is_public = context.published, context.gate.channels.is_public
    suggest: Suggest = only_examples
    if published:
        suggest = Suggestions(WellAnsweredStore(context.engine), published, is_public)
    return Extras(
        suggest=suggest,
        previews=LinkPreviews(context),
        earlier=EarlierThreads(
            context.web, is_public=is_public, team_url=context.identity.team_url
        ),
        context=context,
    )


@dataclass(frozen=True, kw_only=True)
class FeatureServices:
    """Services that features have of one another, of answering, and of the composition root."""

    feedback: FeedbackStore
    handoffs: HandoffService
    intake: Intake
    abandoned: AbandonedQuestions
    extras: Extras
    status: StatusOf
    owners: DocumentOwners | None
    ask_unattended: Callable[[str], Ask] | None
    preview_words: PreviewWords | None


def build_features(context: FeatureContext, services: FeatureServices) -> tuple[Feature, ...]:
    """All features, in the order in which they handle an event and appear in App Home."""
    handoffs, intake = services.handoffs, services.intake
    records, asking = intake.records, intake.attempts.asking
    report = HandoffReport(context, records, handoffs)
    ledger = (asking.router.ledger or partial(RunLedger, context.engine))()
    answers = AnswerGate(context=context, records=records, is_private=asking.is_private)
    counts, checklists = AlertCounts(context.engine), ChecklistStore(context.engine)
    history = RecordedAlerts(context.engine)
    snooze = build_snooze(context, answers, history, handoffs.on_call, checklists.first_steps)
    preview = services.preview_words and DraftReplay(
        context=context,
        past=PastQuestions(context.engine, counts.question_ids),
        ledger=ledger,
        preview_words=services.preview_words,
        summary=summary,
    )
    alerts = build_alerts(
        context,
        records,
        intake.attempts.answer_alert,
        asking.store_alert,
        [one.on_alert for one in (snooze,) if one.on_alert],
    )
    steps = build_checklists(context, records, asking.is_private, intake.say_why_not)
    handoff = build_handoff(context, records, handoffs, report, intake.say_why_not)
    timeline = build_timeline(
        context,
        records,
        history,
        [one.timeline for one in (alerts, snooze, steps, handoff) if one.timeline],
        services.owners,
        intake.say_why_not,
    )
    built = (
        build_answering(intake, services.abandoned, context.identity.user),
        build_feedback(answers, services.feedback, intake.say_why_not),
        build_link_previews(services.extras.previews),
        alerts,
        # The order of the buttons and notes below an alert's answer, with *Flag outdated* last.
        steps,
        build_changes(context, records, history, intake.say_why_not),
        build_track_record(answers, _use_sources(context, services, history), intake.say_why_not),
        build_drills(context, handoffs.on_call),
        snooze,
        timeline,
        handoff,
        build_owner_drafts(context, services.owners, preview),
        build_gaps(context, records, services.ask_unattended, ledger),
        build_freshness(context, records, answers),
        build_rehearsal(context, records, counts.past),
        build_budgets(context, ledger),
        build_step_counts(context, checklists.runs),
    )
    # Last: these show what the others have to say.
    digest = build_digest(
        context,
        records,
        parts=[one.digest for one in built if one.digest],
        waiting=report.waiting,
        alerts=counts.question_ids,
        whom=handoffs.on_call,
    )
    return (*built, digest, _home(context, services, built))


def _use_sources(
    context: FeatureContext, services: FeatureServices, history: RecordedAlerts
) -> UseSources:
    return UseSources(
        episodes=history.of_question,
        checklists=ChecklistStore(context.engine).finished,
        is_handed_off=lambda question: services.handoffs.get(question) is not None,
        verdicts=services.feedback.verdicts_on,
    )


def _home(
    context: FeatureContext, services: FeatureServices, others: tuple[Feature, ...]
) -> Feature:
    sources = ReportSources(services.feedback.verdicts, services.status, services.extras.problems)
    more = [one.home for one in others if one.home]
    home = HomeService(context, services.intake.records, services.extras.suggest, sources, more)
    examples = ExampleService(context, services.intake.records, home, services.intake.receive)
    return build_home(home, examples)


_STORES: tuple[Any, ...] = (
    alert_store, checklist_store, handoff_store, digest_store, owner_draft_store, gap_store,
    freshness_store, timeline_store, track_record_store, rehearsal_store, snooze_store, drill_store,
)  # fmt: skip
FEATURE_TABLES = FeatureTables(
    tables=[RUNS, *(table for store in _STORES for table in store.PERSONAL_TABLES)],
    creators=[create_run_table, *(store.create_tables for store in _STORES)],
    proposals=propose,
)
