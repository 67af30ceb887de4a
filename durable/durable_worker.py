"""DBOS in this process: launched under a lease, and what it leaves to others is done.

See docs/decisions/050-durable-inbox.md for what DBOS does by itself and what is added here."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from config.disk.private_files import private_file
from durable.lease import Lease

log = structlog.get_logger()

SWEEP_SECONDS = 5.0
STRANDED_SWEEPS = 6
UPKEEP_SECONDS = 3600.0

_one_per_process = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Application:
    """Whose work it is: workers of one application take over from each other."""

    name: str
    format: str
    """DBOS recovers work of the same version only, so this moves only when stored items can't be
    read any more; a release must not strand the work of the last one."""
    schema: str = "dbos"
    """Of its tables in PostgreSQL; SQLite has a file for each application."""

    def client(self, url: str) -> Any:
        """A `DBOSClient` of its work, in a process that may or may not run it."""
        from dbos import DBOSClient

        client = DBOSClient(
            system_database_url=url,
            system_database_pool_size=2,
            dbos_system_schema=self.schema,
            application_name=self.name,
        )
        client._sys_db.engine.hide_parameters = True  # it takes no such option
        return client


@dataclass(frozen=True, kw_only=True)
class WorkQueue:
    """Work that is stored first, and handed to as many at a time as `concurrency` says."""

    name: str
    concurrency: int
    """In each process."""
    poll_seconds: float = 0.2


class DurableWorker:
    """One per process. Its workflows call `working` around what they do."""

    def __init__(
        self,
        application: Application,
        *,
        database_url: str,
        lease: Lease,
        upkeep: Callable[[], object] = lambda: None,
    ) -> None:
        """`upkeep` is called at the start and every hour; what it raises is logged."""
        self.application = application
        self._url = database_url
        self._lease = lease
        self._upkeep = upkeep
        self._running: set[str] = set()
        self._idle: dict[str, int] = {}
        self._stopping = threading.Event()
        self._keeper: threading.Thread | None = None
        self.client: Any = None
        """A `DBOSClient` with connections of its own: storing must not queue up behind the
        workers' commits. None while nothing runs."""

    def start(self, register: Callable[[], None], queues: list[WorkQueue]) -> None:
        """Take the lease, recover what was left behind, and begin to work.

        `register` names the workflows to DBOS, with `DBOS.workflow`."""
        from dbos import DBOS

        self._lease.acquire()
        if not _one_per_process.acquire(blocking=False):
            self._lease.release()
            raise RuntimeError("this process has a worker already, and DBOS can't have two")
        _tame_logs()
        _write_ahead(self._url)
        DBOS(
            config={
                "name": self.application.name,
                "system_database_url": self._url,
                "dbos_system_schema": self.application.schema,
                "application_version": self.application.format,
                "executor_id": self._lease.executor_id,
                "enable_otlp": False,
                # What people said is a parameter, and an error would carry it into the log.
                "db_engine_kwargs": {"hide_parameters": True},
                "log_level": "WARNING",
                # SQLite's writers wait by sleeping, the unluckiest of many for long: so one.
                "sys_db_pool_size": 1 if self._url.startswith("sqlite") else 20,
            }
        )
        register()
        with self._lease.preparing():
            DBOS.launch()
        for queue in queues:
            DBOS.register_queue(
                queue.name,
                worker_concurrency=queue.concurrency,
                polling_interval_sec=queue.poll_seconds,
                on_conflict="always_update",
            )
        self.client = self.application.client(self._url)
        self._keeper = threading.Thread(target=self._keep, name="work-keeper", daemon=True)
        self._keeper.start()

    @contextmanager
    def working(self, workflow_id: str) -> Iterator[None]:
        """Around a workflow's body: it is not stranded while this lasts."""
        self._running.add(workflow_id)
        try:
            yield
        finally:
            self._running.discard(workflow_id)

    def backlog(self) -> int:
        """Work stored and not yet done, over all workers."""
        from dbos import DBOS

        waiting = ["ENQUEUED", "PENDING"]
        return len(DBOS.list_workflows(status=waiting, load_input=False, load_output=False))

    def ready(self) -> bool:
        """Started, not stopping, and looked after."""
        keeper = self._keeper
        return bool(keeper and keeper.is_alive()) and not self._stopping.is_set()

    def stop(self, drain_seconds: float) -> None:
        """Finish what was begun, as far as time allows; the rest is another start's work."""
        from dbos import DBOS

        if self.client is None:
            return
        self._stopping.set()
        wait = int(drain_seconds) if self._running else 0
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=wait)
        self.client.destroy()
        self.client = None
        if self._keeper:
            self._keeper.join(timeout=5)
        self._lease.release()
        _one_per_process.release()

    def _keep(self) -> None:
        """Every few seconds: take over from dead workers; every hour: the upkeep."""
        next_upkeep = time.monotonic()
        while not self._stopping.wait(SWEEP_SECONDS):
            try:
                self._lease.keep()
                self._recover()
                if time.monotonic() >= next_upkeep:
                    next_upkeep = time.monotonic() + UPKEEP_SECONDS
                    self._upkeep()
            except Exception:
                log.exception("upkeep failed; trying again")

    def _recover(self) -> None:
        """Give the started work of dead workers, and work that nobody runs, back to its queue."""
        from dbos import DBOS

        running = set(self._running)
        pending = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
        own = self._lease.executor_id
        for executor in {w.executor_id for w in pending if w.executor_id} - {own}:
            with self._lease.takeover(executor) as dead:
                if dead:
                    log.warning("taking over from a dead worker", worker=executor)
                    for workflow in (w for w in pending if w.executor_id == executor):
                        DBOS.resume_workflow(workflow.workflow_id, queue_name=workflow.queue_name)
        mine = {w.workflow_id: w.queue_name for w in pending if w.executor_id == own}
        idle = mine.keys() - running - self._running
        self._idle = {work: self._idle.get(work, 0) + 1 for work in idle}
        # Marked as started by this process, but not running in it for half a minute: a restart
        # and the queue's poller missed each other.
        for work, sweeps in list(self._idle.items()):
            if sweeps >= STRANDED_SWEEPS:
                log.warning("picking up stranded work", work=work)
                DBOS.resume_workflow(work, queue_name=mine[work])
                del self._idle[work]


def _write_ahead(url: str) -> None:
    """Let SQLite's readers and its writer work at once; it remembers this in the file.

    Measured with 200 events in 10 s on a busy machine: storing one takes 8 ms instead of 43."""
    if url.startswith("sqlite:///"):
        file = private_file(Path(url.removeprefix("sqlite:///")))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")


class _ToStructlog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, record.getMessage(), source="dbos", exc_info=record.exc_info)


def _tame_logs() -> None:
    """DBOS prints to the console by itself; its warnings go to our log, its chatter nowhere."""
    logger = logging.getLogger("dbos")
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    if not any(isinstance(handler, _ToStructlog) for handler in logger.handlers):
        logger.handlers[:] = [_ToStructlog()]
