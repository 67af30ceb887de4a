"""The inbox hands an item over until its handler returns."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

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
