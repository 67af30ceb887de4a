"""Who may work: one process on SQLite, told apart workers on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import ConfigError
from durable.lease import FileLease
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import running
from tests.bot.fakes import Agents


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


def test_a_refused_app_token_stops_the_start(slack: SlackStandIn, tmp_path: Path) -> None:
    slack.faults.add("apps.connections.open", error="invalid_auth")
    with (
        pytest.raises(ConfigError, match="SLACK_APP_TOKEN: invalid_auth"),
        running(slack, tmp_path, Agents()),
    ):
        pass
