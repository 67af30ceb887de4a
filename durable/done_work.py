"""Finished work is forgotten after a while, with what it was given."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

KEEP = timedelta(days=1)
"""Finished work is remembered this long, with what was said: Slack repeats an event within
minutes, and no domain keeps its questions for less."""
AT_ONCE = 1_000
_CANCELLED = ["CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


def forget_done(client: Any, keep: timedelta = KEEP) -> int:
    """Delete what was finished that long ago, by a `DBOSClient`; how much that was."""
    before, count = (datetime.now(UTC) - keep).isoformat(), 0
    while True:
        # Cancelled work has no time of completion.
        found = [
            *_listed(client, status=["SUCCESS", "ERROR"], completed_before=before),
            *_listed(client, status=_CANCELLED, end_time=before),
        ]
        if not found:
            return count
        client.delete_workflows([one.workflow_id for one in found])
        count += len(found)


def forget_abandoned(client: Any, queues: Collection[str], keep: timedelta = KEEP) -> int:
    """Delete what has waited that long in other queues than these: their workers are gone."""
    before = (datetime.now(UTC) - keep).isoformat()
    waiting = _listed(client, status=["ENQUEUED"], end_time=before)
    gone = [one.workflow_id for one in waiting if one.queue_name not in queues]
    if gone:
        client.delete_workflows(gone)
    return len(gone)


def _listed(client: Any, **which: Any) -> list[Any]:
    found: list[Any] = client.list_workflows(
        limit=AT_ONCE, load_input=False, load_output=False, **which
    )
    return found
