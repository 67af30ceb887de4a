"""The durable inbox: an event is stored before Slack gets its ack, and handled once.

One DBOS workflow per event id: a repeated delivery starts no second one."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from bot.bus.events import Item
from bot.bus.stored_items import INBOX, InboxAdmin
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from durable.failures import cause_of as failure_cause
from durable.failures import passing_failure
from durable.lease import Lease
from durable.queues import WorkQueue
from durable.worker import DurableWorker
from telemetry import metrics

log = structlog.get_logger()

Handler = Callable[[str, Item], None]

QUEUE = "oncall-inbox"
WORK = "work"
STORE_LATE_SECONDS = 0.5
MAX_UNSTORED = 10_000
"""Events, of a few kilobytes each, held in memory while the database is away."""
SLACK_PAUSES = (30, 60, 300, 900, 1800)
OTHER_PAUSES = (1, 5, 30, 120)
STORAGE_PAUSES = (0.5, 1, 2, 4, *[8] * 72)
"""Some ten minutes; dozens of threads wait, so none for long, and each a little differently."""


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
        """`upkeep` is called at the start and every hour; its errors are logged."""
        self._handler = handler
        self.on_abandoned: Handler = lambda event_id, item: None
        """Called with an event that is not tried again."""
        self._concurrency = concurrency
        self.poll_seconds = poll_seconds
        self._upkeep = upkeep
        self._worker = DurableWorker(
            INBOX, database_url=database_url, lease=lease, upkeep=self._clean_up
        )
        self._putting = threading.Lock()
        self._unstored: deque[tuple[str, Item]] = deque()
        self._problem = ""
        """Why the last event could not be stored."""
        self._stopping = threading.Event()

    def start(self) -> None:
        """Take the lease, recover unfinished items, and start working."""
        queue = WorkQueue(name=QUEUE, concurrency=self._concurrency, poll_seconds=self.poll_seconds)
        self._worker.start(self._register, [queue])
        threading.Thread(target=self._store_late, name="store-late", daemon=True).start()

    def put(self, event_id: str, item: Item) -> None:
        """Store an item durably. A known event id does nothing.

        Raises the database's errors. The item is then held in memory and stored when the database
        is back; the process may end before that, so the sender should send it again."""
        try:
            self._store(event_id, item)
        except Exception as error:
            self._problem = cause_of(error)
            if len(self._unstored) < MAX_UNSTORED:
                self._unstored.append((event_id, item))
            raise

    def is_able(self) -> bool:
        """Whether the database responded at the last check."""
        return self._worker.is_able()

    def backlog(self) -> int:
        """Stored items that are not handled yet, over all workers."""
        return self._worker.backlog()

    def stored(self) -> InboxAdmin:
        """The stored items; only while the inbox runs."""
        return InboxAdmin(self._worker.client)

    def missing(self) -> dict[str, str]:
        """As in `telemetry.health.HealthSource`."""
        missing = self._worker.missing()
        if self._unstored and "database" not in missing:
            missing["storing"] = f"events can't be stored: {self._problem}"
        return missing

    def observe(self) -> None:
        """Set the gauges."""
        self._worker.observe()
        waiting = self._worker.waiting()
        metrics.BACKLOG.set(waiting.count)
        metrics.OLDEST.set(max(0.0, time.time() - waiting.oldest) if waiting.oldest else 0.0)

    def stop(self, drain_seconds: float = 25.0) -> None:
        """Finish running items, as far as time allows; the next start handles the rest."""
        self._stopping.set()
        self._worker.stop(drain_seconds)

    def _store(self, event_id: str, item: Item) -> None:
        with self._putting:
            self._worker.enqueue(WORK, event_id, item, queue=QUEUE, workflow_id=event_id)

    def _store_late(self) -> None:
        """Store held items once the database is back: Slack repeats after 1 and 5 minutes."""
        while not self._stopping.wait(STORE_LATE_SECONDS):
            while self._unstored and self._worker.is_able():
                event_id, item = self._unstored[0]
                try:
                    self._store(event_id, item)
                except Exception as error:
                    if (cause := cause_of(error)) != self._problem:
                        log.warning("events are not stored yet", cause=cause)
                    self._problem = cause
                    break
                self._unstored.popleft()

    def _register(self) -> None:
        from dbos import DBOS

        # Registered here and not at import: the handler belongs to this inbox.
        @DBOS.workflow(name=WORK)
        def work(event_id: str, item: Item) -> None:
            with self._worker.working(event_id):
                self._handle(event_id, item)

    def _clean_up(self) -> None:
        self.stored().forget_done()
        self._upkeep()

    def _handle(self, event_id: str, item: Item) -> None:
        """Run the handler until it returns; it is safe to repeat.

        Slack may be down for an hour, and a late answer is better than none. While the worker has
        no lease, attempts are not counted. Failures of the database are retried for some ten
        minutes, others for some two; then the event is abandoned."""
        pauses = {kind: iter(each) for kind, each in _PAUSES.items()}
        while True:
            try:
                return self._handler(event_id, item)
            except SlackRefused as refused:
                log.error("slack refuses this for good", event_id=event_id, reason=str(refused))
                self._abandon(event_id, item)
                return None
            except Exception as error:
                if not self._worker.is_able():
                    log.warning("work paused: database unavailable", event_id=event_id)
                    self._worker.wait_until_able()
                    continue
                pause = next(pauses[_kind(error)], None)
                if pause is None:
                    log.exception("given up", event_id=event_id)
                    self._abandon(event_id, item)
                    raise
                log.warning("trying again", event_id=event_id, pause=pause, cause=cause_of(error))
                time.sleep(pause * random.uniform(0.75, 1.25))  # noqa: S311 - not a secret

    def _abandon(self, event_id: str, item: Item) -> None:
        try:
            self.on_abandoned(event_id, item)
        except Exception as error:
            log.warning("abandoned event could not be concluded", cause=cause_of(error))


_PAUSES = {"slack": SLACK_PAUSES, "storage": STORAGE_PAUSES, "other": OTHER_PAUSES}


def _kind(error: Exception) -> str:
    if isinstance(error, SlackUnsure | SlackBusy):
        return "slack"
    return "storage" if passing_failure(error) else "other"


def cause_of(error: Exception) -> str:
    """As of `durable.failures`; Slack's errors by their text."""
    return str(error) if isinstance(error, SlackUnsure | SlackBusy) else failure_cause(error)
