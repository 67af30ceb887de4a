"""A burst of mentions: this bot, and Slack's sample pattern, under the same fire.

    python -m benchmarks.slack_burst [--questions 200] [--seconds 10] [--latency 5] [--limits]
    python -m benchmarks.slack_burst --kills 30    the bot killed at random moments under load

Faults of Slack and of the model: `python -m benchmarks.slack_faults`.

The app runs in a process of its own against the playground's Slack. An ack is timed from the
moment Slack sends the envelope until it has the acknowledgement. The sample pattern is a Bolt
listener that answers in the listener, as Slack's Python samples do."""

from __future__ import annotations

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from playground.slack_stand_in import SlackStandIn

CHANNEL = "C0SECURITY"
TEXT = "how often do we rotate signing keys?"
ACK_LIMIT = 3.0
"""Seconds; Slack sends the event again after that."""


@dataclass
class Result:
    app: str
    acks: list[float] = field(default_factory=list)
    answered: int = 0
    lost: int = 0
    twice: int = 0
    seconds: float = 0.0
    memory_before: float = 0.0
    memory_peak: float = 0.0
    memory_after: float = 0.0


def burst(app: str, *, questions: int, seconds: float, latency: float, limits: bool) -> Result:
    result = Result(app=app)
    with (
        SlackStandIn(enforce_rate_limits=limits) as slack,
        tempfile.TemporaryDirectory() as folder,
        running(app, slack, latency, folder) as process,
    ):
        timed(slack, result.acks)
        result.memory_before = memory(process.pid)
        began = time.monotonic()
        asked = []
        for number in range(questions):
            time.sleep(max(0.0, began + number * seconds / questions - time.monotonic()))
            asked.append(slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> {TEXT} ({number})"))
            result.memory_peak = max(result.memory_peak, memory(process.pid))
        deadline = time.monotonic() + (900 if limits else 240)
        while time.monotonic() < deadline and len(answers(slack)) < len(asked):
            result.memory_peak = max(result.memory_peak, memory(process.pid))
            time.sleep(0.25)
        result.seconds = time.monotonic() - began
        time.sleep(ACK_LIMIT + 2)  # for answers to events that were sent again
        result.memory_after = memory(process.pid)
        _count(result, asked, slack)
    return result


def killed(app: str, *, kills: int, latency: float) -> Result:
    """Every event three times and out of order, kill -9 at random moments, restart at once."""
    result = Result(app=f"{app}, killed {kills} times")
    stop = threading.Event()
    asked: list[str] = []
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        tempfile.TemporaryDirectory() as folder,
    ):
        slack.retry_delays = (0.5, 1.0, *[2.0] * 30)  # Slack's own take six minutes
        slack.faults.deliver_times, slack.faults.scatter = 3, 2.0

        def ask() -> None:
            while not stop.wait(random.uniform(0.1, 0.6)):
                text = f"<@{slack.bot_user_id}> {TEXT} ({len(asked)})"
                asked.append(slack.post_as_user(CHANNEL, text))

        asker = threading.Thread(target=ask)
        asker.start()
        began = time.monotonic()
        for _ in range(kills):
            with running(app, slack, latency, folder):
                time.sleep(random.uniform(0.0, 2 * latency))
        stop.set()
        asker.join()
        with running(app, slack, latency, folder) as process:
            deadline = time.monotonic() + 240
            while time.monotonic() < deadline and len(answers(slack)) < len(asked):
                time.sleep(0.5)
            result.seconds = time.monotonic() - began
            time.sleep(10)
            result.memory_after = memory(process.pid)
        _count(result, asked, slack)
    return result


def _count(result: Result, asked: list[str], slack: SlackStandIn) -> None:
    found = answers(slack)
    posts = Counter(
        str(message["thread_ts"])
        for message in slack.messages(CHANNEL)
        if message.get("user") == slack.bot_user_id
    )
    result.answered = sum(1 for ts in asked if found[ts])
    result.lost = len(asked) - result.answered
    result.twice = sum(1 for ts in asked if posts[ts] > 1)


def answers(slack: SlackStandIn) -> Counter[str]:
    """Question's ts → finished answers in its thread."""
    return Counter(
        str(message["thread_ts"])
        for message in slack.messages(CHANNEL)
        if message.get("user") == slack.bot_user_id and "90 days." in str(message.get("text"))
    )


def timed(slack: SlackStandIn, acks: list[float]) -> None:
    """Record how long each mention waits for its ack; none in time counts as three seconds."""
    send = slack.sockets.send

    async def measured(payload: dict[str, Any], attempt: int, reason: str) -> Any:
        began = time.monotonic()
        outcome = await send(payload, attempt, reason)
        if payload.get("event", {}).get("type") == "app_mention" and attempt == 0:
            acks.append(time.monotonic() - began)
        return outcome

    slack.sockets.send = measured  # type: ignore[method-assign]  # a stopwatch around the real one


