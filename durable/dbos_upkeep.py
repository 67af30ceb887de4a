"""What DBOS is not asked to do: forget old work, end its pollers, and log as we do."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Collection
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.parsing.secret_files import private_file
from telemetry.logs import ToStructlog

KEEP = timedelta(days=1)
"""How long finished work is stored, with its message text. Slack repeats an event within minutes,
and no domain stores its questions for less than this."""
AT_ONCE = 1_000
_CANCELLED = ["CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
POLLERS_SECONDS = 3.0
"""How long a stop waits for the queues' pollers, which an unreachable database may hold up."""


def forget_done(client: Any, keep: timedelta = KEEP) -> int:
    """Delete work that finished longer ago than `keep`. Returns the number of workflows.

    `client`: a `DBOSClient`."""
    before, count = (datetime.now(UTC) - keep).isoformat(), 0
    while True:
        # Cancelled work has no completion time.
        workflows = [
            *_listed(client, status=["SUCCESS", "ERROR"], completed_before=before),
            *_listed(client, status=_CANCELLED, end_time=before),
        ]
        if not workflows:
            return count
        client.delete_workflows([one.workflow_id for one in workflows])
        count += len(workflows)


def forget_abandoned(client: Any, queues: Collection[str], keep: timedelta = KEEP) -> int:
    """Delete work that waits longer than `keep` in a queue outside `queues`: its workers are gone.

    Returns the number of workflows."""
    before = (datetime.now(UTC) - keep).isoformat()
    waiting = _listed(client, status=["ENQUEUED"], end_time=before)
    orphaned = [one.workflow_id for one in waiting if one.queue_name not in queues]
    if orphaned:
        client.delete_workflows(orphaned)
    return len(orphaned)


def _listed(client: Any, **which: Any) -> list[Any]:
    workflows: list[Any] = client.list_workflows(
        limit=AT_ONCE, load_input=False, load_output=False, **which
    )
    return workflows


def end_polling() -> None:
    """Stop the queues' pollers and wait for them.

    `DBOS.destroy` takes the thread pool away at once, also from a poller that has just claimed an
    item: the item would fail to start, with an error in the log, and wait for its recovery."""
    from dbos._dbos import _get_dbos_instance

    for event in _get_dbos_instance().background_thread_stop_events:
        event.set()
    deadline = time.monotonic() + POLLERS_SECONDS
    for thread in threading.enumerate():
        if thread.name.startswith("queue-worker-"):
            thread.join(max(0.0, deadline - time.monotonic()))


def sqlite_file(url: str) -> Path | None:
    prefix = "sqlite:///"
    return Path(url.removeprefix(prefix)) if url.startswith(prefix) else None


def write_ahead(url: str) -> None:
    """Switch SQLite to WAL: readers and the writer run concurrently. The file stores the mode.

    Measured with 200 events in 10 s on a busy machine: storing one takes 8 ms instead of 43."""
    if file := sqlite_file(url):
        with closing(sqlite3.connect(private_file(file))) as connection:
            connection.execute("PRAGMA journal_mode=WAL")


def tame_logs() -> None:
    """Route DBOS's warnings to our log and drop the rest; by default it prints to the console."""
    logger = logging.getLogger("dbos")
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    if not any(isinstance(handler, ToStructlog) for handler in logger.handlers):
        logger.handlers[:] = [ToStructlog()]
