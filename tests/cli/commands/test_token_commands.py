"""`oncall token`, and what `oncall serve` listens on with and without one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "tea.yaml").write_text("domain: tea\ntitle: Tea\nsources: {files: ['*.md']}\n")
    return tmp_path


def environment(folder: Path, **more: str) -> dict[str, str]:
    ours = ("SLACK_", "OPENAI_", "ONCALL_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    here = {"ONCALL_CONFIG_DIR": "config", "ONCALL_DATA_DIR": str(folder / "var")}
    model = {"ONCALL_EMBEDDING_MODEL": "none", "OPENAI_BASE_URL": "http://127.0.0.1:9"}
    return {**clean, **here, **model, "PYTHONPATH": str(ROOT), **more}


def oncall(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_token_s_life(folder: Path) -> None:
    made = oncall(folder, "token", "create", "grafana", "--domain", "tea")
    assert made.returncode == 0
    (token,) = made.stdout.splitlines()
    assert token.startswith("oncall_")
    listed = oncall(folder, "token", "list", "--json")
    (shown,) = json.loads(listed.stdout)
    assert (shown["name"], shown["domains"]) == ("grafana", ["tea"])
    assert "sha256" not in shown
    assert "grafana" in oncall(folder, "token", "list").stdout
    assert oncall(folder, "token", "revoke", "grafana").returncode == 0
    assert json.loads(oncall(folder, "token", "list", "--json").stdout) == []


def test_a_token_for_metrics_alone_opens_no_domain(folder: Path) -> None:
    assert oncall(folder, "token", "create", "prometheus", "--metrics").returncode == 0
    assert oncall(folder, "token", "create", "all").returncode == 0
    shown = json.loads(oncall(folder, "token", "list", "--json").stdout)
    assert [one["domains"] for one in shown] == [[], "all"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["create", "a", "--domain", "tee"], "no domain 'tee'; did you mean 'tea'?"),
        (["create", "a b"], "this is no name of a token; use letters"),
        (["create", "a", "--identity", "ines"], "this is no identity of a token; give an e-mail"),
        (["revoke", "a"], "no token 'a'"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, words: list[str], said: str) -> None:
    done = oncall(folder, "token", *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line
    assert not (folder / "config" / "api_tokens.yaml").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 - it is refused
def test_without_a_token_others_are_not_listened_to(folder: Path, host: str) -> None:
    done = oncall(folder, "serve", "--host", host, "--port", str(free_port()))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"listens on this machine alone, not on {host}" in line
    assert "run `oncall token create NAME`" in line


def test_a_file_that_is_wrong_stops_the_start(folder: Path) -> None:
    (folder / "config" / "api_tokens.yaml").write_text("tokens: [")
    done = oncall(folder, "serve", "--port", str(free_port()))
    assert done.returncode == 2
    assert "api_tokens.yaml:1:" in done.stderr


def test_with_a_token_a_server_listens_to_others_and_asks_for_it(folder: Path) -> None:
    token = oncall(folder, "token", "create", "a").stdout.strip()
    port = free_port()
    with served(folder, "--host", "0.0.0.0", "--port", str(port)):  # noqa: S104 - with a token
        url = f"http://127.0.0.1:{port}/api/documents?domain=tea"
        wait_for(f"http://127.0.0.1:{port}/healthz")
        assert status_of(url) == 401
        # Nothing is published for the domain, so 503 is as far as a caller gets.
        assert status_of(url, token) == 503
        assert oncall(folder, "token", "revoke", "a").returncode == 0
        assert status_of(url, token) == 401
        assert status_of(url) == 401


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def served(folder: Path, *words: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "serve", *words],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            status_of(url)
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{url} did not come up")


def status_of(url: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:  # noqa: S310 - of this machine
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
