"""Runs DBOS under a lease: recovers the work of dead workers and deletes old work.

docs/decisions/050-durable-inbox.md says what DBOS does by itself and what this module adds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from durable.connections import patient
from durable.dbos_upkeep import (
    Application,
    WaitingWork,
    sqlite_file,
    tame_logs,
    waiting_work,
    write_ahead,
)
from durable.failures import cause_of, storage_failure, told_plainly
from durable.lease import Lease
from durable.queues import QueueReaders, WorkQueue
from telemetry import metrics

if TYPE_CHECKING:
    from dbos import DBOSConfig, EnqueueOptions, WorkflowStatus


log = structlog.get_logger()

LOOK_SECONDS = 2.0
"""Seconds between two checks of a lease that is held. A check that hangs counts as failed."""
RETRY_SECONDS = 1.0
"""Seconds between two attempts to acquire a lost lease."""
LATE_SECONDS = 5.0
SWEEP_SECONDS = 2.0
DEAD_SECONDS = 4.0
"""Seconds that a worker's lock must be free before its work is taken over. A worker that only lost
its session takes the lock again within `RETRY_SECONDS`."""
STRANDED_SWEEPS = 15
LATE_SWEEPS = 5
UPKEEP_SECONDS = 3600.0
PATIENCE_SECONDS = 3600.0
"""Seconds that work waits for an unreachable database; then its own retry pauses apply."""

_one_per_process = threading.Lock()


class DurableWorker:
    """One per process. Each workflow runs its body inside `working`."""

    def __init__(
        self,
        application: Application,
        *,
        database_url: str,
        lease: Lease,
        upkeep: Callable[[], object] = lambda: None,
    ) -> None:
        """`upkeep` runs at the start and every hour; its exceptions are logged."""
        self.application = application
        self._url = database_url
        self._lease = lease
        self._upkeep = upkeep
        self._readers = QueueReaders(lease.engine)
        self._running: set[str] = set()
        self._free: dict[str, float] = {}
        self._sessions = 0
        self._idle: dict[str, int] = {}
        self._able = threading.Event()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._held_at = self._swept_at = float("-inf")
        self._waiting = WaitingWork()
        self.client: Any = None
        """A `DBOSClient`, which fails at once when it can't store. On SQLite it has connections of
        its own: storing does not wait behind the workers' commits. None while the worker is
        stopped."""

    def start(self, register: Callable[[], None], queues: Sequence[WorkQueue]) -> None:
        """Acquire the lease, recover unfinished work and start the queues.

        `register` registers the workflows with `DBOS.workflow`. Raises StorageFailed for a damaged
        file or a full disk."""
        from dbos import DBOS

        self._lease.listen(self._readers.announce)
        self._lease.acquire()
        if not _one_per_process.acquire(blocking=False):
            self._lease.release()
            raise RuntimeError("this process has a worker already, and DBOS can't have two")
        try:
            with told_plainly(self._files()):
                self._launch(register, queues)
        except BaseException:
            with suppress(Exception):
                DBOS.destroy(destroy_registry=True)
            _one_per_process.release()
            self._lease.release()
            raise
        self._able.set()
        self._held_at = self._swept_at = time.monotonic()
        for name, loop in (("lease", self._keep), ("recovery", self._look_after)):
            thread = threading.Thread(target=loop, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _launch(self, register: Callable[[], None], queues: Sequence[WorkQueue]) -> None:
        from dbos import DBOS

        tame_logs()
        write_ahead(self._url)
        dbos = DBOS(
            config={
                "name": self.application.name,
                "system_database_url": self._url,
                "dbos_system_schema": self.application.schema,
                "application_version": self.application.format,
                "executor_id": self._lease.executor_id,
                "enable_otlp": False,
                "log_level": "WARNING",
                # Its messages and events are not used, and listening takes a connection.
                "use_listen_notify": False,
                **self._connections(),
            }
        )
        register()
        # Without this every process reads all queues that any release ever created.
        DBOS.listen_queues([])
        # DBOS reads queues, schedules and deadlines several times a second. Only the queues are
        # used, and their threads are started here, with pauses of our own.
        dbos._background_jobs_stop_event.set()
        with self._lease.preparing():
            if self._lease.engine is not None:
                self.application.migrate(self._url, self._lease.engine)
            DBOS.launch()
        for stopping in dbos.background_thread_stop_events:
            stopping.set()
        self.client = self.application.client(self._url, self._lease.engine)
        self._readers.start(dbos, queues)

    @property
    def queues(self) -> Sequence[str]:
        """Names of the queues that it reads."""
        return self._readers.names

    def enqueue(self, workflow: str, *arguments: Any, queue: str, workflow_id: str) -> None:
        """Store work, and read its queue. An existing id has no effect. Raises the database's
        errors."""
        options: EnqueueOptions = {
            "workflow_name": workflow,
            "queue_name": queue,
            "workflow_id": workflow_id,
            "app_version": self.application.format,
        }
        self.client.enqueue(options, *arguments)
        self._readers.announce(queue)

    @contextmanager
    def working(self, workflow_id: str) -> Iterator[None]:
        """Wraps a workflow's body. The body starts once this process holds its lease, and the
        recovery does not treat the workflow as stranded until the block ends."""
        self._running.add(workflow_id)
        try:
            self.wait_until_able()
            yield
        finally:
            self._running.discard(workflow_id)
            self._readers.announce_room()

    def is_able(self) -> bool:
        """Whether the last check found the lease held."""
        return self._able.is_set()

    def wait_until_able(self) -> None:
        """Blocks until the lease is held, which needs the database."""
        self._able.wait()

    def backlog(self) -> int:
        """Number of unfinished items in these queues, of all workers. Reads the database."""
        return self._read_waiting().count

    def missing(self) -> dict[str, str]:
        """Reasons why it can't work, as in `telemetry.health.HealthSource`. Makes no query."""
        if not self._threads or self._stopping.is_set():
            return {"worker": "the worker is down"}
        now, missing = time.monotonic(), {}
        if not self._able.is_set() or now - self._held_at > LATE_SECONDS:
            missing["database"] = "the database is away, and with it this worker's lease"
        if now - self._swept_at > LATE_SWEEPS * SWEEP_SECONDS:
            missing["recovery"] = "recovery of dead workers' work stands still"
        return missing

    def waiting(self) -> WaitingWork:
        """The result of the last sweep, a few seconds ago. Makes no query."""
        return self._waiting

    def observe(self) -> None:
        """Sets the gauge `LEASE_HELD`."""
        metrics.LEASE_HELD.set("database" not in self.missing())

    def stop(self, drain_seconds: float) -> None:
        """Stop after running work finishes or `drain_seconds` pass; the next start recovers the
        rest."""
        from dbos import DBOS

        if self.client is None:
            return
        self._stopping.set()
        self._readers.stop()
        wait = int(drain_seconds) if self._able.is_set() and self._is_at_work() else 0
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=wait)
        self.client.destroy()
        self.client = None
        for thread in self._threads:
            thread.join(timeout=5)
        self._lease.release()
        _one_per_process.release()

    def _is_at_work(self) -> bool:
        """Whether work runs here, or was claimed a moment ago and has yet to begin: DBOS gives that
        to a thread pool, of which `DBOS.destroy` empties the queue."""
        if self._running:
            return True
        with suppress(Exception):  # what isn't known is recovered by the next start
            return bool(self._claimed(self._lease.executor_id))
        return False

    def _claimed(self, executor: str | None = None) -> list[WorkflowStatus]:
        """Claimed work that isn't finished, of all workers or of one. Reads the database."""
        claimed: list[WorkflowStatus] = self.client.list_workflows(
            status="PENDING", executor_id=executor, load_input=False, load_output=False
        )
        return claimed

    def _files(self) -> list[Path]:
        file = sqlite_file(self._url)
        return [file] if file else []

    def _connections(self) -> DBOSConfig:
        """DBOS's connection options."""
        if self._lease.engine is None:
            # One connection: SQLite's writers wait by sleeping, and with many of them some wait
            # for long. Message text is a parameter, and an error would put it into the log.
            return {"sys_db_pool_size": 1, "db_engine_kwargs": {"hide_parameters": True}}
        waiting = patient(self._lease.engine, self._stopping, PATIENCE_SECONDS)
        return {"system_database_engine": waiting}

    def _keep(self) -> None:
        """Every few seconds: renew the lease. No work starts while it is lost."""
        while True:
            seconds = LOOK_SECONDS if self._able.is_set() else RETRY_SECONDS
            self._lease.wait(seconds, self._stopping)
            if self._stopping.is_set():
                return
            if self._lease.keep():
                self._held_at = time.monotonic()
                if not self._able.is_set():
                    log.warning("the database is back, and this worker's lease is held again")
                    self._able.set()
            elif self._able.is_set():
                log.warning("lost the database; no new work starts until it is back")
                self._able.clear()

    def _look_after(self) -> None:
        """Every few seconds: recover the work of dead workers, and read the queues of work that
        waits unannounced. Every hour: run the upkeep."""
        next_upkeep = time.monotonic()
        while not self._stopping.wait(SWEEP_SECONDS):
            if not self._able.is_set():
                continue
            try:
                self._waiting = self._read_waiting()
                self._readers.announce_waiting(self._waiting.startable)
                if self._waiting.is_any_started:
                    self._recover()
                else:
                    self._idle.clear()
                    self._free.clear()
                self._swept_at = time.monotonic()
                if time.monotonic() >= next_upkeep:
                    next_upkeep = time.monotonic() + UPKEEP_SECONDS
                    self._upkeep()
            except Exception as error:
                if failure := storage_failure(error, self._files()):
                    log.warning("recovery check waits for the database", cause=str(failure))
                elif self._able.is_set():
                    log.exception("recovery check failed; trying again")
                else:
                    log.warning("recovery waits for the database", cause=cause_of(error))

    def _read_waiting(self) -> WaitingWork:
        return waiting_work(self.client, self.queues, self.application.format)

    def _recover(self) -> None:
        """Requeue the started work of dead workers, and stranded work of this one."""
        running = set(self._running)
        pending = self._claimed()
        own = self._lease.executor_id
        others = {one.executor_id for one in pending if one.executor_id} - {own}
        for executor in self._dead(others):
            with self._lease.takeover(executor) as free:
                if free:
                    log.warning("taking over from a dead worker", worker=executor)
                    for workflow in (one for one in pending if one.executor_id == executor):
                        self._give_back(workflow.workflow_id, workflow.queue_name)
        mine = {one.workflow_id: one.queue_name for one in pending if one.executor_id == own}
        idle = mine.keys() - running - self._running
        self._idle = {work: self._idle.get(work, 0) + 1 for work in idle}
        # The work is marked as started by this process, but did not run in it for half a minute:
        # a restart and the queue's poller missed each other.
        for work, sweeps in list(self._idle.items()):
            if sweeps >= STRANDED_SWEEPS:
                log.warning("recovering work without a worker", work=work)
                self._give_back(work, mine[work])
                del self._idle[work]

    def _dead(self, others: Set[str]) -> list[str]:
        """The workers whose lock was free at every check for `DEAD_SECONDS`.

        An outage that broke this worker's session broke theirs too, and they need a moment to
        reconnect: after a new session of this worker the count starts again."""
        if self._sessions != self._lease.sessions:
            self._sessions = self._lease.sessions
            self._free.clear()
        now, free = time.monotonic(), {}
        for executor in others:
            with self._lease.takeover(executor) as is_free:
                if is_free:
                    free[executor] = self._free.get(executor, now)
        self._free = free
        return [executor for executor, since in free.items() if now - since >= DEAD_SECONDS]

    def _give_back(self, workflow_id: str, queue: str | None) -> None:
        self.client.resume_workflow(workflow_id, queue_name=queue)
        self._readers.announce(queue or "")
        metrics.WORK_RECOVERED.inc()
