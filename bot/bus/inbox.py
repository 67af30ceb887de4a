"""The durable inbox: an event is stored before Slack gets its ack, and handled once.

One DBOS workflow per event id: a repeated delivery starts no second one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from bot.bus.events import Item
from bot.bus.stored_items import INBOX, InboxAdmin
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from config.errors import CopilotError
from durable.database import storage_failure
from durable.lease import Lease
from durable.worker import DurableWorker, WorkQueue
from telemetry import metrics

log = structlog.get_logger()

Handler = Callable[[str, Item], None]

QUEUE = "oncall-inbox"
WORK = "work"
STORE_LATE_SECONDS = 0.5
MAX_UNSTORED = 10_000
"""Events, of a few kilobytes each, held in memory while the database is away."""


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
        self._concurrency = concurrency
        self.poll_seconds = poll_seconds
        self._upkeep = upkeep
        self._worker = DurableWorker(
            INBOX, database_url=database_url, lease=lease, upkeep=self._clean_up
        )
        self._putting = threading.Lock()
        self._unstored: deque[tuple[str, Item]] = deque()
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
        except Exception:
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
            missing["storing"] = "events can't be stored: is the disk full?"
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
        options = {
            "workflow_name": WORK,
            "queue_name": QUEUE,
            "workflow_id": event_id,
            "app_version": INBOX.format,
        }
        with self._putting:
            self._worker.client.enqueue(options, event_id, item)

    def _store_late(self) -> None:
        """Store held items once the database is back: Slack repeats after 1 and 5 minutes."""
        while not self._stopping.wait(STORE_LATE_SECONDS):
            while self._unstored and self._worker.is_able():
                event_id, item = self._unstored[0]
                try:
                    self._store(event_id, item)
                except Exception as error:
                    cause = storage_failure(error) or type(error).__name__
                    log.warning("event not stored yet: database unavailable", cause=str(cause))
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

        Slack may be down for an hour, and a late answer is better than none. While the database is
        down, attempts are not counted. Other errors are retried for some minutes, then logged."""
        slack, other = iter((30, 60, 300, 900, 1800)), iter((1, 5, 30, 120))
        while True:
            try:
                return self._handler(event_id, item)
            except SlackRefused as refused:
                log.error("slack refuses this for good", event_id=event_id, reason=str(refused))
                return None
            except Exception as error:
                pauses = slack if isinstance(error, SlackUnsure | SlackBusy) else other
                if not self._worker.is_able():
                    log.warning("work paused: database unavailable", event_id=event_id)
                    self._worker.wait_until_able()
                    continue
                pause = next(pauses, None)
                if pause is None:
                    log.exception("given up", event_id=event_id)
                    raise
                log.warning("trying again", event_id=event_id, pause=pause, cause=cause_of(error))
                time.sleep(pause)


def cause_of(error: Exception) -> str:
    """For the log: the text of our own errors; of others the type, as they may quote people."""
    is_ours = isinstance(error, CopilotError | SlackUnsure | SlackBusy)
    return str(error) if is_ours else type(error).__name__
