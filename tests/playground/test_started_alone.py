"""`python -m playground`: what it prints is what a program needs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from slack_sdk import WebClient

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[2]


def test_the_tokens_and_the_key_that_it_prints_are_good(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "playground", "--key", str(tmp_path / "key.json")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = "".join(process.stdout.readline() for _ in range(8))
            bot, app = re.search(r"xoxb-\S+", said), re.search(r"xapp-\S+", said)
            address = re.search(r"SLACK_API_URL=(\S+)", said)
            assert bot is not None
            assert app is not None
            assert address is not None
            client = WebClient(bot[0], base_url=address[1])
            assert client.auth_test()["user"] == "copilot"
            assert client.apps_connections_open(app_token=app[0])["ok"]
            assert "PRIVATE KEY" in (tmp_path / "key.json").read_text()
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
