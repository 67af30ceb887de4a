"""A storm of alerts: how soon each kind is answered, what Slack is sent, and whether people wait.

    python -m benchmarks.alert_storm [--messages 500] [--seconds 60] [--kills 3]

The bot runs in a process of its own against the playground's Slack with its rate limits, over a
catalogue of alerts that is made here. While it storms, somebody asks a question every ten seconds.
A kind is answered when its reply stands below one of its messages, mostly the first, as workers
take them in any order; *counted* is what the database knows at the end. With `--kills` the bot is
killed so often on the way."""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playground.slack_stand_in import SlackStandIn

CHANNEL = "C0PLATFORM"
ASKS_EVERY = 10.0
DOMAIN = f"""\
domain: platform
title: Platform help
channels: [{CHANNEL}]
sources: {{files: [platform]}}
answer: {{alert_bots: [B0BEACON]}}
"""
HEAD = """---
id: alert-catalogue
title: Alert Catalogue
owner: Platform Reliability (PRE)
---
# Alert Catalogue

| Alert | Opens as | First step |
|---|---|---|
"""
WORDS = ("Amber", "Birch", "Cedar", "Delta", "Ember", "Frost", "Grove", "Haven")


@dataclass(frozen=True)
class Storm:
    kinds: int
    known: bool
    """Whether there is a runbook for them."""

    @property
    def label(self) -> str:
        return str(self.kinds) if self.known else f"{self.kinds} unknown"

    def name(self, number: int) -> str:
        digits = (number // 8**place % 8 for place in range(4))
        return "".join(WORDS[digit] for digit in digits) + "Down"


STORMS = {
    one.label: one for one in (Storm(5, True), Storm(50, True), Storm(500, True), Storm(500, False))
}


@dataclass
class Seen:
    storm: Storm
    kills: int
    first: list[float] = field(default_factory=list)
    """Seconds from a kind's first message to its answer."""
    people: list[float] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    twice: int = 0
    counted: int = 0


def stormed(storm: Storm, *, messages: int, seconds: float, kills: int) -> Seen:
    seen = Seen(storm=storm, kills=kills)
    with SlackStandIn() as slack, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kills:
            slack.retry_delays = (0.5, 1.0, *[2.0] * 30)  # Slack's own take six minutes
        _publish(folder, storm)
        _count_calls(slack, seen.calls)
        stop = threading.Event()
        bot = threading.Thread(target=_keep_up, args=(slack, folder, stop, kills, seconds))
        bot.start()
        slack.wait_for(lambda: slack.online, timeout=60)
        _asked(slack, "is anybody there?")  # warm, as a bot in service is
        seen.calls.clear()
        asker = threading.Thread(target=_ask, args=(slack, seconds, seen.people))
        asker.start()
        began, sent = time.monotonic(), list[tuple[str, str]]()
        for number in range(messages):
            time.sleep(max(0.0, began + number * seconds / messages - time.monotonic()))
            alert = storm.name(number % storm.kinds)
            text = f"[FIRING:1] {alert}\nLabels:\n - alertname = {alert}\n - pod = p{number}"
            sent.append((alert, slack.post_as_app(CHANNEL, text)))
        wanted = min(storm.kinds, messages) if storm.known else 5
        deadline = time.monotonic() + 1_200
        while time.monotonic() < deadline and not _is_done(slack, folder, sent, wanted, messages):
            time.sleep(1.0)
        asker.join()
        stop.set()
        bot.join()
        found, began_at = _answers(slack, sent), dict(reversed(sent))
        seen.first = sorted(
            float(one[0]["ts"]) - float(began_at[alert]) for alert, one in found.items()
        )
        seen.twice = sum(len(one) > 1 for one in found.values())
        seen.counted = _counted(folder)
    return seen


def _is_done(
    slack: SlackStandIn,
    folder: Path,
    sent: list[tuple[str, str]],
    wanted: int,
    messages: int,
) -> bool:
    """And all that is to be shown is."""
    if len(_answers(slack, sent)) < wanted or _counted(folder) < messages:
        return False
    return _rows(folder, "bot_timers") == 0


def _answers(slack: SlackStandIn, sent: list[tuple[str, str]]) -> dict[str, list[dict[str, Any]]]:
    """By the kind that they are for."""
    kinds, found = {ts: alert for alert, ts in sent}, dict[str, list[dict[str, Any]]]()
    for message in slack.messages(CHANNEL):
        kind = kinds.get(str(message.get("thread_ts")))
        if kind and message.get("user") == slack.bot_user_id:
            found.setdefault(kind, []).append(message)
    return found


def _publish(folder: Path, storm: Storm) -> None:
    from oncall import Copilot

    at = folder / "config/domains/platform"
    at.mkdir(parents=True)
    at.with_suffix(".yaml").write_text(DOMAIN)
    names = [storm.name(number) for number in range(storm.kinds)] if storm.known else ["Other"]
    rows = "".join(f"| `{one}` | SEV3 | Restart the relay of {one} |\n" for one in names)
    (at / "catalogue.md").write_text(HEAD + rows, "utf-8")
    copilot = Copilot(_settings(folder))
    failed = copilot.ingest("platform").failed
    assert not failed, failed
    copilot.index.close()


def _settings(folder: Path) -> Any:
    from config.settings import Settings

    places = {"config_dir": folder / "config", "data_dir": folder / "var"}
    return Settings(_env_file=None).model_copy(update=places)


def _counted(folder: Path) -> int:
    return _rows(folder, "bot_alert_occurrences")


def _rows(folder: Path, table: str) -> int:
    from sqlalchemy import create_engine, func, select, text

    engine = create_engine(f"sqlite:///{folder / 'var/oncall.db'}", connect_args={"timeout": 30})
    with engine.connect() as connection:
        found = connection.scalar(select(func.count()).select_from(text(table)))
    engine.dispose()
    return int(found or 0)


def _count_calls(slack: SlackStandIn, calls: Counter[str]) -> None:
    wait = slack.api.limits.wait

    def told(method: str, channel: str) -> int:
        seconds = wait(method, channel)
        calls.update([method] if not seconds else ["429"])
        return seconds

    slack.api.limits.wait = told  # type: ignore[method-assign]  # a counter around the real one


def _ask(slack: SlackStandIn, seconds: float, waited: list[float]) -> None:
    for number in range(int(seconds / ASKS_EVERY)):
        time.sleep(ASKS_EVERY)
        waited.append(_asked(slack, f"who owns the alert catalogue? ({number})"))


def _asked(slack: SlackStandIn, text: str) -> float:
    """Seconds until it was answered."""
    began = time.monotonic()
    ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> {text}")
    slack.wait_for_reply(CHANNEL, ts, timeout=600, until=_is_answer)
    return time.monotonic() - began


def _is_answer(message: dict[str, Any]) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload", {})
    return payload.get("state") == "answered"


def _keep_up(
    slack: SlackStandIn, folder: Path, stop: threading.Event, kills: int, seconds: float
) -> None:
    for _ in range(kills):
        with _running(slack, folder):
            stop.wait(seconds / (kills + 1))
    with _running(slack, folder):
        stop.wait()


@contextmanager
def _running(slack: SlackStandIn, folder: Path) -> Iterator[None]:
    environment = {
        **os.environ,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ONCALL_CONFIG_DIR": str(folder / "config"),
        "ONCALL_DATA_DIR": str(folder / "var"),
    }
    command = [sys.executable, "-m", "benchmarks.alert_storm", "--be-the-bot"]
    process = subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) and line.strip() != "up":
            pass
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield
    finally:
        process.kill()
        process.wait()


