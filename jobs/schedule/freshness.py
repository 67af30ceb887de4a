"""Computes how fresh each domain's index is, the warnings for its admins, and the age metrics.

The bot exports the metrics as well, so that an index ages visibly when no job runner runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from config.domain import Domain
from jobs.ingest.lost_sources import LostSource
from jobs.schedule.runs import GOOD, UNDECIDED, IngestRun, in_zone, is_overdue, upcoming
from telemetry import metrics
from telemetry.health import PeriodicLook

IN_A_ROW = 3
"""Failed runs in a row before admins hear of a document: Google has short outages."""
_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """Freshness of one domain, from its recorded runs."""

    domain: str
    last: IngestRun | None = None
    """The last run that ended. Its problems are reported until the next run ends."""
    running: bool = False
    interrupted: datetime | None = None
    """Start of the newest run, if it was stopped or its process died."""
    fresh_at: datetime | None = None
    """Start of the last successful run. Later edits may be missing from the index."""
    upcoming: str = ""
    """Start of the next run, as display text; empty without a schedule."""
    overdue: bool = False
    failing: Mapping[str, str] = field(default_factory=dict)
    """Documents that three runs in a row could not read → the last reason."""
    lost: Sequence[LostSource] = ()
    """Sources of which nothing can be read."""

    def complaints(self) -> tuple[str, ...]:
        """Problems for the domain's admins, one line each; stable until something changes."""
        return tuple(self._complaints())

    def sentence(self) -> str:
        """Describes the last run and the next in one line."""
        text = "being refreshed for the first time" if self.running else "never refreshed"
        if self.last:
            when = self.last.finished_at or self.last.started_at
            text = f"{self.last.outcome} {when:%Y-%m-%d %H:%M} UTC"
            if done := _counts(self.last):
                text += f": {done}"
        if self.interrupted:
            text += f"; the run of {self.interrupted:%Y-%m-%d %H:%M} UTC was interrupted"
        if self.failing:
            text += f"; {len(self.failing)} can't be read"
        for one in self.lost:
            text += f"; {one.source} can't be read since {one.since:%Y-%m-%d %H:%M} UTC"
        if self.overdue:
            text += "; overdue"
        if self.running and self.last:
            text += "; running now"
        return f"{text}; next {self.upcoming}" if self.upcoming else text

    def _complaints(self) -> Iterator[str]:
        if self.last and self.last.outcome == "failed":
            yield f"{self.domain}: the last run failed: {self.last.problem}"
        elif self.last and self.last.problem:
            yield f"{self.domain}: {self.last.problem}"
        for document, reason in list(self.failing.items())[:_NAMED]:
            yield f"{self.domain}: {document} could not be read {IN_A_ROW} times in a row: {reason}"
        if len(self.failing) > _NAMED:
            yield f"{self.domain}: {len(self.failing) - _NAMED} more documents could not be read"
        if self.overdue:
            since = f"since {self.fresh_at:%Y-%m-%d %H:%M} UTC" if self.fresh_at else "yet"
            yield (
                f"{self.domain}: no run ended well {since}, which is later than its schedule "
                "allows; see `oncall jobs history`"
            )


def freshness(domain: Domain, runs: Sequence[IngestRun], now: datetime) -> Freshness:
    """`runs`: newest first."""
    tried = [run for run in runs if run.outcome != "skipped"]
    ended = [run for run in tried if run.outcome not in UNDECIDED]
    newest = tried[0] if tried else None
    fresh_at = next((run.started_at for run in tried if run.outcome in GOOD), None)
    refresh = domain.refresh
    return Freshness(
        domain=domain.domain,
        last=ended[0] if ended else None,
        running=bool(newest and newest.outcome == "running"),
        interrupted=newest.started_at if newest and newest.outcome == "broken" else None,
        fresh_at=fresh_at,
        upcoming=in_zone(refresh, upcoming(refresh, now).at) if refresh else "",
        overdue=bool(refresh and is_overdue(refresh, fresh_at, now)),
        failing=_failing([run for run in tried if run.outcome in GOOD or run.failures]),
    )


def _failing(runs: Sequence[IngestRun]) -> dict[str, str]:
    last = [run.failures for run in runs[:IN_A_ROW]]
    if len(last) < IN_A_ROW:
        return {}
    return {name: why for name, why in last[0].items() if all(name in one for one in last)}


def _counts(run: IngestRun) -> str:
    counted = {
        "added": run.added, "changed": run.changed, "removed": run.removed,
        "failed": len(run.failures),
    }  # fmt: skip
    return ", ".join(f"{count} {name}" for name, count in counted.items() if count)


LOST = metrics.gauge(
    "oncall_source_lost_seconds",
    "Since a run could read nothing of a source; no value while it can be read",
    "domain",
    "source",
)


class FreshnessGauges:
    """Implements `telemetry.health.HealthSource`. A scrape gets the cached values at once."""

    def __init__(
        self,
        domains: Callable[[], Mapping[str, Domain]],
        freshness: Callable[[str], Freshness],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._domains = domains
        self._freshness = freshness
        self._now = now
        self._by_domain: Mapping[str, Freshness] = {}
        self._look_if_old = PeriodicLook(self.look, name="index age")

    def missing(self) -> dict[str, str]:
        """Returns nothing: an old index still answers."""
        return {}

    def observe(self) -> None:
        """Sets the gauges of all domains and drops those of deleted domains."""
        self._look_if_old()
        now, domains = self._now(), self._domains()
        for gauge in (metrics.INDEX_AGE, metrics.INDEX_OVERDUE, metrics.DOCUMENTS_FAILING, LOST):
            gauge.clear()
        for name, fresh in self._by_domain.items():
            if name not in domains:
                continue
            if fresh.fresh_at:
                age = (now - fresh.fresh_at).total_seconds()
                metrics.INDEX_AGE.labels(name).set(max(0.0, age))
            for one in fresh.lost:
                LOST.labels(name, one.source).set(max(0.0, (now - one.since).total_seconds()))
            refresh = domains[name].refresh
            late = bool(refresh and is_overdue(refresh, fresh.fresh_at, now))
            metrics.INDEX_OVERDUE.labels(name).set(late)
            metrics.DOCUMENTS_FAILING.labels(name).set(len(fresh.failing))
            # Prometheus needs the 0 before the first failure: otherwise it sees no increase.
            for outcome in ("failed", "held back"):
                metrics.INGEST_RUNS.labels(name, outcome)
            metrics.FAILED.labels(name)
            metrics.DEGRADED.labels(name)

    def look(self) -> None:
        """Read the freshness of all domains. Raises database errors."""
        self._by_domain = {name: self._freshness(name) for name in self._domains()}
