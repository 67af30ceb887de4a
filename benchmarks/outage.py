"""The database away while three workers answer: every question once, and how soon again.

    python -m benchmarks.outage [--seconds 60]

A question comes every second, before, during and after. Slack is a stand-in that sends an event
again when it was not acknowledged, as Slack does: after a minute, and after five."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import said, up, worker
from tests.databases import Server, breakable_postgresql
from tests.outage_trial import free_port

WORKERS = 3
THINK_SECONDS = "1.5"


def ready(port: int) -> tuple[bool, str]:
    """(whether a worker says that it is ready, what is missing)."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
            return True, ""
    except urllib.error.HTTPError as error:
        return False, str(json.load(error)["detail"])
    except OSError as error:
        return False, type(error).__name__


def metrics_answer(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as page:
            return b"oncall_ready" in page.read()
    except OSError:
        return False


class Crowd:
    """Asks once a second."""

    def __init__(self, slack: SlackStandIn) -> None:
        self._slack = slack
        self.asked: dict[str, float] = {}

    def ask_for(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            text = f"<@{self._slack.bot_user_id}> question {len(self.asked)}"
            self.asked[self._slack.post_as_user(CHANNEL, text)] = time.monotonic()
            each()
            time.sleep(1)

    def answered(self) -> int:
        return sum(any(map(answered, said(self._slack, ts))) for ts in self.asked)


def restart(server: Server, seconds: float) -> Callable[[], None]:
    """Under load, again and again, as often as fits."""
    ends = time.monotonic() + seconds

    def once() -> None:
        if time.monotonic() < ends:
            server.stop()
            server.start()

    return once


def trial(kind: str, seconds: float) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(breakable_postgresql())
        slack = SlackStandIn().start()
        stack.callback(slack.stop)
        slack.api.enforce_rate_limits = False
        slack.retry_delays = (0.0, 60.0, 300.0)
        ports = [free_port() for _ in range(WORKERS)]
        workers: list[subprocess.Popen[str]] = []
        for place, port in enumerate(ports):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            told = {"DATABASE_URL": server.url, "HEALTH_PORT": str(port)}
            one = worker(slack, folder, THINK_SECONDS=THINK_SECONDS, **told)
            workers.append(stack.enter_context(one))
            up(workers[place])
        crowd, red, figures = Crowd(slack), [0, 0], [0, 0]

        def watch() -> None:
            living = ports[1:] if workers[0].poll() is not None else ports
            red[0] += sum(not ready(port)[0] for port in living)
            figures[0] += sum(metrics_answer(port) for port in living)
            red[1] += len(living)
            figures[1] += len(living)

        crowd.ask_for(10)
        before = len(crowd.asked)
        if kind == "hung":
            server.freeze()
        elif kind != "restarted":
            server.stop()
        if kind == "killed":
            crowd.ask_for(5)
            workers[0].send_signal(signal.SIGKILL)
            workers[0].wait()
        time.sleep(3)  # readiness looks every second
        again = restart(server, seconds) if kind == "restarted" else watch
        crowd.ask_for(seconds, again)
        told = ready(ports[-1])[1]
        during = len(crowd.asked)
        back = time.monotonic()
        if kind == "hung":
            server.thaw()
        elif kind != "restarted":
            server.start()
        started = crowd.answered()
        while crowd.answered() == started and time.monotonic() < back + 120:
            time.sleep(0.1)
        first = time.monotonic() - back
        while not all(ready(port)[0] for port in ports[-2:]) and time.monotonic() < back + 120:
            time.sleep(0.1)
        green = time.monotonic() - back
        while crowd.answered() < during and time.monotonic() < back + 400:
            time.sleep(0.2)
        caught_up = time.monotonic() - back
        crowd.ask_for(3)
        while crowd.answered() < len(crowd.asked) and time.monotonic() < back + 400:
            time.sleep(0.2)
        time.sleep(3)
        posts = [len(said(slack, ts)) for ts in crowd.asked]
        print(
            f"| {kind} | {before} + {during - before} + {len(posts) - during} | "
            f"{crowd.answered()} | {sum(count > 1 for count in posts)} | "
            f"{red[0]}/{red[1]} | {figures[0]}/{figures[1]} | "
            f"{first:.1f} | {green:.1f} | {caught_up:.1f} | {told} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("kinds", nargs="*", default=["stopped", "hung", "restarted", "killed"])
    options = parser.parse_args()
    print(
        "| database | asked before, during, after | answered | twice | not ready, of looks "
        "| metrics answered | first answer after (s) | ready after (s) | all asked in it answered "
        "after (s) | told |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for kind in options.kinds:
        trial(kind, options.seconds)


if __name__ == "__main__":
    main()
