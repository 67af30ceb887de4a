"""`oncall jobs run`: refreshes each domain on its schedule, exactly once with any number of
runners.

The runner looks for due runs every few seconds, so it notices a clock that jumps and a machine
that slept; see docs/decisions/101-schedules.md. It abandons a planned run after six crashed
processes; a document that crashes them is quarantined earlier, so the run succeeds without it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from config.domain import Domain
from config.errors import AnotherRun, CopilotError
from durable.dbos_upkeep import UNDONE, Application, forget_abandoned, forget_done
from durable.failures import cause_of, causes
from durable.heartbeat import Heartbeat
from durable.lease import Lease
from durable.queues import WorkQueue
from durable.worker import DurableWorker
from jobs.schedule.freshness import Freshness, freshness
from jobs.schedule.recorded_run import (
    Leaving,
    NoticeStore,
    RunAttemptStore,
    Started,
    Tell,
    as_planned,
    correct_clock,
    given_up,
    left_out,
)
from jobs.schedule.runs import Planned, RunStore, due
from telemetry import metrics

MAX_DEATHS = 6


log = structlog.get_logger()

JOBS = Application(name="oncall-jobs", format="jobs-1", schema="oncall_jobs")
QUEUE = "oncall-refresh"
WORK = "refresh"
LOOK_SECONDS = 5.0
LATE_LOOKS = 12
PLAN_LOOKS = 12
"""The database is read every so many looks, and whenever a run may be due."""
RECENT_RUNS = 20
CATCHING_UP_SECONDS = 3600.0
"""While a stored run is younger than this, its index is not reported as overdue."""
PAUSES = (2.0, 10.0, 60.0)
"""Seconds before retries of a run after a database error. In total they exceed the time that the
worker needs to notice an outage."""


@dataclass(frozen=True, kw_only=True)
class Registration:
    """Workflows of one kind of job, and their queues."""

    register: Callable[[], None]
    """Registers the workflows with `DBOS.workflow`. Each wraps its body in
    `JobRunner.worker.working`."""
    queues: Sequence[WorkQueue] = ()
    leave: Callable[[], None] = lambda: None
    """Called when this process stops, while unfinished work still runs."""


class JobRunner:
    """Runs due jobs in the background from `start` to `stop`. Another start or runner continues
    unfinished work.

    Implements `telemetry.health.Watched`."""

    def __init__(
        self,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        refresh: Callable[[str, Started], object],
        runs: RunStore,
        tell: Tell | None,
        database_url: str,
        lease: Lease,
        now: Callable[[], datetime] | None = None,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`refresh(domain, started)` runs the job and records its report. `now`: an aware time;
        without it the clock of the runs."""
        self.registrations: list[Registration] = []
        """Other kinds of jobs that this runner works on; may grow until `start`."""
        self._domains = domains
        self._refresh = refresh
        self._runs = runs
        self._begun = RunAttemptStore(runs.engine)
        self._at_work: set[str] = set()
        self._notices = NoticeStore(runs.engine)
        self._tell = tell
        self._now = now or runs.clock
        self._look_seconds = look_seconds
        self._looked_at = time.monotonic()
        self._planned_at, self._planned_time = float("-inf"), datetime.min
        """When the last plan began, by `time.monotonic`; the time that it planned for."""
        self._handled: dict[str, Planned | None] = {}
        """Domain → its last planned run, as of the last plan."""
        self._stopping = threading.Event()
        self._heartbeat = Heartbeat(runs.engine, "jobs")
        self.worker = DurableWorker(
            JOBS, database_url=database_url, lease=lease, upkeep=self._look_after
        )

    def start(self) -> None:
        """Raises ConfigError if another runner already runs and only one is allowed."""
        others = [queue for one in self.registrations for queue in one.queues]
        self.worker.start(self._register, [WorkQueue(name=QUEUE, concurrency=1), *others])
        self._looked_at = time.monotonic()
        threading.Thread(target=self._plan_on, name="schedule", daemon=True).start()
        self._heartbeat.start()
        scheduled = [name for name, domain in self._domains().items() if domain.refresh]
        log.info("the job runner is up", refreshes=scheduled)

    def stop(self, drain_seconds: float = 25.0) -> None:
        """Drain and stop. The caller must then end the process.

        Work that does not finish in time continues in its thread, and another process starts it
        from the beginning."""
        self._stopping.set()
        self.worker.stop(drain_seconds)
        self._heartbeat.stop()
        for one in self.registrations:
            try:
                one.leave()
            except SQLAlchemyError as error:
                log.warning("worker could not unregister", cause=type(error).__name__)
        for run in list(self._at_work):
            with suppress(SQLAlchemyError):
                self._begun.let_go(run)

    def missing(self) -> dict[str, str]:
        """Reports a late schedule only while the database responds: planning needs the database."""
        missing = self.worker.missing()
        late = time.monotonic() - self._looked_at > LATE_LOOKS * self._look_seconds
        return missing or ({"schedule": "nobody looks what is due"} if late else {})

    def observe(self) -> None:
        """Sets the gauges of the lease and of silent processes; the inbox has the others."""
        metrics.LEASE_HELD.set("database" not in self.worker.missing())
        self._heartbeat.observe()

    def enqueue(self, workflow: str, *arguments: Any, queue: str, workflow_id: str) -> None:
        """Returns when the work is stored; an existing id has no effect. Raises database errors."""
        try:
            self.worker.enqueue(workflow, *arguments, queue=queue, workflow_id=workflow_id)
        except Exception as error:
            if self._stopping.is_set():  # the client is closed
                raise Leaving from error
            raise

    def run_what_is_due(self) -> None:
        """Plan once, and wait until the queues are empty."""
        self.plan()
        while self.worker.backlog():
            time.sleep(self._look_seconds / 10)

    def plan(self) -> None:
        """Store due runs and notify admins of changes.

        Safe with many runners: each run is stored once, under its planned time."""
        began, now, undone = time.monotonic(), self._now(), self._undone()
        for name, domain in self._domains().items():
            try:
                self._plan(name, domain, now, undone)
            except SQLAlchemyError:
                raise
            except Exception:
                log.exception("schedule of a domain could not be read", domain=name)
        if self._tell:
            self._notices.send(self._tell, self._now)
        self._looked_at, self._planned_at, self._planned_time = time.monotonic(), began, now

    def _plan(self, name: str, domain: Domain, now: datetime, undone: Mapping[str, float]) -> None:
        mine = {run: stored for run, stored in undone.items() if run.rpartition("@")[0] == name}
        correct_clock(self._runs, name, now, lambda ids: self.worker.client.delete_workflows(ids))
        handled = self._handled[name] = self._runs.last_planned(name, now)
        if domain.refresh and (planned := due(domain.refresh, name, handled, now)):
            self._store(name, planned, mine)
            mine.setdefault(as_planned(name, planned).id, time.time())
        fresh = freshness(domain, self._runs.of(name, RECENT_RUNS), now)
        if any(time.time() - stored < CATCHING_UP_SECONDS for stored in mine.values()):
            fresh = replace(fresh, overdue=False)
        self._tell_what_changed(domain, fresh, now)

    def _undone(self) -> dict[str, float]:
        """Unfinished stored runs → when they were stored, in seconds since 1970."""
        workflows = self.worker.client.list_workflows(
            status=list(UNDONE), queue_name=QUEUE, load_input=False, load_output=False
        )
        return {one.workflow_id: (one.created_at or 0) / 1000 for one in workflows}

    def _store(self, domain: str, planned: Planned, undone: Collection[str]) -> None:
        """Enqueue the run, or skip it if another run of the domain is unfinished.

        Waiting runs would pile up."""
        run = as_planned(domain, planned)
        if run.id in undone:
            return
        if undone:
            left_out(self._runs, domain, run, "the run before it was not over", now=self._now())
            return
        self.enqueue(WORK, domain, planned.at.isoformat(), planned.wall, queue=QUEUE,
                     workflow_id=run.id)  # fmt: skip

    def _plan_on(self) -> None:
        while not self._stopping.wait(self._look_seconds):
            if self.worker.is_able():
                try:
                    if self._must_plan():
                        self.plan()
                    self._looked_at = time.monotonic()
                except Exception as error:
                    log.warning("due runs could not be read", cause=cause_of(error))

    def _must_plan(self) -> bool:
        """Whether a run may be due, or the last plan is long ago. Makes no query."""
        elapsed = time.monotonic() - self._planned_at
        if elapsed >= PLAN_LOOKS * self._look_seconds:
            return True
        now = self._planned_time + timedelta(seconds=elapsed)
        with suppress(Exception):  # `plan` logs a schedule that can't be read
            return any(
                name not in self._handled
                or (domain.refresh and due(domain.refresh, name, self._handled[name], now))
                for name, domain in self._domains().items()
            )
        return True

    def _register(self) -> None:
        from dbos import DBOS

        @DBOS.workflow(name=WORK)
        def work(domain: str, at: str, wall: str) -> None:
            planned = Planned(at=datetime.fromisoformat(at), wall=wall)
            started = as_planned(domain, planned)
            with self.worker.working(started.id):
                self._run(domain, started)
                self._over(started.id)

        for one in self.registrations:
            one.register()

    def _over(self, run: str) -> None:
        self._planned_at = float("-inf")  # its admins may have to be notified
        self._at_work.discard(run)
        with suppress(SQLAlchemyError):  # the run is over, so its count is never read
            self._begun.end(run)

    def _run(self, domain: str, started: Started) -> None:
        """Run the job. Only a database error is retried here.

        Any other failure is recorded, and the next planned run continues from there."""
        pauses, deaths = iter(PAUSES), None
        while domain in self._domains():
            try:
                before = self._runs.find(started.id)
                if before and before.outcome != "running":
                    return  # finished; it was enqueued again after DBOS had deleted its workflow
                if deaths is None:
                    deaths = self._begun.begin(started.id)
                    self._at_work.add(started.id)
                if deaths >= MAX_DEATHS:
                    given_up(self._runs, domain, started, before, deaths, now=self._now())
                    return
                # A continued run waits for locks that the dead process still holds.
                self._refresh(domain, replace(started, waits=before is not None))
                return
            except AnotherRun as error:
                log.info("run skipped: another is in progress", domain=domain, cause=error.problem)
                return
            except Exception as error:
                of_the_database = any(isinstance(one, SQLAlchemyError) for one in causes(error))
                pause = next(pauses, None) if of_the_database else None
                if pause is None and self.worker.is_able():
                    crashed = not isinstance(error, CopilotError)
                    log.warning("a run failed", domain=domain, cause=str(error), exc_info=crashed)
                    return
                log.warning("a run waits for the database", domain=domain)
                self._stopping.wait(pause or 0.0)
                self.worker.wait_until_able()

    def _tell_what_changed(self, domain: Domain, fresh: Freshness, now: datetime) -> None:
        complaints = fresh.complaints()

        def keep(connection: Connection, before: Sequence[str]) -> None:
            lines = [line for line in complaints if line not in before]
            if not complaints:
                lines = [f"{domain.domain}: all is well again: {fresh.sentence()}"]
            if lines:
                self._notices.keep(domain.admins, lines, now, connection)

        self._notices.create_tables()
        self._runs.told_anew(domain.domain, complaints, keep)

    def _look_after(self) -> None:
        forget_done(self.worker.client)
        forget_abandoned(self.worker.client, self.worker.queues)
