"""Collects and rechecks gaps, and shows them to admins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from bot.blocks.kit import Json
from bot.bus.events import SuggestionDecided
from bot.feature import DigestPart, FeatureContext
from bot.features.gaps import views
from bot.features.gaps.collect import GapCollector
from bot.features.gaps.gap import Gap, name_gaps, relevant_gaps, unnamed_questions
from bot.features.gaps.question_store import GapDraftStore
from bot.features.gaps.questions import UNANSWERED, state_after
from bot.features.gaps.recheck import ASK_GAP, GapRecheck
from bot.features.gaps.report import WeeklyReport
from bot.features.gaps.store import GapStore
from bot.showing import Showing
from bot.slack.client import SlackBusy, SlackUnsure
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable
from config.models import ChatModel
from durable.database import naive_utc
from telemetry import metrics

log = structlog.get_logger()

GAPS_OPEN = metrics.gauge(
    "oncall_gaps_open",
    "Gaps in the documents that nothing answers yet: questions asked in vain, put together",
    "domain",
)

COLLECT, RECHECK = "gaps_look", "gaps_ask"
"""Kinds of timers, by domain: collect failed questions; ask again after documents changed."""


@dataclass(frozen=True, kw_only=True)
class GapService:
    context: FeatureContext
    store: GapStore
    drafts: GapDraftStore
    collector: GapCollector
    recheck: GapRecheck
    where: views.WhereIs

    def plan(self, weekly: WeeklyReport) -> None:
        """Every minute, by every worker: sets timers, which one of them runs."""
        domains, at = self.context.domains(), datetime.now(UTC)
        for name in self.collector.changed_domains() & set(domains):
            self.context.timers.set(COLLECT, name, at)
        counts = self.store.counts()
        waiting = {domain for domain, _ in counts}
        for name, domain in domains.items():
            weekly.plan(domain, at)
            with suppress(IndexUnavailable):
                if name in waiting and self.recheck.changed(name):
                    self.context.timers.set(RECHECK, name, at)
        for name in domains:
            GAPS_OPEN.labels(name).set(sum(counts.get((name, state), 0) for state in UNANSWERED))

    def collect(self, domain: str) -> None:
        """After a failure here, the next minute's plan sets the timer again."""
        try:
            self.collector.collect(domain)
            if self.context.model:
                self._name(domain, self.context.model)
        except (CopilotError, SlackBusy, SlackUnsure) as error:
            log.info("gap collection failed, retrying later", domain=domain, reason=str(error))

    def _name(self, domain: str, model: ChatModel) -> None:
        unnamed = unnamed_questions(self.store, domain)
        if unnamed and not self.recheck.must_wait(domain):
            with self.recheck.attempt(domain) as attempt:
                for usage in name_gaps(self.store, model, unnamed):
                    attempt.add(usage)

    def recheck_domain(self, domain: str) -> None:
        try:
            self.recheck.plan(domain)
        except CopilotError as error:
            log.info("gap recheck failed, retrying later", domain=domain, reason=str(error))

    def decide(self, event_id: str, event: SuggestionDecided) -> None:
        """Move a gap after an owner's decision on its draft."""
        gap_id = self.drafts.record_outcome(event)
        gap = self.store.get(gap_id) if gap_id else None
        if gap is None:
            return
        outcomes = {one.outcome for one in self.drafts.of_gap(gap.id)}
        state = state_after(event.outcome, gap.state, outcomes)
        self.store.move(gap, state, by=event.by)
        if event.outcome == state == "accepted":  # the document may say so already
            self.context.timers.set(ASK_GAP, gap.id, datetime.now(UTC))

    def home(self, showing: Showing, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            gaps = relevant_gaps(self.store, domain.domain)
            yield from views.home_blocks(domain, gaps, showing, self.where)

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        """Unanswered gaps that were asked again."""
        after = naive_utc(since)
        repeated = [
            gap for gap in relevant_gaps(self.store, domain.domain) if gap.times_since(after) > 1
        ]
        lines = [_repeated(gap, after, showing) for gap in repeated[: views.MAX_GAPS]]
        return [DigestPart(title="Asked again, and not answered", lines=lines)] if lines else []


def _repeated(gap: Gap, after: datetime, showing: Showing) -> str:
    people = views.people(gap.people_since(after))
    return f"{views.title(gap, showing)} · {gap.times_since(after)} times, by {people}"
