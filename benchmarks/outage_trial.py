"""A whole installation while its database and Slack falter: what everybody was told in the end.

    python -m benchmarks.outage_trial [--mentions 240] [restarted stalled exhausted slack]

Three bots, two job runners and the API as they ship, on one PostgreSQL with 100 connections. Each
fault begins after 20 seconds of mentions, and kills a bot, which is started again like the others
would be by a supervisor. All columns of mentions but the first should be 0."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import psycopg

from benchmarks.slack_faults import ROOT, TEXT, environment, ingested
from playground.slack_stand_in import SlackStandIn
from tests.databases import Server, breakable_postgresql
from tests.outage_trial import Crowd, Readiness, exhausted, free_port

CONNECTIONS = 100
RATE = 1.5
BEFORE = 20.0
BOTS, RUNNERS = 3, 2
RIGHT = "Key Rotation Standard"
IN_USE = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
REFRESH = 'refresh: {cron: "* * * * *"}\n'


class Program:
    """One process of the copilot, with `/readyz` at `port`."""

    def __init__(self, folder: Path, settings: dict[str, str], *command: str) -> None:
        self.port = free_port()
        self._environment = {
            **environment(folder), **settings, "ONCALL_DATA_DIR": str(folder / f"var-{self.port}"),
        }  # fmt: skip
        self._command = [sys.executable, "-m", "cli.main", *command, str(self.port)]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, env=self._environment, cwd=ROOT, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Client:
    """Asks the API every two seconds, and counts its status codes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.replies = Counter[str]()
        self._stopping = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(2):
            self.replies[self._ask()] += 1

    def _ask(self) -> str:
        body = json.dumps({"query": TEXT, "domain": "security"})
        connection = HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            with closing(connection):
                headers = {"Content-Type": "application/json"}
                connection.request("POST", "/api/agentic_qna", body, headers)
                reply = connection.getresponse()
                text, after = reply.read().decode(), reply.getheader("Retry-After")
        except OSError as error:
            return type(error).__name__
        if reply.status == 200:
            return "200" if RIGHT in text else "200, wrong"
        return f"{reply.status}{', Retry-After' if after else ''}"


@contextmanager
def restarted(server: Server, slack: SlackStandIn) -> Iterator[float]:
    server.stop()
    yield 5.0
    server.start()


@contextmanager
def stalled(server: Server, slack: SlackStandIn) -> Iterator[float]:
    server.freeze()
    yield 40.0
    server.thaw()


@contextmanager
def full(server: Server, slack: SlackStandIn) -> Iterator[float]:
    with exhausted(server.url):
        yield 30.0


@contextmanager
def slack_falters(server: Server, slack: SlackStandIn) -> Iterator[float]:
    slack.faults.add("*", status=429, retry_after=1, count=10**9, every=4)
    slack.faults.add("*", status=500, count=10**9, every=5)
    cut = threading.Timer(5, slack.drop_sockets)
    cut.start()
    yield 30.0
    cut.join()
    slack.faults.clear()


FAULTS = {"restarted": restarted, "stalled": stalled, "exhausted": full, "slack": slack_falters}


def trial(kind: str, mentions: int) -> str:
    with ExitStack() as stack:
        server = stack.enter_context(breakable_postgresql())
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}")
        server.stop()
        server.start()
        slack = stack.enter_context(SlackStandIn(enforce_rate_limits=False))
        slack.retry_delays = (0.0, 60.0, 300.0)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["DATABASE_URL"] = server.url
        ingested(folder)
        with (folder / "config/domains/security.yaml").open("a") as file:
            file.write(REFRESH)
        settings = {
            "SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url, "DATABASE_URL": server.url,
        }  # fmt: skip
        bots = [Program(folder, settings, "bot", "--health-port") for _ in range(BOTS)]
        runners = [
            Program(folder, settings, "jobs", "run", "--health-port") for _ in range(RUNNERS)
        ]
        api = Program(folder, settings, "serve", "--port")
        programs = [*bots, *runners, api]
        for one in programs:
            stack.callback(one.kill)
        ready = stack.enter_context(Readiness([one.port for one in programs]))
        ready.wait_until_ready(300)
        used = watch_connections(server, stack.callback)
        client = Client(api.port)
        crowd = Crowd(slack, RATE, TEXT)
        crowd.ask_for(BEFORE)
        began = time.monotonic()
        with FAULTS[kind](server, slack) as seconds:
            crowd.ask_for(seconds / 2)
            bots[0].kill()
            crowd.ask_for(seconds / 2)
            ended = time.monotonic()
        bots[0].start()
        back = time.monotonic()
        crowd.ask_for(max(0.0, (mentions - len(crowd.asked)) / RATE))
        caught_up = time.monotonic() - back + crowd.wait_until_answered(600)
        ready.wait_until_ready()
        client.stop()
        time.sleep(3)
        killed = bots[0].port
        red = [one for one in ready.ready_within(began, ended) if one[1] != killed]
        verdict = crowd.verdict(lambda text: RIGHT in text)
        replies = ", ".join(f"{count} × {status}" for status, count in client.replies.items())
        return (
            f"| {kind} | {verdict.asked} | {verdict.unanswered} | {verdict.twice} "
            f"| {verdict.stale} | {verdict.wrong} | {verdict.false} "
            f"| {'—' if kind == 'slack' else len(red)} | {ready.green_after(back):.1f} "
            f"| {caught_up:.0f} | {replies} | {max(used, default=0)} |"
        )


def watch_connections(server: Server, at_end: Callable[[Callable[[], None]], object]) -> list[int]:
    """Connections in use, twice a second, as far as the server tells."""
    used: list[int] = []
    stopping = threading.Event()

    def look() -> None:
        while not stopping.wait(0.5):
            try:
                with psycopg.connect(server.url, connect_timeout=2) as connection:
                    row = connection.execute(IN_USE).fetchone()
                    used.append(row[0] if row else 0)
            except psycopg.Error:
                continue

    threading.Thread(target=look, daemon=True).start()
    at_end(stopping.set)
    return used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mentions", type=int, default=240)
    parser.add_argument("kinds", nargs="*", default=list(FAULTS))
    options = parser.parse_args()
    print(
        "| fault | mentions | unanswered | twice | placeholders | wrong | false "
        "| ready in the outage | ready again (s) | all answered (s) | API | connections "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for kind in options.kinds:
        print(trial(kind, options.mentions), flush=True)


if __name__ == "__main__":
    main()
