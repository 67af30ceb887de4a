"""How old the indexes are, for whoever scrapes: the same in the runner of jobs and in the bot, so
that an index grows old in sight when no runner runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import structlog

from config.domain import Domain
from jobs.schedule.due import is_overdue
from jobs.schedule.freshness import Freshness
from telemetry import metrics

log = structlog.get_logger()

LOOK_SECONDS = 10.0


class FreshnessGauges:
    """`telemetry.health.Watched`. A scrape is told at once what was last seen, and begins the next
    look, which asks the database, when that is old."""

    def __init__(
        self,
        domains: Callable[[], Mapping[str, Domain]],
        freshness: Callable[[str], Freshness],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._domains = domains
        self._freshness = freshness
        self._now = now
        self._seen: Mapping[str, Freshness] = {}
        self._looked = float("-inf")
        self._looking = threading.Lock()

    def missing(self) -> dict[str, str]:
        """An old index answers all the same."""
        return {}

    def observe(self) -> None:
        """Sets its gauges; those of a domain that is gone are gone too."""
        if time.monotonic() - self._looked > LOOK_SECONDS and self._looking.acquire(blocking=False):
            threading.Thread(target=self._look_once, name="freshness", daemon=True).start()
        now, domains = self._now(), self._domains()
        for gauge in (metrics.INDEX_AGE, metrics.INDEX_OVERDUE, metrics.DOCUMENTS_FAILING):
            gauge.clear()
        for name, fresh in self._seen.items():
            if name not in domains:
                continue
            if fresh.fresh_at:
                age = (now - fresh.fresh_at).total_seconds()
                metrics.INDEX_AGE.labels(name).set(max(0.0, age))
            refresh = domains[name].refresh
            late = bool(refresh and is_overdue(refresh, fresh.fresh_at, now))
            metrics.INDEX_OVERDUE.labels(name).set(late)
            metrics.DOCUMENTS_FAILING.labels(name).set(len(fresh.failing))
            # Seen as 0 before the first one, or that one would be no rise.
            for outcome in ("failed", "held back"):
                metrics.INGEST_RUNS.labels(name, outcome)
            metrics.FAILED.labels(name)
            metrics.DEGRADED.labels(name)

    def look(self) -> None:
        """Raises what the database raises."""
        self._seen = {name: self._freshness(name) for name in self._domains()}

    def _look_once(self) -> None:
        try:
            self.look()
        except Exception as error:
            log.warning("the age of the indexes is not known now", cause=type(error).__name__)
        finally:
            self._looked = time.monotonic()
            self._looking.release()