@contextmanager
def running(
    app: str, slack: SlackStandIn, latency: float, folder: str
) -> Iterator[subprocess.Popen[str]]:
    """The app in a process of its own, up; killed at the end."""
    environment = {
        **os.environ,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ONCALL_DATA_DIR": folder,
    }
    command = [sys.executable, "-m", "benchmarks.slack_burst", "--as", app]
    process = subprocess.Popen(
        [*command, "--latency", str(latency)], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) and line.strip() != "up":
            pass
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield process
    finally:
        process.kill()
        process.wait()


def memory(pid: int) -> float:
    """Resident megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def be_the_bot(latency: float, *, streaming: bool = False) -> None:
    from agents.answer import Answer, Ask, Question
    from benchmarks.material.bare_bot import bare_bot
    from config.domain import Domain
    from config.settings import Settings
    from index.store.database import open_database

    def ask(question: Question, progress: Any) -> Answer:
        for word in ("Every ", "90 ", "days, ") if streaming else ():
            progress.delta(word)
            time.sleep(latency / 4)
        time.sleep(latency / 4 if streaming else latency)
        return Answer(text="Every 90 days.", path="company_specific_rag_success", confidence=0.9)

    def ask_of(domain: str) -> Ask:
        return ask

    limits = {"questions_per_user_per_hour": 10**6, "questions_per_channel_per_hour": 10**6}
    domain = Domain.model_validate(
        {
            "domain": "security", "title": "Security", "channels": [CHANNEL], "sources": {},
            "limits": limits,
        }
    )  # fmt: skip
    settings = Settings()
    bot = bare_bot(settings, domain, open_database(settings), ask_of, streaming=streaming)
    bot.start()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    bot.stop_on_signals()
    bot.wait()


def be_the_sample(latency: float) -> None:
    from slack_bolt import App
    from slack_bolt.adapter.socket_mode import SocketModeHandler
    from slack_sdk import WebClient

    token = os.environ["SLACK_BOT_TOKEN"]
    app = App(client=WebClient(token=token, base_url=os.environ["SLACK_API_URL"]))

    @app.event("app_mention")
    def answer(event: dict[str, Any], say: Any) -> None:
        time.sleep(latency)
        say(text="Every 90 days.", thread_ts=event["ts"])

    @app.event("message")
    def ignore() -> None:
        """Every mention is a message, too."""

    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).connect()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    threading.Event().wait()


APPS = {
    "bot": be_the_bot,
    "bot, streaming": partial(be_the_bot, streaming=True),
    "sample": be_the_sample,
}


def table(results: list[Result]) -> str:
    rows = [
        "| | ack p50 | ack p99 | slowest ack | over 3 s | answered | lost | twice | all done after "
        "| memory before / peak / after |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        acks = sorted(r.acks)
        if not acks:
            rows.append(
                f"| {r.app} | – | – | – | – | {r.answered} | {r.lost} | {r.twice} "
                f"| {r.seconds:.0f} s | – / – / {r.memory_after:.0f} MB |"
            )
            continue
        p50, p99 = acks[len(acks) // 2], acks[min(len(acks) - 1, int(len(acks) * 0.99))]
        late = sum(1 for ack in acks if ack >= ACK_LIMIT)
        rows.append(
            f"| {r.app} | {p50 * 1000:.0f} ms | {p99 * 1000:.0f} ms | {acks[-1] * 1000:.0f} ms "
            f"| {late} | {r.answered} | {r.lost} | {r.twice} | {r.seconds:.0f} s "
            f"| {r.memory_before:.0f} / {r.memory_peak:.0f} / {r.memory_after:.0f} MB |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--latency", type=float, default=5.0)
    parser.add_argument("--limits", action="store_true", help="with Slack's rate limits")
    parser.add_argument("--only", choices=APPS)
    parser.add_argument("--as", dest="role", choices=APPS, help=argparse.SUPPRESS)
    parser.add_argument("--kills", type=int, default=0, help="kill the bot this often instead")
    given = parser.parse_args()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # of sockets whose app was killed
    if given.role:
        APPS[given.role](given.latency)
        return
    if given.kills:
        apps = [given.only] if given.only else ["bot", "bot, streaming"]
        print(table([killed(app, kills=given.kills, latency=given.latency) for app in apps]))
        return
    results = [
        burst(
            app, questions=given.questions, seconds=given.seconds, latency=given.latency,
            limits=given.limits,
        )
        for app in ([given.only] if given.only else ["bot", "sample"])
    ]  # fmt: skip
    print(table(results))


if __name__ == "__main__":
    main()
