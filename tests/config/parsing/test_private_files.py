"""The data folder is its owner's alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config.errors import ConfigError
from config.parsing.secret_files import private_file, private_folder
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered

CHANNEL = "C0SECURITY"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn() as stand_in:
        yield stand_in


@pytest.fixture(autouse=True)
def _open_by_default() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_folder_and_file_are_private_whatever_the_umask(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "deep" / "var")
    assert mode(folder) == 0o700
    assert mode(private_file(folder / "a.db")) == 0o600
    assert mode(tmp_path / "deep") == 0o777, "what is above is not ours"


def test_what_an_earlier_release_left_open_is_tightened(tmp_path: Path) -> None:
    folder = tmp_path / "var"
    (folder / "index" / "tea").mkdir(parents=True)
    for name in ("oncall.db", "index/tea/rows.npy"):
        (folder / name).write_text("x")
    outside = tmp_path / "outside"
    outside.write_text("x")
    (folder / "link").symlink_to(outside)
    private_folder(folder)
    assert {mode(p) for p in (folder, folder / "index", folder / "index" / "tea")} == {0o700}
    assert {mode(folder / name) for name in ("oncall.db", "index/tea/rows.npy")} == {0o600}
    assert mode(outside) == 0o666


def test_a_folder_that_holds_more_than_ours_keeps_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "theirs").write_text("x")
    monkeypatch.chdir(tmp_path / "work")
    private_folder(Path())
    private_folder(tmp_path / "work")
    assert mode(tmp_path / "work") == 0o777
    assert mode(tmp_path / "work" / "theirs") == 0o666
    assert "more than ours" in "".join(capsys.readouterr())


def test_another_users_volume_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A container's user may write into a volume that isn't its own, by its group."""
    folder = tmp_path / "var"
    (folder / "index").mkdir(parents=True)

    def refused(self: Path, mode: int, **more: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refused)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    private_folder(folder)
    (line,) = "".join(capsys.readouterr()).splitlines()
    assert f"{folder} belongs to user {os.getuid()}, and this process is user 10001" in line


def test_a_volume_that_cannot_be_written_names_both_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    with pytest.raises(ConfigError, match=r"this process is user 10001; give the volume to user"):
        private_folder(tmp_path / "var")


TEA = "# Tea guide\n\n## Steeping\n\n| Tea | Minutes |\n|---|---|\n| Green | 2 |\n| Black | 4 |\n"
GOLDEN = (
    "- {id: tea-1, kind: lookup, question: 'how long does black tea steep?', reference: Four.}\n"
)
DOMAIN = "domain: tea\ntitle: Tea\nchannels: [C0SECURITY]\nsources: {files: ['../../*.md']}\n"


@contextmanager
def command(folder: Path, *words: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
    """An `oncall` command, in a process that lets everybody read what it writes."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; main()", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.trial
def test_all_that_an_ingestion_a_bot_and_a_report_write_is_private(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    (tmp_path / "config" / "domains").mkdir(parents=True)
    (tmp_path / "config" / "domains" / "tea.yaml").write_text(DOMAIN)
    (tmp_path / "tea.md").write_text(TEA)
    (tmp_path / "golden.yaml").write_text(GOLDEN)

    def run(*words: str) -> None:
        with command(tmp_path, *words) as process:
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said

    run("ingest")
    settings = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
    }
    with command(tmp_path, "bot", "--health-port", "0", **settings):
        slack.wait_for(lambda: slack.sockets.open, timeout=120)
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how long does black tea steep?")
        slack.wait_for_reply(CHANNEL, ts, 120, until=answered)
        # While it runs: what SQLite puts beside its files is there as well.
        modes_are_private(tmp_path / "var", {"oncall.db-wal", "inbox.sqlite", "bot.lock"})
    run("evaluate", "golden.yaml", "--domain", "tea", "--out", "var/report")
    run("privacy", "export", "U0YOU", "--file", "var/you.json")
    run("audit", "export", "--file", "var/audit.jsonl")
    modes_are_private(tmp_path / "var", {"report/report.html", "you.json", "audit.jsonl"})
    assert "U0YOU" in (tmp_path / "var" / "audit.jsonl").read_text()


def modes_are_private(data: Path, names: set[str]) -> None:
    found = {str(path.relative_to(data)): path for path in (data, *data.rglob("*"))}
    wrong = {
        name: oct(mode(path))
        for name, path in found.items()
        if path.exists() and mode(path) != (0o700 if path.is_dir() else 0o600)
    }
    assert wrong == {}
    assert names <= set(found)
