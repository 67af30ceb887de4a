"""Counts of runbook steps as a feature of the bot: steps that most people skip, or several report,
are suggested to owners; admins see the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

import structlog

from agents.runbooks.cited_steps import section_steps
from bot.blocks.kit import Json
from bot.bus.events import Suggestion
from bot.feature import Feature, FeatureContext, RunsOf
from bot.features.step_counts.views import RunbookCount, by_place, count, home_blocks, suggestion
from bot.showing import Showing
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway

log = structlog.get_logger()

WEEK = "step_counts_week"
"""Kind of a timer, by domain."""
MAX_RUNBOOKS = 5


@dataclass(frozen=True)
class StepCountService:
    context: FeatureContext
    runs: RunsOf
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def plan(self) -> None:
        """Every minute, by every worker: one timer a week for each domain."""
        for name, domain in self.context.domains().items():
            if domain.runbooks.step_counts:
                self.context.timers.set(WEEK, name, next_monday(self.clock()), keep=True)

    def suggest(self, name: str) -> None:
        """At most one suggestion for each document. Safe to repeat: a step and its trouble are one
        suggestion for good, and the steps of a document take turns."""
        domain = self.context.domains().get(name)
        if domain is None or not domain.runbooks.step_counts:
            return
        troubles: dict[str, list[Suggestion]] = {}
        for runbook in self._runbooks(domain):
            for step in runbook.steps:
                for trouble in step.troubles:
                    one = suggestion(name, runbook, step, trouble)
                    troubles.setdefault(one.document, []).append(one)
        week = self.clock().date().toordinal() // 7
        for of_document in troubles.values():
            self.context.suggest(of_document[week % len(of_document)])

    def home(self, showing: Showing, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            if domain.runbooks.step_counts:
                runbooks = (
                    one
                    for one in self._runbooks(domain)
                    if showing.names(domain.domain, one.place[0])
                )
                yield from home_blocks(domain, list(islice(runbooks, MAX_RUNBOOKS)))

    def _runbooks(self, domain: Domain) -> list[RunbookCount]:
        """Those that everyone may read now, the most used first."""
        places = by_place(self.runs(domain.domain))
        if not places:
            return []
        try:
            snapshot = self.context.snapshot(domain.domain)
            sections = (
                (section_steps(snapshot, document, headings, tab), runs)
                for (document, (tab, *headings)), runs in places.items()
            )
            counts = [count(runs, section.steps) for section, runs in sections if section]
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError as error:
            log.info("no counts of steps", domain=domain.domain, reason=str(error))
            return []
        return sorted(counts, key=lambda one: one.total.runs, reverse=True)


def next_monday(after: datetime) -> datetime:
    """At eight, UTC."""
    day = after.replace(hour=8, minute=0, second=0, microsecond=0)
    day += timedelta(days=-day.weekday() % 7)
    return day if day > after else day + timedelta(days=7)


def build_step_counts(context: FeatureContext, runs: RunsOf) -> Feature:
    service = StepCountService(context, runs)
    return Feature(timers={WEEK: service.suggest}, plan=service.plan, home=service.home)
