"""Questions under faults: every one ends in an answer or an apology with a reference, once.

    python -m benchmarks.slack_faults [--questions 30] [--seconds 10] [--only NAME]

`oncall bot` as it ships, in a process of its own: real index, agents and streaming, against the
playground's Slack and a model server that takes its time. Each row starts from the same state."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request, Scripted
from playground.slack_stand_in import SlackStandIn

ROOT = Path(__file__).parents[1]
CHANNEL = "C0SECURITY"
TEXT = "how old may an API signing key on Restricted data get in Singapore?"
ANSWER = "An API signing key on Restricted data may be 60 days old in Singapore [1]. "
DOMAIN = f"""\
domain: security
title: Security help
channels: [{CHANNEL}]
sources: {{files: [{ROOT}/playground/demo/security/key-rotation-standard.md]}}
limits: {{questions_per_user_per_hour: 1000000}}
"""
ALWAYS = 10**9
PATIENCE = 600.0
"""Seconds until a question without an end counts as silent."""
LATER = 5.0
"""Seconds in which a second answer would show."""


class HasSlack(Protocol):
    @property
    def slack(self) -> SlackStandIn: ...


@dataclass(frozen=True)
class Stage:
    slack: SlackStandIn
    model: Model


class Model:
    """Plans nothing, writes a sentence in a second; fails on demand."""

    def __init__(self) -> None:
        self.fault: ModelFault | None = None

    def __call__(self, request: Request) -> Scripted:
        if self.fault:
            return self.fault
        if request.name == "plan":
            return {"question": "", "kind": "in_domain"}
        return {"documents": []} if request.name == "sources" else ANSWER * 2

    def before_piece(self, so_far: str) -> None:
        time.sleep(0.1)


def limits(stage: Stage) -> None:
    stage.slack.faults.add("*", status=429, retry_after=1, count=ALWAYS, every=2)


def errors(stage: Stage) -> None:
    stage.slack.faults.add("*", status=500, count=ALWAYS, every=3)


def lost_replies(stage: Stage) -> None:
    stage.slack.faults.add("*", drop_response=True, count=ALWAYS, every=4)


def expired_streams(stage: Stage) -> None:
    stage.slack.workspace.stream_lifetime = 1.0


def no_model(stage: Stage) -> None:
    stage.model.fault = ModelFault(kind="status", status=500)


@contextmanager
def cut_sockets(stage: HasSlack, seconds: float = 2.0) -> Iterator[None]:
    """Every connection is cut again and again, without a word."""
    over = threading.Event()

    def cut() -> None:
        while not over.wait(seconds):
            stage.slack.drop_sockets()

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def everything(stage: Stage) -> Iterator[None]:
    errors(stage)
    expired_streams(stage)
    no_model(stage)
    stage.slack.faults.add("*", status=429, retry_after=1, count=ALWAYS, every=4)
    with cut_sockets(stage):
        yield


FAULTS: dict[str, Callable[[Stage], Any]] = {
    "nothing": lambda stage: None,
    "every second call: 429, Retry-After 1": limits,
    "every third call: 500": errors,
    "every fourth reply lost": lost_replies,
    "streams expire after 1 s": expired_streams,
    "socket cut every 2 s": cut_sockets,
    "model server down": no_model,
    "all of it at once": everything,
}


@dataclass
class Result:
    fault: str
    questions: int
    answered: int = 0
    apologised: int = 0
    silent: int = 0
    twice: int = 0
    seconds: float = 0.0


def endure(fault: str, state: Path, *, questions: int, seconds: float) -> Result:
    model = Model()
    with (
        tempfile.TemporaryDirectory() as folder,
        SlackStandIn(enforce_rate_limits=False) as slack,
        OpenAIStandIn(model, before_piece=model.before_piece) as server,
        ExitStack() as trouble,
    ):
        shutil.copytree(state, folder, dirs_exist_ok=True)
        with running(slack, server, Path(folder)):
            made = FAULTS[fault](Stage(slack, model))
            if made is not None:
                trouble.enter_context(made)
            began = time.monotonic()
            asked = []
            for number in range(questions):
                time.sleep(max(0.0, began + number * seconds / questions - time.monotonic()))
                text = f"<@{slack.bot_user_id}> {TEXT} ({number})"
                asked.append(slack.post_as_user(CHANNEL, text))
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and not all(ended(slack, ts) for ts in asked):
                time.sleep(0.25)
            result = Result(fault, questions, seconds=time.monotonic() - began)
            time.sleep(LATER)
        for ts in asked:
            ends = ended(slack, ts)
            result.apologised += any("Reference: `" in str(m["text"]) for m in ends)
            result.silent += not ends
            result.twice += len(said(slack, ts)) > 1
        result.answered = questions - result.apologised - result.silent
    return result


def said(slack: SlackStandIn, ts: str) -> list[dict[str, Any]]:
    return [m for m in slack.thread(CHANNEL, ts) if m.get("user") == slack.bot_user_id]


def ended(slack: SlackStandIn, ts: str) -> list[dict[str, Any]]:
    """The bot's messages in the thread that are no placeholders."""
    return [m for m in said(slack, ts) if "'state': 'answered'" in str(m.get("metadata"))]


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ONCALL_CONFIG_DIR": str(folder / "config"),
        "ONCALL_DATA_DIR": str(folder / "var"),
    }


def ingested(folder: Path) -> Path:
    """What every row starts from: one document, published."""
    domains = folder / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "security.yaml").write_text(DOMAIN)
    command = [sys.executable, "-m", "cli.main", "ingest", "security"]
    subprocess.run(command, env=environment(folder), cwd=ROOT, check=True, capture_output=True)
    return folder


@contextmanager
def running(slack: SlackStandIn, server: OpenAIStandIn, folder: Path) -> Iterator[None]:
    """`oncall bot`, connected; killed at the end."""
    settings = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "OPENAI_BASE_URL": server.base_url,
        "ONCALL_CHAT_MODEL": "scripted",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "bot", "--health-port", "0"],
        env={**environment(folder), **settings}, cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        slack.wait_for(lambda: slack.online, 60)
        yield
    finally:
        process.kill()
        process.wait()


def table(results: list[Result]) -> str:
    rows = [
        "| fault | questions | answered | apologised, with reference | silent | twice "
        "| all done after |",
        "|---|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {r.fault} | {r.questions} | {r.answered} | {r.apologised} | {r.silent} | {r.twice} "
        f"| {r.seconds:.0f} s |"
        for r in results
    ]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", choices=list(FAULTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = ingested(Path(folder))
        names = [given.only] if given.only else list(FAULTS)
        print(
            table(
                [
                    endure(name, state, questions=given.questions, seconds=given.seconds)
                    for name in names
                ]
            )
        )


if __name__ == "__main__":
    main()
