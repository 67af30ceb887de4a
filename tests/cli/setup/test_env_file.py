"""`.env` as `oncall init` leaves it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from dotenv import dotenv_values

from cli.setup.files import EnvFile
from config.errors import ConfigError


@pytest.mark.parametrize("value", ["plain", "it's", 'a "b" c', "a # b", "$HOME", "a\\b", "ü…"])
def test_what_is_written_is_read_back(tmp_path: Path, value: str) -> None:
    file = tmp_path / ".env"
    EnvFile(file).keep("A_KEY", value)
    assert dotenv_values(file)["A_KEY"] == value
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_same_value_again_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    EnvFile(file).keep("A_KEY", "one")
    before = file.stat().st_mtime_ns
    again = EnvFile(file)
    again.keep("A_KEY", "one")
    assert file.stat().st_mtime_ns == before
    assert list(again.lines()) == []


def test_a_secret_that_stands_in_a_file_of_its_own_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN_FILE", "/run/secrets/slack")
    EnvFile(tmp_path / ".env").keep("SLACK_BOT_TOKEN", "xoxb-1")
    assert not (tmp_path / ".env").exists()


def test_a_file_that_can_not_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(ConfigError, match=r"\.env can't be written: Is a directory"):
        EnvFile(tmp_path / ".env").keep("A_KEY", "one")
