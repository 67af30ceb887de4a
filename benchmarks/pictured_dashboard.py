"""The dashboard drawn from a real Prometheus that scraped two bots and a jobs runner under load.

    python -m benchmarks.pictured_dashboard [--minutes 8] [--out docs/operations/dashboard.svg]

Two bots and a jobs runner work on the demo with a PostgreSQL of their own; golden questions come
in from Slack's stand-in, a scripted model writes the answers. Half way the database goes away for
75 seconds, later the model refuses for a minute. Needs `prometheus` on the path, and prints which
alerts fired."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import yaml

from benchmarks.outage import free_port, ready
from bot.blocks.render import FEEDBACK
from docs.dashboard_panels import ROWS
from docs.dashboard_picture import Prometheus, picture
from playground.google_stand_in import GoogleStandIn
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request
from playground.slack_stand_in import NoAnswerError, SlackStandIn
from tests.bot.conftest import answered
from tests.databases import breakable_postgresql

ROOT = Path(__file__).parents[1]
CHANNELS = {"security": "C0SECURITY", "privacy": "C0PRIVACY", "platform": "C0PLATFORM"}
SCRAPE_SECONDS = 5
DATABASE_AWAY_SECONDS = 75.0
MODEL_REFUSES_SECONDS = 60.0
_SOURCE = re.compile(r"<\S+ source (\d+) \|.*?>\n(.*?)\n</", re.DOTALL)
_SENTENCE = re.compile(r"[A-Z][^.|\n]{30,200}\.")
_WORD = re.compile(r"\w{4,}")


class Model:
    """Quotes the sentence that shares most words with the question; refuses while it is told to."""

    def __init__(self) -> None:
        self.refuses = False

    def __call__(self, request: Request) -> str | dict[str, object] | ModelFault:
        if self.refuses:
            return ModelFault(kind="status", status=429, retry_after=1.0, message="over quota")
        time.sleep(random.uniform(0.2, 0.9))
        if request.name == "plan":
            return {"question": "", "kind": "in_domain"}
        if request.name == "sources":
            return {"documents": []}
        asked = {*_WORD.findall(request.text.rpartition(" question>")[2].lower())}
        shared, quote = max(
            (
                (len(asked.intersection(_WORD.findall(sentence.lower()))), f"{sentence} [{number}]")
                for number, passage in _SOURCE.findall(request.text)
                for sentence in _SENTENCE.findall(passage)
            ),
            default=(0, ""),
        )
        return f"ANSWER\n{quote}" if shared > 1 else "NOTHING\nThe documents don't say."


class Crowd(threading.Thread):
    """Asks golden questions of all domains, and says of some answers whether they helped."""

    def __init__(self, slack: SlackStandIn, pause_seconds: float) -> None:
        super().__init__(daemon=True)
        self._slack, self._pause, self._chance = slack, pause_seconds, random.Random(7)
        self.ended = threading.Event()
        self.asked: list[tuple[str, str]] = []
        self._questions = [
            (CHANNELS[file.stem], str(one["question"]))
            for file in sorted((ROOT / "playground" / "demo" / "golden").glob("*.yaml"))
            for one in yaml.safe_load(file.read_text("utf-8"))
        ]

    def run(self) -> None:
        while not self.ended.wait(self._chance.expovariate(1 / self._pause)):
            channel, question = self._chance.choice(self._questions)
            text = f"<@{self._slack.bot_user_id}> {question}"
            self.asked.append((channel, self._slack.post_as_user(channel, text)))
            if self._chance.random() < 0.3:
                self._judge(*self._chance.choice(self.asked[-40:]))

    def _judge(self, channel: str, thread: str) -> None:
        for message in self._slack.thread(channel, thread):
            if answered(message):
                verdict = "helpful" if self._chance.random() < 0.8 else "unhelpful"
                button = re.search(rf'"({verdict} [^"]+)"', json.dumps(message))
                with suppress(NoAnswerError):  # a worker that waits for its database
                    if button:
                        chosen = {"value": button[1]}
                        self._slack.click(channel, message["ts"], FEEDBACK, chosen=chosen)


def domains_with_a_schedule(folder: Path) -> None:
    (folder / "domains").mkdir(parents=True)
    for file in (ROOT / "config" / "domains").glob("*.yaml"):
        text = file.read_text("utf-8").replace("../../playground", str(ROOT / "playground"))
        (folder / "domains" / file.name).write_text(text + '\nrefresh: "*/2 * * * *"\n', "utf-8")


@contextmanager
def process(log: Path, command: list[str], told: Mapping[str, str]) -> Iterator[None]:
    with log.open("w") as said:
        running = subprocess.Popen(
            command, env={**os.environ, **told}, cwd=ROOT, stdout=said, stderr=said
        )
        try:
            yield
        finally:
            running.terminate()
            try:
                running.wait(30)
            except subprocess.TimeoutExpired:
                running.kill()


def prometheus_settings(folder: Path, jobs: Mapping[str, list[int]]) -> Path:
    made = {
        "global": {
            "scrape_interval": f"{SCRAPE_SECONDS}s",
            "evaluation_interval": f"{SCRAPE_SECONDS}s",
        },
        "rule_files": [str(ROOT / "docs" / "operations" / "alerts.yaml")],
        "scrape_configs": [
            {
                "job_name": job,
                "static_configs": [
                    {"targets": [f"127.0.0.1:{port}"], "labels": {"instance": f"{job}-{number}"}}
                    for number, port in enumerate(ports, start=1)
                ],
            }
            for job, ports in jobs.items()
        ],
    }
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(made), "utf-8")
    return file


def wait_until_ready(*ports: int) -> None:
    ends = time.monotonic() + 240
    while not all(ready(port)[0] for port in ports):
        if time.monotonic() > ends:
            raise TimeoutError({port: ready(port)[1] for port in ports})
        time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between questions")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "operations" / "dashboard.svg")
    parser.add_argument("--keep", type=Path, help="folder for logs and Prometheus' data")
    options = parser.parse_args()
    model = Model()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="dashboard"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        logs = options.keep or folder
        logs.mkdir(parents=True, exist_ok=True)
        server = stack.enter_context(breakable_postgresql())
        google = stack.enter_context(GoogleStandIn(port=0))
        slack = stack.enter_context(SlackStandIn(port=0, enforce_rate_limits=False))
        scripted = stack.enter_context(OpenAIStandIn(model))
        domains_with_a_schedule(folder / "config")
        first, second, jobs, page = (free_port() for _ in range(4))
        common = {
            "ONCALL_DATA_DIR": str(folder / "data"),
            "ONCALL_CONFIG_DIR": str(folder / "config"),
            "DATABASE_URL": server.url,
            "SLACK_API_URL": slack.api_url,
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "GOOGLE_API_URL": google.url,
            "GOOGLE_APPLICATION_CREDENTIALS": str(google.write_credentials(folder / "key.json")),
        }
        asking = {
            "OPENAI_BASE_URL": scripted.base_url,
            "OPENAI_API_KEY": "none",
            "ONCALL_CHAT_MODEL": "scripted",
            "ONCALL_PRICES": "0.15/0.60",
        }
        oncall = [sys.executable, "-c", "from cli.main import main; main()"]

        def start(name: str, command: list[str], told: Mapping[str, str]) -> None:
            stack.enter_context(process(logs / f"{name}.log", command, {**common, **told}))

        first_run = subprocess.run(
            [*oncall, "ingest", "--json"],
            env={**os.environ, **common},
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        first_run.check_returncode()
        start("jobs", [*oncall, "jobs", "run", "--health-port", str(jobs)], {})
        for name, port in (("bot1", first), ("bot2", second)):
            start(name, [*oncall, "bot", "--health-port", str(port)], asking)
        settings = prometheus_settings(
            folder, {"oncall-bot": [first, second], "oncall-jobs": [jobs]}
        )
        prometheus = [
            "prometheus",
            f"--config.file={settings}",
            f"--storage.tsdb.path={logs / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{page}",
        ]
        start("prometheus", prometheus, {})
        wait_until_ready(first, second, jobs)
        began = time.time()
        crowd = Crowd(slack, options.pause)
        crowd.start()
        seconds = options.minutes * 60
        time.sleep(seconds * 0.35)
        server.stop()
        time.sleep(DATABASE_AWAY_SECONDS)
        server.start()
        time.sleep(max(0.0, began + seconds * 0.7 - time.time()))
        model.refuses = True
        time.sleep(MODEL_REFUSES_SECONDS)
        model.refuses = False
        time.sleep(max(0.0, began + seconds - time.time()))
        asked = Prometheus(f"http://127.0.0.1:{page}", since=began, until=time.time())
        options.out.write_text(picture(ROWS, asked), "utf-8")
        fired = asked.now('max_over_time(ALERTS{alertstate="firing"}[1h])')
        crowd.ended.set()
        time.sleep(5)
        replied = sum(any(map(answered, slack.thread(*one))) for one in crowd.asked)
        print(f"asked {len(crowd.asked)}, answered {replied}")
        print(json.dumps([labels for labels, _ in fired], indent=1))


if __name__ == "__main__":
    main()
