"""A whole installation while its database, Slack or the model falters: everybody's last word.

    python -m benchmarks.outage_trial [--mentions 240] [restarted stalled exhausted …]

Three bots, two job runners and the API as they ship, on one PostgreSQL with 100 connections, with a
model's server and Slack over HTTP. Each fault begins after 20 seconds of mentions. In its middle a
bot is killed, and a runner where the database falters; a supervisor starts them again after two
seconds. The columns from `unanswered` to `false` should be 0."""

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
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import psycopg

from benchmarks.slack_faults import (
    ALWAYS,
    ANSWER,
    ROOT,
    TEXT,
    Model,
    cut_sockets,
    environment,
    ingested,
)
from playground.openai_stand_in import ModelFault, OpenAIStandIn
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import words
from tests.databases import Server, breakable_postgresql
from tests.outage_trial import (
    FALSE_WORDS,
    Crowd,
    Readiness,
    exhausted,
    free_port,
    limit_connections,
)

CONNECTIONS = 100
RATE = 1.5
BEFORE = 20.0
BOTS, RUNNERS = 3, 2
RESTART_SECONDS = 2.0
RIGHT = "Key Rotation Standard"
QUOTED = ("The language model isn't available right now", "The language model wasn't available")
WAITS = ("My database doesn't answer",)
"""What is only true while the database falters."""
IN_USE = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'oncall %'"
REFRESH = 'refresh: {cron: "* * * * *"}\n'


def is_right(text: str) -> bool:
    """The model's answer with its source, or a quotation that says why it is one."""
    return RIGHT in text and (ANSWER.partition(" [")[0] in text or is_quoted(text))


def is_quoted(text: str) -> bool:
    return any(words in text for words in QUOTED)


class Program:
    """One process of the copilot, with `/readyz` at `port`. It is started again when it ends."""

    def __init__(self, folder: Path, settings: dict[str, str], *command: str) -> None:
        self.port = free_port()
        self._environment = {
            **environment(folder), **settings, "ONCALL_DATA_DIR": str(folder / f"var-{self.port}"),
        }  # fmt: skip
        self._command = [sys.executable, "-m", "cli.main", *command, str(self.port)]
        self._log = folder / f"{command[0]}-{self.port}.log"
        self._stopping = threading.Event()
        self._process = self._started()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()

    def kill(self) -> None:
        self._process.kill()

    def stop(self) -> None:
        self._stopping.set()
        self._supervisor.join()
        self._process.kill()
        self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command, env=self._environment, cwd=ROOT, stdout=log, stderr=log
            )

    def _supervise(self) -> None:
        while not self._stopping.wait(0.1):
            if self._process.poll() is not None and not self._stopping.wait(RESTART_SECONDS):
                self._process = self._started()


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
            number = self.replies.total()
            self.replies[self._ask(f"{TEXT} (request {number})")] += 1

    def _ask(self, text: str) -> str:
        body = json.dumps({"query": text, "domain": "security"})
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


@dataclass(frozen=True)
class Stage:
    server: Server
    slack: SlackStandIn
    model: Model


@contextmanager
def restarted(stage: Stage) -> Iterator[float]:
    stage.server.stop()
    yield 5.0
    stage.server.start()


@contextmanager
def stalled(stage: Stage) -> Iterator[float]:
    stage.server.freeze()
    yield 40.0
    stage.server.thaw()


@contextmanager
def full(stage: Stage) -> Iterator[float]:
    with exhausted(stage.server.url):
        yield 30.0


@contextmanager
def slack_falters(stage: Stage) -> Iterator[float]:
    stage.slack.faults.add("*", status=429, retry_after=1, count=ALWAYS, every=4)
    stage.slack.faults.add("*", status=500, count=ALWAYS, every=5)
    yield 30.0
    stage.slack.faults.clear()


@contextmanager
def sockets_drop(stage: Stage) -> Iterator[float]:
    with cut_sockets(stage):
        yield 30.0


@contextmanager
def model_limits(stage: Stage) -> Iterator[float]:
    stage.model.fault = ModelFault(kind="status", status=429, retry_after=1)
    yield 30.0
    stage.model.fault = None


