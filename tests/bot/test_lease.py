"""Who may work: one process on SQLite, told apart workers on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.lease import FileLease
from config.errors import ConfigError


def test_a_second_worker_on_sqlite_refuses_and_says_why(tmp_path: Path) -> None:
    first, second = FileLease(tmp_path / "bot.lock"), FileLease(tmp_path / "bot.lock")
    first.acquire()
    with pytest.raises(ConfigError) as refused:
        second.acquire()
    assert "one worker process" in refused.value.problem
    assert "DATABASE_URL" in refused.value.remedy
    first.release()
    second.acquire()
    second.release()
