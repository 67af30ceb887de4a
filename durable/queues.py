"""Reads queues of stored work: at once when work is announced, else after growing pauses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from durable.connections import autocommit
from durable.lease import CHANNEL

if TYPE_CHECKING:
    from dbos import DBOS

IDLE_SECONDS = 60.0
"""Longest pause between two reads of a queue. The worker's sweep announces what waits unread."""
POLLERS_SECONDS = 3.0
"""How long a stop waits for the queues' pollers, which an unreachable database may hold up."""


@dataclass(frozen=True, kw_only=True)
class WorkQueue:
    """A queue of stored work; each process runs at most `concurrency` items at a time."""

    name: str
    concurrency: int
    """Per process."""
    poll_seconds: float = 0.2
    """Pause before the queue is read again after work was announced; idle, it grows to
    `IDLE_SECONDS`."""


class _Signal(threading.Event):
    """Stands in for the event that stops DBOS's thread of a queue. The thread sleeps in `wait`
    between two reads of the queue, and announced work wakes it."""

    def __init__(self, busy_seconds: float, before_waiting: Callable[[], None]) -> None:
        super().__init__()
        self._busy_seconds = self._pause = busy_seconds
        self._before_waiting = before_waiting
        self._is_stopped = False

    def is_set(self) -> bool:
        return self._is_stopped

    def wait(self, timeout: float | None = None) -> bool:
        self._before_waiting()
        if super().wait(self._pause):
            self.clear()
            self._pause = self._busy_seconds
        else:
            self._pause = min(2 * self._pause, max(IDLE_SECONDS, self._busy_seconds))
        return self._is_stopped

    def stop(self) -> None:
        self._is_stopped = True
        self.set()


class QueueReaders:
    """A thread of DBOS's for each queue."""

    def __init__(self, engine: Engine | None) -> None:
        """`engine`: the process's PostgreSQL, where other processes read the same queues."""
        self._engine = engine
        self._signals: dict[str, _Signal] = {}
        self._threads: list[threading.Thread] = []
        self._limits: dict[str, int] = {}
        self._running: Callable[[str], int] = lambda queue: 0

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._signals)

    def start(self, dbos: DBOS, queues: Sequence[WorkQueue]) -> None:
        """`dbos`: launched."""
        self._running = dbos._active_workflows_set.count_for_queue
        for queue in queues:
            self._start(dbos, queue)

    def _start(self, dbos: DBOS, queue: WorkQueue) -> None:
        from dbos._queue import queue_worker_thread

        stored = dbos.register_queue(
            queue.name,
            worker_concurrency=queue.concurrency,
            polling_interval_sec=queue.poll_seconds,
            on_conflict="always_update",
        )
        # Workers of earlier releases read its row again and again; it doesn't change.
        stored.database_backed_queue = False
        self._limits[queue.name] = queue.concurrency
        signal = _Signal(queue.poll_seconds, partial(self._call_others, queue.name))
        self._signals[queue.name] = signal
        thread = threading.Thread(
            target=queue_worker_thread,
            args=(signal, dbos, stored),
            name=f"queue-{queue.name}",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def announce(self, queue: str) -> None:
        """Read this queue now; with an empty name, all queues."""
        for name, signal in list(self._signals.items()):
            if not queue or name == queue:
                signal.set()

    def announce_waiting(self, queues: Collection[str]) -> None:
        """Read these queues, in which work waits, unless this process has as much as it takes."""
        for queue in queues:
            if not self._is_full(queue):
                self.announce(queue)

    def announce_room(self) -> None:
        """Read the queues of which this process had as much work as it takes."""
        for queue in filter(self._is_full, self.names):
            self.announce(queue)

    def stop(self) -> None:
        """Stop the threads and wait for them.

        `DBOS.destroy` takes the thread pool away at once, also from a thread that has just claimed
        an item: the item would fail to start, with an error in the log, and wait for its
        recovery."""
        deadline = time.monotonic() + POLLERS_SECONDS
        for signal in self._signals.values():
            signal.stop()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _is_full(self, queue: str) -> bool:
        return self._running(queue) >= self._limits[queue]

    def _call_others(self, queue: str) -> None:
        """Let other processes read a queue of which this one has as much work as it takes."""
        if self._engine is not None and self._is_full(queue):
            with suppress(SQLAlchemyError), autocommit(self._engine).connect() as connection:
                connection.execute(select(func.pg_notify(CHANNEL, queue)))
