"""Connections to PostgreSQL by each kind of process, and statements a second while nothing happens.

    python -m benchmarks.connections [--idle 60] [--load 60] [--bots 3] [--runners 2]
        [--budget 5] [--pooler]

Bots, runners and the API share one PostgreSQL with 100 connections; the load is 1.5 mentions and
one API question a second. With a pooler they go through PgBouncer, which pools transactions.
Statements are read from the server's log, `BEGIN` and `COMMIT` included."""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import yaml

from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import said
from tests.databases import breakable_postgresql
from tests.durable.test_connections import transaction_pooler

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "playground/demo"
DOMAIN = f"""\
domain: security
title: Security help
channels: [{CHANNEL}]
sources: {{files: ["{DEMO}/security/[a-d]*.md"]}}
limits: {{questions_per_user_per_hour: 10000, questions_per_channel_per_hour: 10000}}
refresh: "0 3 * * *"
"""
LINE = re.compile(r"^@(?P<process>[^@]*)@\d+@ *LOG:  (statement|execute [^:]*): (?P<text>.*)")


class Server:
    """PostgreSQL that logs each statement with the name of who sent it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = psycopg.connect(url, autocommit=True, application_name="benchmark")
        folder = self._one("SHOW data_directory")
        self._log = Path(folder) / "log"
        for setting, value in {"log_line_prefix": "@%a@%p@ ", "log_statement": "all"}.items():
            self._connection.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
        self._connection.execute("SELECT pg_reload_conf()")

    def limit(self) -> int:
        return int(self._one("SHOW max_connections"))

    def connections(self) -> Counter[str]:
        """Kind of process → its connections now."""
        rows = self._connection.execute(
            "SELECT application_name FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )
        return Counter(kind_of(name) for (name,) in rows if name != "benchmark")

    def size(self) -> int:
        return self._log.stat().st_size

    def statements(self, since: int) -> Counter[tuple[str, str]]:
        """(kind of process, statement) → how often it was sent since the log had this size."""
        with self._log.open("rb") as log:
            log.seek(since)
            lines = log.read().decode(errors="replace").splitlines()
        matches = filter(None, map(LINE.match, lines))
        return Counter(
            (kind_of(one["process"]), one["text"][:90])
            for one in matches
            if one["process"] != "benchmark"
        )

    def _one(self, statement: str) -> str:
        row = self._connection.execute(statement).fetchone()
        assert row
        return str(row[0])


def kind_of(application: str) -> str:
    kinds = {"bot": "bot", "jobs": "jobs", "api": "api", "serve": "api"}
    return next((kind for name, kind in kinds.items() if name in application), application)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(folder: Path, environment: dict[str, str], *command: str) -> Iterator[int]:
    """`oncall …` on this port once it is ready."""
    port, name = free_port(), command[0]
    option = "--port" if name == "serve" else "--health-port"
    kind = {"serve": "api"}.get(name, name)
    log = folder / f"{kind}-{port}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", *command, option, str(port)],
            cwd=folder,
            env={**environment, "PGAPPNAME": f"oncall {kind}"},
            stdout=out,
            stderr=out,
        )
    try:
        wait_until_ready(process, port, log)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"not ready: {log.read_text()[-2000:]}")


class Peak:
    """The most connections of each kind, and of all together, looked at five times a second."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.of_kind: Counter[str] = Counter()
        self.total = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stopping.wait(0.2):
            now = self._server.connections()
            self.of_kind |= now
            self.total = max(self.total, now.total())


def load(slack: SlackStandIn, api: int, questions: list[str], seconds: float) -> list[str]:
    """The mentions that were posted."""
    asked: list[str] = []
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        if len(asked) < 1.5 * passed:
            text = questions[len(asked) % len(questions)]
            mention = f"<@{slack.bot_user_id}> {text} ({len(asked)})"
            asked.append(slack.post_as_user(CHANNEL, mention))
            if len(asked) % 3:
                threading.Thread(target=ask_api, args=(api, text), daemon=True).start()
        time.sleep(0.05)
    return asked