@contextmanager
def model_fails(stage: Stage) -> Iterator[float]:
    stage.model.fault = ModelFault(kind="status", status=500)
    yield 30.0
    stage.model.fault = None


DATABASE = {"restarted": restarted, "stalled": stalled, "exhausted": full}
MODEL = {"model: 429": model_limits, "model: 500": model_fails}
SLACK = {"Slack: 429 and 500": slack_falters, "Slack: sockets dropped": sockets_drop}
FAULTS = {**DATABASE, **MODEL, **SLACK}


@dataclass(frozen=True)
class Installation:
    bots: list[Program]
    runners: list[Program]
    api: Program

    @property
    def ports(self) -> list[int]:
        return [one.port for one in (*self.bots, *self.runners, self.api)]


def installed(stack: ExitStack, stage: Stage, model_url: str) -> Installation:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    os.environ["DATABASE_URL"] = stage.server.url
    ingested(folder)
    with (folder / "config/domains/security.yaml").open("a") as file:
        file.write(REFRESH)
    settings = {
        "SLACK_BOT_TOKEN": stage.slack.bot_token, "SLACK_APP_TOKEN": stage.slack.app_token,
        "SLACK_API_URL": stage.slack.api_url, "OPENAI_BASE_URL": model_url,
        "ONCALL_CHAT_MODEL": "scripted",
    }  # fmt: skip

    def program(*command: str) -> Program:
        one = Program(folder, settings, *command)
        stack.callback(one.stop)
        return one

    return Installation(
        [program("bot", "--health-port") for _ in range(BOTS)],
        [program("jobs", "run", "--health-port") for _ in range(RUNNERS)],
        program("serve", "--port"),
    )


def trial(kind: str, mentions: int) -> str:
    with ExitStack() as stack:
        server = stack.enter_context(breakable_postgresql())
        limit_connections(server, CONNECTIONS)
        slack = stack.enter_context(SlackStandIn(enforce_rate_limits=False))
        slack.retry_delays = (0.0, 60.0, 300.0)
        model = Model()
        served = stack.enter_context(OpenAIStandIn(model, before_piece=model.before_piece))
        stage = Stage(server, slack, model)
        machine = installed(stack, stage, served.base_url)
        ready = stack.enter_context(Readiness(machine.ports))
        ready.wait_until_ready(300)
        used = watch_connections(server, stack.callback)
        client = Client(machine.api.port)
        crowd = Crowd(slack, RATE, TEXT)
        crowd.ask_for(BEFORE)
        began = time.monotonic()
        with FAULTS[kind](stage) as seconds:
            crowd.ask_for(seconds / 2)
            machine.bots[0].kill()
            if kind in DATABASE:
                machine.runners[0].kill()
            crowd.ask_for(seconds / 2)
            ended = time.monotonic()
        back = time.monotonic()
        crowd.ask_for(max(0.0, (mentions - len(crowd.asked)) / RATE))
        caught_up = time.monotonic() - back + crowd.wait_until_answered(600)
        ready.wait_until_ready()
        client.stop()
        time.sleep(3)
        never = (*FALSE_WORDS, *(() if kind in MODEL else QUOTED))
        verdict = crowd.verdict(is_right, (*never, *(() if kind in DATABASE else WAITS)))
        quoted = sum(is_quoted(words(one)) for ts in crowd.asked for one in crowd.posts(ts))
        looks = len(ready.ready_within(began, ended)) if kind in DATABASE else "—"
        replies = ", ".join(f"{count} × {status}" for status, count in client.replies.items())
        return (
            f"| {kind} | {verdict.asked} | {verdict.unanswered} | {verdict.twice} "
            f"| {verdict.stale} | {verdict.wrong} | {verdict.false} | {quoted} "
            f"| {looks} | {ready.green_after(back):.1f} "
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
        "| fault | mentions | unanswered | twice | placeholders | wrong | false | quoted "
        "| ready in the outage | ready again (s) | all answered (s) | API | connections "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for kind in options.kinds:
        print(trial(kind, options.mentions), flush=True)


if __name__ == "__main__":
    main()
