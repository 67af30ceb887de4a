"""`oncall jobs run`: each domain is refreshed on its schedule, exactly once however many run.

What is due is looked up every few seconds, so a clock that jumps and a machine that slept are
seen at the next look; see docs/decisions/101-schedules.md."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import structlog

from config.domain import Domain
from config.errors import AnotherRun, CopilotError
from durable.done_work import forget_done
from durable.durable_worker import Application, DurableWorker, WorkQueue
from durable.lease import Lease
from jobs.schedule.due import Planned, due
from jobs.schedule.freshness import Freshness, freshness, last_planned
from jobs.schedule.kept_runs import KeptRuns
from jobs.schedule.recorded_run import Started, as_planned
from telemetry import metrics

log = structlog.get_logger()

JOBS = Application(name="oncall-jobs", format="jobs-1", schema="oncall_jobs")
QUEUE = "oncall-refresh"
WORK = "refresh"
LOOK_SECONDS = 5.0
RECENT_RUNS = 20


class JobRunner:
    """`start` and return; `stop` lets go of the rest, which another start or runner goes on with.

    It is `telemetry.health.Watched`."""

    def __init__(
        self,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        refresh: Callable[[str, Started], object],
        runs: KeptRuns,
        tell: Callable[[Domain, Sequence[str]], None],
        database_url: str,
        lease: Lease,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`refresh(domain, started)` runs the job and keeps its report. `tell` reaches a domain's
        admins."""
        self._domains = domains
        self._refresh = refresh
        self._runs = runs
        self._tell = tell
        self._now = now
        self._look_seconds = look_seconds
        self._stopping = threading.Event()
        self._worker = DurableWorker(
            JOBS, database_url=database_url, lease=lease, upkeep=self._look_after
        )

    def start(self) -> None:
        """Raises ConfigError where another runner has the only place."""
        self._worker.start(self._register, [WorkQueue(name=QUEUE, concurrency=1)])
        threading.Thread(target=self._plan_on, name="schedule", daemon=True).start()

    def stop(self, drain_seconds: float = 25.0) -> None:
        self._stopping.set()
        self._worker.stop(drain_seconds)

    def missing(self) -> dict[str, str]:
        return self._worker.missing()

    def observe(self) -> None:
        self._worker.observe()

    def run_what_is_due(self) -> None:
        """Plan once, and return when nothing is left to do."""
        self.plan()
        while self._worker.backlog():
            time.sleep(self._look_seconds / 10)

    def plan(self) -> None:
        """Store the runs that are due; tell admins what changed. Safe to call from many runners:
        a run is stored under its planned time, once."""
        now = self._now()
        for name, domain in self._domains().items():
            runs = self._runs.of(name, RECENT_RUNS)
            if domain.refresh and (planned := due(domain.refresh, name, last_planned(runs), now)):
                self._store(name, planned)
            fresh = freshness(domain, runs, now)
            _observe(fresh, now)
            self._tell_what_changed(domain, fresh)

    def _store(self, domain: str, planned: Planned) -> None:
        options = {
            "workflow_name": WORK,
            "queue_name": QUEUE,
            "workflow_id": as_planned(domain, planned).id,
            "app_version": JOBS.format,
        }
        self._worker.client.enqueue(options, domain, planned.at.isoformat(), planned.wall)

    def _plan_on(self) -> None:
        while not self._stopping.wait(self._look_seconds):
            if self._worker.is_able():
                try:
                    self.plan()
                except Exception as error:
                    log.warning("what is due could not be looked up", cause=str(error))

    def _register(self) -> None:
        from dbos import DBOS

        @DBOS.workflow(name=WORK)
        def work(domain: str, at: str, wall: str) -> None:
            planned = Planned(at=datetime.fromisoformat(at), wall=wall)
            started = as_planned(domain, planned)
            with self._worker.working(started.id):
                self._run(domain, started)

    def _run(self, domain: str, started: Started) -> None:
        """A run that fails is on record, and the next one goes on where it stopped; only one whose
        database went away begins again."""
        while domain in self._domains():
            try:
                self._refresh(domain, started)
                return
            except AnotherRun as error:
                log.info("skipped, as another run is at it", domain=domain, cause=error.problem)
                return
            except Exception as error:
                if self._worker.is_able():
                    known = isinstance(error, CopilotError)
                    log.warning("a run failed", domain=domain, cause=str(error), exc_info=not known)
                    return
                self._worker.wait_until_able()

    def _tell_what_changed(self, domain: Domain, fresh: Freshness) -> None:
        complaints = fresh.complaints()
        before = self._runs.told_anew(domain.domain, complaints)
        if before is None:
            return
        lines = [line for line in complaints if line not in before]
        if not complaints:
            lines = [f"{domain.domain}: all is well again: {fresh.sentence()}"]
        if lines:
            self._tell(domain, lines)

    def _look_after(self) -> None:
        forget_done(self._worker.client)


def _observe(fresh: Freshness, now: datetime) -> None:
    if fresh.fresh_at:
        age = (now - fresh.fresh_at).total_seconds()
        metrics.INDEX_AGE.labels(fresh.domain).set(max(0.0, age))
    metrics.INDEX_OVERDUE.labels(fresh.domain).set(fresh.overdue)
    metrics.DOCUMENTS_FAILING.labels(fresh.domain).set(len(fresh.failing))
