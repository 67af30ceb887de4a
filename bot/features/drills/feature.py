"""Drills as a feature: planned, run in batches, shown below answers, in digests and to owners."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from agents.drill.checks import Finding
from bot.feature import Feature, FeatureContext
from bot.features.drills.outside import LinkChecker, NameChecker
from bot.features.drills.service import AGAIN, DRILL, DrillService, DrillStep
from bot.features.drills.store import FINE, DrillStore
from bot.rotas.on_call import OnCallResolver
from config.parsing.schedules import next_time
from telemetry import metrics

DRILLED = metrics.gauge(
    "oncall_drilled_entries",
    "Runbook entries by what their latest drill showed: fine, or the kind of the first finding",
    "domain",
    "outcome",
)
DRILLED_AT = metrics.gauge(
    "oncall_drilled_timestamp_seconds", "When an entry of the domain was drilled last", "domain"
)
_FORMAT = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class DrillPlan:
    context: FeatureContext
    store: DrillStore

    def set_timers(self) -> None:
        """Each minute: set the timer of each domain's next drill, and the gauges."""
        if self.context.published is None:
            return
        for name, domain in self.context.domains().items():
            if policy := domain.runbooks.drill:
                if due := next_time(policy.cron, policy.time_zone, datetime.now(UTC)):
                    self.context.timers.set(DRILL, f"{name}@{due:{_FORMAT}}", due, keep=True)
                self._measure(name)

    def _measure(self, name: str) -> None:
        counts, at = self.store.counts(name), self.store.last_at(name)
        for outcome in (FINE, *Finding.KINDS):
            DRILLED.labels(name, outcome).set(counts.get(outcome, 0))
        if at:
            DRILLED_AT.labels(name).set(at.replace(tzinfo=UTC).timestamp())


def build_drills(context: FeatureContext, resolver: OnCallResolver) -> Feature:
    store = DrillStore(context.engine)
    service = DrillService(
        context=context,
        store=store,
        resolver=resolver,
        links=LinkChecker(resolver.rotas.places.inner_hosts),
        names=NameChecker(context.web),
    )
    return Feature(
        handlers={DrillStep: service.run},
        timers={DRILL: service.begin, AGAIN: service.go_on},
        plan=DrillPlan(context, store).set_timers,
        additions=service.additions,
        digest=service.digest,
    )
