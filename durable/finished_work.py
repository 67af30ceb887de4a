"""Work that is done: remembered for a while, so that what is stored again is known, then gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

KEEP = timedelta(days=1)
"""Finished work is remembered this long, with its arguments: Slack repeats an event within minutes,
and no domain keeps its questions for less."""
CANCELLED = ["CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_AT_ONCE = 1_000


def forget_done(client: Any, keep: timedelta = KEEP) -> int:
    """Delete what was finished that long ago, over all workers; how many that were."""
    before, count = (datetime.now(UTC) - keep).isoformat(), 0
    while found := [
        *_listed(client, status=["SUCCESS", "ERROR"], completed_before=before),
        # Cancelled work has no time of completion.
        *_listed(client, status=CANCELLED, end_time=before),
    ]:
        client.delete_workflows([one.workflow_id for one in found])
        count += len(found)
    return count


def _listed(client: Any, **which: Any) -> list[Any]:
    found: list[Any] = client.list_workflows(
        limit=_AT_ONCE, load_input=False, load_output=False, **which
    )
    return found
