"""The inbox hands an item over until its handler returns."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.bus.inbox import Inbox
from durable.lease import FileLease


def test_a_handler_that_fails_is_run_again_and_known_ids_are_not(tmp_path: Path) -> None:
    runs: list[str] = []
    done = threading.Event()

    def handle(event_id: str, item: dict[str, Any]) -> None:
        runs.append(item["word"])
        if len(runs) == 1:
            raise OSError("the database is away")
        done.set()

    inbox = Inbox(
        database_url=f"sqlite:///{tmp_path / 'inbox.sqlite'}",
        lease=FileLease(tmp_path / "lock"),
        handler=handle,
    )
    inbox.start()
    try:
        inbox.put("E1", {"word": "first"})
        inbox.put("E1", {"word": "again"})
        assert done.wait(20)
        while inbox.backlog():
            time.sleep(0.05)
        assert runs == ["first", "first"]
        assert not inbox.missing()
        second = Inbox(
            database_url=f"sqlite:///{tmp_path / 'other.sqlite'}",
            lease=FileLease(tmp_path / "other"),
            handler=handle,
        )
        with pytest.raises(RuntimeError, match="a worker already"):
            second.start()
    finally:
        inbox.stop(0)
    assert inbox.missing()


def test_an_item_that_a_poller_has_just_claimed_is_still_done_when_the_inbox_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbos._sys_db import SystemDatabase

    claimed, handled = threading.Event(), threading.Event()
    claim = SystemDatabase.start_queued_workflows

    def claim_slowly(self: Any, *arguments: Any, **options: Any) -> Any:
        workflows = claim(self, *arguments, **options)
        if workflows[0]:
            claimed.set()
            time.sleep(0.4)  # `stop` begins here
        return workflows

    monkeypatch.setattr(SystemDatabase, "start_queued_workflows", claim_slowly)
    add_thread = ThreadPoolExecutor._adjust_thread_count

    def add_thread_late(self: ThreadPoolExecutor) -> None:
        threading.Timer(0.5, add_thread, [self]).start()  # the item waits in the pool's queue

    monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", add_thread_late)
    inbox = Inbox(
        database_url=f"sqlite:///{tmp_path / 'inbox.sqlite'}",
        lease=FileLease(tmp_path / "lock"),
        handler=lambda event_id, item: handled.set(),
    )
    inbox.start()
    with capture_logs() as lines:
        inbox.put("E1", {"word": "first"})
        assert claimed.wait(20)
        inbox.stop(5)
    assert handled.wait(5)
    assert lines == []
    with closing(sqlite3.connect(tmp_path / "inbox.sqlite")) as connection:
        assert connection.execute("SELECT status FROM workflow_status").fetchall() == [("SUCCESS",)]