def ask_api(port: int, question: str) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/agentic_qna",
        json.dumps({"domain": "security", "query": question}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer benchmark-token-0123456789"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310 - of this machine
            reply.read()
    except OSError as error:
        sys.stderr.write(f"the API: {error}\n")


def main() -> None:
    options = _options()
    questions = [
        one["question"] for one in yaml.safe_load((DEMO / "golden/security.yaml").read_text())
    ]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "config/domains").mkdir(parents=True)
        (folder / "config/domains/security.yaml").write_text(DOMAIN)
        slack = stack.enter_context(SlackStandIn(enforce_rate_limits=False))
        server = Server(stack.enter_context(breakable_postgresql()).url)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_API_URL": slack.api_url,
            "ONCALL_DATA_DIR": str(folder / "var"),
            "ONCALL_CONFIG_DIR": str(folder / "config"),
            "ONCALL_FOLDERS": str(DEMO),
            "DATABASE_URL": server.url,
            "ONCALL_DATABASE_CONNECTIONS": str(options.budget),
            "ONCALL_API_REQUESTS_PER_MINUTE": "10000",
            "ONCALL_API_TOKEN": "benchmark-token-0123456789",
        }
        if options.pooler:
            pooled = transaction_pooler(server.url, default_pool_size="20", max_client_conn="200")
            environment |= {
                "DATABASE_URL": stack.enter_context(pooled),
                "DATABASE_DIRECT_URL": server.url,
            }
        subprocess.run(
            [sys.executable, "-m", "cli.main", "ingest"], cwd=folder, env=environment, check=True
        )
        of_bots = {**environment, "SLACK_APP_TOKEN": slack.app_token}
        for _ in range(options.bots):
            stack.enter_context(running(folder, of_bots, "bot"))
        for _ in range(options.runners):
            stack.enter_context(running(folder, environment, "jobs", "run"))
        api = stack.enter_context(running(folder, environment, "serve"))
        time.sleep(options.settle)
        report(server, options, slack, api, questions)


def report(
    server: Server, options: argparse.Namespace, slack: SlackStandIn, api: int, questions: list[str]
) -> None:
    since = server.size()
    with Peak(server) as idle:
        time.sleep(options.idle)
    statements = server.statements(since)
    with Peak(server) as busy:
        waiting = set(load(slack, api, questions, options.load))
        asked, ends = len(waiting), time.monotonic() + options.patience
        while waiting and time.monotonic() < ends:
            time.sleep(1)
            waiting = {ts for ts in waiting if not any(map(answered, said(slack, ts)))}
    processes = {"bot": options.bots, "jobs": options.runners, "api": 1}
    out(f"{'':10}{'processes':>10}{'idle':>8}{'load':>8}{'statements/s idle':>20}")
    for kind in sorted({*idle.of_kind, *busy.of_kind}):
        sent = sum(count for (one, _), count in statements.items() if one == kind)
        out(
            f"{kind:10}{processes.get(kind, 0):>10}{idle.of_kind[kind]:>8}{busy.of_kind[kind]:>8}"
            f"{sent / options.idle:>20.1f}"
        )
    rate = statements.total() / options.idle
    out(f"{'all':10}{sum(processes.values()):>10}{idle.total:>8}{busy.total:>8}{rate:>20.1f}")
    out(f"of {server.limit()} connections; {asked} mentions, {len(waiting)} without an answer")
    if options.verbose:
        for (kind, text), count in statements.most_common(60):
            out(f"{count / options.idle:8.2f}/s  {kind:8} {text}")


def out(line: Any) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--idle", type=float, default=60.0, help="seconds")
    parser.add_argument("--load", type=float, default=60.0, help="seconds")
    parser.add_argument("--settle", type=float, default=70.0, help="seconds before the first look")
    parser.add_argument("--patience", type=float, default=240.0, help="seconds for the answers")
    parser.add_argument("--bots", type=int, default=3)
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--budget", type=int, default=10, help="connections of each process")
    parser.add_argument("--pooler", action="store_true", help="go through PgBouncer")
    parser.add_argument("--verbose", action="store_true", help="print the statements")
    return parser.parse_args()


if __name__ == "__main__":
    main()
