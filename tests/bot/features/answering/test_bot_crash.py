"""The process dies at any moment: nothing is lost, nothing is said twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered, words
from tests.bot.fakes import CHANNEL

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[4]


@contextmanager
def worker(
    slack: SlackStandIn, data_dir: Path, module: str = "tests.bot.worker_process", **more: str
) -> Iterator[subprocess.Popen[str]]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ONCALL_DATA_DIR": str(data_dir),
        **more,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def up(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "up":
            # Somebody has to read what it says and logs from now on.
            for stream in filter(None, (process.stdout, process.stderr)):
                threading.Thread(target=stream.read, daemon=True).start()
            return
    assert process.stderr is not None
    raise AssertionError(f"the worker did not start: {process.stderr.read()[-2000:]}")


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def said(slack: SlackStandIn, ts: str) -> list[dict[str, Any]]:
    return [m for m in slack.thread(CHANNEL, ts) if m.get("user") == slack.bot_user_id]


def shown(slack: SlackStandIn, ts: str) -> bool:
    return bool(said(slack, ts))


def done(slack: SlackStandIn, ts: str) -> bool:
    return any(answered(m) for m in said(slack, ts))


@pytest.mark.parametrize(
    ("streaming", "moment"), [("yes", shown), ("", done)], ids=["stream begun", "answer shown"]
)
def test_killed_when_something_shows_it_still_answers_each_question_once(
    slack: SlackStandIn,
    tmp_path: Path,
    streaming: str,
    moment: Callable[[SlackStandIn, str], bool],
) -> None:
    asked: list[str] = []
    with worker(slack, tmp_path, STREAMING=streaming) as process:
        up(process)
        for number in range(3):
            text = f"<@{slack.bot_user_id}> question {number}"
            asked.append(slack.post_as_user(CHANNEL, text))
        slack.wait_for(lambda: any(moment(slack, ts) for ts in asked))
        kill(process)  # what shows is perhaps not recorded yet
    with worker(slack, tmp_path, STREAMING=streaming) as process:
        up(process)
        slack.wait_for(lambda: all(done(slack, ts) for ts in asked), timeout=120)
    for ts in asked:
        assert len(said(slack, ts)) == 1, [words(m) for m in said(slack, ts)]
    with closing(sqlite3.connect(tmp_path / "oncall.db")) as database:
        runs = database.execute("SELECT attempts, finished FROM agent_runs").fetchall()
    assert len(runs) == len(asked)  # each is one question, and no attempt at it is free
    assert all(attempts >= finished >= 1 for attempts, finished in runs)


def test_sigterm_finishes_what_was_begun(slack: SlackStandIn, tmp_path: Path) -> None:
    with worker(slack, tmp_path, THINK_SECONDS="1") as process:
        up(process)
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often?")
        slack.wait_for(lambda: said(slack, ts))
        process.terminate()
        assert process.wait(timeout=120) == 0
    assert [answered(m) for m in said(slack, ts)] == [True]
