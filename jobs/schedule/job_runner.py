"""A process that works off jobs: DBOS under a lease, with the workflows of whoever registers.

On SQLite one process per data folder, on PostgreSQL any number that share the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from config.disk.private_files import private_folder
from config.settings import Settings
from durable.durable_worker import UNDONE, Application, DurableWorker, WorkQueue
from durable.finished_work import forget_done
from durable.lease import FileLease, Lease, PostgresLease
from telemetry import metrics

JOBS = Application(name="oncall-jobs", format="jobs-1", schema="oncall_jobs")
JOBS_FILE = "jobs.sqlite"
DRAIN_SECONDS = 25.0
"""Less than the 30 s that container platforms give between SIGTERM and SIGKILL."""


@dataclass(frozen=True, kw_only=True)
class Registration:
    """Workflows of one kind of job, and the queues that they wait in."""

    register: Callable[[], None]
    """Names its workflows to DBOS, with `DBOS.workflow`; each calls `JobRunner.worker.working`
    around its body."""
    queues: Sequence[WorkQueue] = ()


class JobRunner:
    """`start` and return; `stop` finishes what was begun. One per process."""

    def __init__(
        self,
        *,
        database_url: str,
        lease: Lease,
        registrations: Sequence[Registration] = (),
    ) -> None:
        self.registrations = list(registrations)
        """May grow until `start`: what is registered often needs the runner itself."""
        self.worker = DurableWorker(
            JOBS, database_url=database_url, lease=lease, upkeep=self._forget_done
        )

    def start(self) -> None:
        """Raises ConfigError when SQLite's one runner is there already."""
        queues = [queue for one in self.registrations for queue in one.queues]
        self.worker.start(self._register, queues)

    def enqueue(self, workflow: str, *arguments: Any, queue: str, workflow_id: str) -> None:
        """Stored when it returns; a known id does nothing. Raises what the database raises."""
        options = {
            "workflow_name": workflow,
            "queue_name": queue,
            "workflow_id": workflow_id,
            "app_version": JOBS.format,
        }
        self.worker.client.enqueue(options, *arguments)

    def undone(self, workflow_ids: Sequence[str]) -> frozenset[str]:
        """Those of them that somebody works on, or will."""
        found = self.worker.client.list_workflows(
            workflow_ids=list(workflow_ids),
            status=list(UNDONE),
            load_input=False,
            load_output=False,
        )
        return frozenset(one.workflow_id for one in found)

    def missing(self) -> dict[str, str]:
        """What keeps it from working, as in `telemetry.health.Watched`."""
        return self.worker.missing()

    def observe(self) -> None:
        """Sets its gauge; the worker's others are those of the inbox."""
        metrics.LEASE_HELD.set("database" not in self.missing())

    def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Finish what was begun, as far as time allows; the rest is another start's work."""
        self.worker.stop(drain_seconds)

    def _register(self) -> None:
        for one in self.registrations:
            one.register()

    def _forget_done(self) -> None:
        forget_done(self.worker.client)


def open_runner(settings: Settings) -> JobRunner:
    """Beside everything else in PostgreSQL, or over a file of its own in the data folder."""
    if settings.database_url:
        lease: Lease = PostgresLease(settings.database_url)
        return JobRunner(database_url=settings.database_url, lease=lease)
    folder = private_folder(settings.data_dir)
    lease = FileLease(
        folder / "jobs.lock",
        problem=f"another `oncall jobs run` already works from {folder}, and SQLite is for one",
    )
    url = f"sqlite:///{(folder / JOBS_FILE).absolute()}"
    return JobRunner(database_url=url, lease=lease)
