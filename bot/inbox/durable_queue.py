"""The durable inbox: an event is stored before it is acknowledged, and worked off once.

One DBOS workflow per event id, so a repeated delivery is the same work. See
docs/decisions/050-durable-inbox.md for what DBOS does by itself and what is added here."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import structlog

from bot.inbox.lease import Lease
from bot.inbox.stored_items import APP, StoredItems
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure
from config.disk.private_files import private_file

log = structlog.get_logger()

_one_per_process = threading.Lock()

Item = dict[str, Any]
Handler = Callable[[str, Item], None]

QUEUE = "oncall-inbox"
WORK = "work"
FORMAT = "inbox-1"
"""DBOS recovers work of the same application version only, so this moves only when stored
items can't be read any more; a release must not strand the questions of the last one."""
SWEEP_SECONDS = 5.0
STRANDED_SWEEPS = 6
UPKEEP_SECONDS = 3600.0


class Inbox:
    """Stores items and hands each to `handler(event_id, item)` until it returns."""

    def __init__(
        self,
        *,
        database_url: str,
        lease: Lease,
        handler: Handler,
        concurrency: int = 64,
        poll_seconds: float = 0.2,
        upkeep: Callable[[], object] = lambda: None,
    ) -> None:
        """`upkeep` is called at the start and every hour; what it raises is logged."""
        self._url = database_url
        self._lease = lease
        self._handler = handler
        self._concurrency = concurrency
        self.poll_seconds = poll_seconds
        self._client: Any = None
        self._upkeep = upkeep
        self._running: set[str] = set()
        self._idle: dict[str, int] = {}
        self._putting = threading.Lock()
        self._stopping = threading.Event()
        self._keeper: threading.Thread | None = None

    def start(self) -> None:
        """Take the lease, recover what was left behind, and begin to work."""
        from dbos import DBOS, DBOSClient

        self._lease.acquire()
        if not _one_per_process.acquire(blocking=False):
            self._lease.release()
            raise RuntimeError("this process has an inbox already, and DBOS can't have two")
        _tame_logs()
        _write_ahead(self._url)
        DBOS(
            config={
                "name": APP,
                "system_database_url": self._url,
                "application_version": FORMAT,
                "executor_id": self._lease.executor_id,
                "enable_otlp": False,
                # What people said is a parameter, and an error would carry it into the log.
                "db_engine_kwargs": {"hide_parameters": True},
                "log_level": "WARNING",
                # SQLite's writers wait by sleeping, the unluckiest of many for long: so one.
                "sys_db_pool_size": 1 if self._url.startswith("sqlite") else 20,
            }
        )

        # Registered here and not at import: the handler belongs to this inbox.
        @DBOS.workflow(name=WORK)
        def work(event_id: str, item: Item) -> None:
            self._run(event_id, item)

        with self._lease.preparing():
            DBOS.launch()
        DBOS.register_queue(
            QUEUE,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self.poll_seconds,
            on_conflict="always_update",
        )
        # A connection of its own: an ack must not queue up behind the workers' commits.
        self._client = DBOSClient(
            system_database_url=self._url, system_database_pool_size=2, application_name=APP
        )
        self._client._sys_db.engine.hide_parameters = True  # its client takes no such option
        self._keeper = threading.Thread(target=self._keep, name="inbox-keeper", daemon=True)
        self._keeper.start()

    def put(self, event_id: str, item: Item) -> None:
        """Store an item; returns when it can't be lost any more. A known event id does nothing."""
        options = {
            "workflow_name": WORK,
            "queue_name": QUEUE,
            "workflow_id": event_id,
            "app_version": FORMAT,
        }
        with self._putting:
            self._client.enqueue(options, event_id, item)

    def backlog(self) -> int:
        """Items stored and not yet worked off, over all workers."""
        from dbos import DBOS

        waiting = ["ENQUEUED", "PENDING"]
        return len(DBOS.list_workflows(status=waiting, load_input=False, load_output=False))

    def stored(self) -> StoredItems:
        """What is in it; only while it runs."""
        return StoredItems(self._client)

    def ready(self) -> bool:
        """Started, not stopping, and looked after."""
        keeper = self._keeper
        return bool(keeper and keeper.is_alive()) and not self._stopping.is_set()

    def stop(self, drain_seconds: float = 25.0) -> None:
        """Finish what was begun, as far as time allows; the rest is another start's work."""
        from dbos import DBOS

        if self._client is None:
            return
        self._stopping.set()
        wait = int(drain_seconds) if self._running else 0
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=wait)
        self._client.destroy()
        self._client = None
        if self._keeper:
            self._keeper.join(timeout=5)
        self._lease.release()
        _one_per_process.release()

    def _run(self, event_id: str, item: Item) -> None:
        self._running.add(event_id)
        try:
            _patiently(self._handler, event_id, item)
        finally:
            self._running.discard(event_id)

    def _keep(self) -> None:
        """Every few seconds: take over from dead workers; every hour: forget old work."""
        next_upkeep = time.monotonic()
        while not self._stopping.wait(SWEEP_SECONDS):
            try:
                self._lease.keep()
                self._recover()
                if time.monotonic() >= next_upkeep:
                    next_upkeep = time.monotonic() + UPKEEP_SECONDS
                    self.stored().forget_done()
                    self._upkeep()
            except Exception:
                log.exception("inbox upkeep failed; trying again")

    def _recover(self) -> None:
        """Give the started work of dead workers, and work that nobody runs, back to the queue."""
        from dbos import DBOS

        running = set(self._running)
        pending = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
        own = self._lease.executor_id
        for executor in {w.executor_id for w in pending if w.executor_id} - {own}:
            with self._lease.takeover(executor) as dead:
                if dead:
                    log.warning("taking over from a dead worker", worker=executor)
                    for workflow in (w for w in pending if w.executor_id == executor):
                        DBOS.resume_workflow(workflow.workflow_id, queue_name=QUEUE)
        mine = {w.workflow_id for w in pending if w.executor_id == own}
        idle = mine - running - self._running
        self._idle = {work: self._idle.get(work, 0) + 1 for work in idle}
        # Marked as started by this process, but not running in it for half a minute: a restart
        # and the queue's poller missed each other.
        for work, sweeps in list(self._idle.items()):
            if sweeps >= STRANDED_SWEEPS:
                log.warning("picking up stranded work", event_id=work)
                DBOS.resume_workflow(work, queue_name=QUEUE)
                del self._idle[work]


def _patiently(handler: Handler, event_id: str, item: Item) -> None:
    """Run the handler until it returns; it is safe to run again, and silence never is an answer.

    Slack may be down for long, and an answer an hour late is worth more than none. Anything else,
    such as a database that is busy or away, is tried for some minutes, then left for the log."""
    slack, other = iter((30, 60, 300, 900, 1800)), iter((1, 5, 30, 120))
    while True:
        try:
            return handler(event_id, item)
        except SlackRefused as refused:
            log.error("slack refuses this for good", event_id=event_id, reason=str(refused))
            return None
        except Exception as error:
            pauses = slack if isinstance(error, SlackUnsure | SlackBusy) else other
            pause = next(pauses, None)
            if pause is None:
                log.exception("given up", event_id=event_id)
                raise
            log.warning("trying again", event_id=event_id, pause=pause, cause=str(error))
            time.sleep(pause)


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
