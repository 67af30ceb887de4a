"""The durable inbox: an event is stored before it is acknowledged, and worked off once.

One DBOS workflow per event id, so a repeated delivery is the same work."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import structlog

from bot.bus.stored_items import INBOX, InboxAdmin
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from durable.database import storage_failure
from durable.lease import Lease
from durable.worker import DurableWorker, WorkQueue
from telemetry import metrics

log = structlog.get_logger()

Item = dict[str, Any]
Handler = Callable[[str, Item], None]

QUEUE = "oncall-inbox"
WORK = "work"
LATE_SECONDS = 0.5
MOST_UNSTORED = 10_000
"""Events, of a few kilobytes each, that are held while nothing can be stored."""


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
        self._handler = handler
        self._concurrency = concurrency
        self.poll_seconds = poll_seconds
        self._upkeep = upkeep
        self._worker = DurableWorker(
            INBOX, database_url=database_url, lease=lease, upkeep=self._look_after
        )
        self._putting = threading.Lock()
        self._unstored: deque[tuple[str, Item]] = deque()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Take the lease, recover what was left behind, and begin to work."""
        queue = WorkQueue(name=QUEUE, concurrency=self._concurrency, poll_seconds=self.poll_seconds)
        self._worker.start(self._register, [queue])
        threading.Thread(target=self._store_late, name="store-late", daemon=True).start()

    def put(self, event_id: str, item: Item) -> None:
        """Store an item; returns when it can't be lost any more. A known event id does nothing.

        Raises what the database raises. The item is then stored when that is back, if this process
        lives so long; whoever was not told that it is safe should send it again."""
        try:
            self._store(event_id, item)
        except Exception:
            if len(self._unstored) < MOST_UNSTORED:
                self._unstored.append((event_id, item))
            raise

    def is_able(self) -> bool:
        """Whether its database is there, as far as was last looked."""
        return self._worker.is_able()

    def backlog(self) -> int:
        """Items stored and not yet worked off, over all workers."""
        return self._worker.backlog()

    def stored(self) -> InboxAdmin:
        """What is in it; only while it runs."""
        return InboxAdmin(self._worker.client)

    def missing(self) -> dict[str, str]:
        """What keeps it from working, as in `telemetry.health.Watched`."""
        missing = self._worker.missing()
        if self._unstored and "database" not in missing:
            missing["storing"] = "events can't be stored: is the disk full?"
        return missing

    def observe(self) -> None:
        """Sets its gauges."""
        self._worker.observe()
        waiting = self._worker.waiting()
        metrics.BACKLOG.set(waiting.count)
        metrics.OLDEST.set(max(0.0, time.time() - waiting.oldest) if waiting.oldest else 0.0)

    def stop(self, drain_seconds: float = 25.0) -> None:
        """Finish what was begun, as far as time allows; the rest is another start's work."""
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
        """Slack sends again after one minute and after five: nobody should wait so long for a
        database that was away for ten seconds."""
        while not self._stopping.wait(LATE_SECONDS):
            while self._unstored and self._worker.is_able():
                event_id, item = self._unstored[0]
                try:
                    self._store(event_id, item)
                except Exception as error:
                    cause = storage_failure(error) or type(error).__name__
                    log.warning("an event waits for the database", cause=str(cause))
                    break
                self._unstored.popleft()

    def _register(self) -> None:
        from dbos import DBOS

        # Registered here and not at import: the handler belongs to this inbox.
        @DBOS.workflow(name=WORK)
        def work(event_id: str, item: Item) -> None:
            with self._worker.working(event_id):
                self._patiently(event_id, item)

    def _look_after(self) -> None:
        self.stored().forget_done()
        self._upkeep()

    def _patiently(self, event_id: str, item: Item) -> None:
        """Run the handler until it returns; it is safe to run again, and silence never is an
        answer.

        Slack may be down for long, and an answer an hour late is worth more than none. So it goes
        on as soon as a database that was away is back. Anything else is tried for some minutes,
        then left for the log."""
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
                    log.warning("waiting for the database", event_id=event_id)
                    self._worker.wait_until_able()
                    continue
                pause = next(pauses, None)
                if pause is None:
                    log.exception("given up", event_id=event_id)
                    raise
                log.warning("trying again", event_id=event_id, pause=pause, cause=str(error))
                time.sleep(pause)