def be_the_bot() -> None:
    from config.settings import Settings
    from oncall import Copilot

    bot = Copilot(Settings()).bot()
    bot.start()
    bot.stop_on_signals()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    bot.wait()


def table(found: list[Seen], messages: int) -> str:
    rows = [
        "| kinds | runbook | killed | first answer p50 / p95 / last | answered | twice | counted "
        "| posts | updates | refused by Slack (429) | people waited p50 / longest |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        p50, p95, last = (_at(one.first, share) for share in (0.5, 0.95, 1.0))
        rows.append(
            f"| {one.storm.kinds} | {'yes' if one.storm.known else 'none'} | {one.kills} "
            f"| {p50} / {p95} / {last} | {len(one.first)} | {one.twice} "
            f"| {one.counted} of {messages} | {one.calls['chat.postMessage']} "
            f"| {one.calls['chat.update']} | {one.calls['429']} "
            f"| {_at(sorted(one.people), 0.5)} / {_at(sorted(one.people), 1.0)} |"
        )
    return "\n".join(rows)


def _at(waits: list[float], share: float) -> str:
    return f"{waits[min(len(waits) - 1, int(len(waits) * share))]:.1f} s" if waits else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=STORMS, action="append", help="of so many kinds")
    parser.add_argument("--kills", type=int, default=0, help="kill the bot this often on the way")
    parser.add_argument("--be-the-bot", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # of sockets whose app was killed
    if given.be_the_bot:
        be_the_bot()
        return
    found = [
        stormed(STORMS[one], messages=given.messages, seconds=given.seconds, kills=given.kills)
        for one in given.only or STORMS
    ]
    print(table(found, given.messages))


if __name__ == "__main__":
    main()
