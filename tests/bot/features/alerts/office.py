"""The real bot over published runbooks, and alert bots that post to its channels.

Everything is real but Slack: the index over files, MiniLM, the agents, the inbox, the timers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy import Engine, select, update

from bot.app import Bot
from bot.feature import Feature
from bot.features.alerts.store import EpisodeRow, OccurrenceRow
from bot.features.alerts.views import COURSE
from bot.questions.store import QuestionRecord
from config.settings import Settings
from oncall import Copilot
from playground.slack.tidewater import Channel
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, words
from tests.bot.features.handoff.rewound import rewind

PLATFORM, SECURITY, PRIVACY, CLOSED = "C0PLATFORM", "C0SECURITY", "C0PRIVACY", "G0VAULT"
ROWS = (
    ("CartErrors", "SEV2", "Roll back the latest release", "15 minutes: duty manager"),
    ("CartLatency", "SEV3", "Compare the three slowest upstreams", "1 hour: PRE"),
    ("CartDisk95", "SEV2", "Extend the volume by 25% now", "10 minutes: PRE"),
    ("BasketFull", "SEV4", "Tell the owner; offer a quota review", "1 day: PRE"),
    ("BasketStuck", "SEV3", "Restart the relay in that cluster", "1 hour: PRE"),
    ("TillClosed", "SEV1", "Declare at once; hold all deploys", "5 minutes: Head of Platform"),
    ("TillSlow", "SEV3", "Pause node rotation", "1 hour: PRE"),
    ("ScaleDrift", "SEV3", "Check the inter-site link", "1 hour: PRE"),
    ("ShelfEmpty", "SEV4", "Assign to the owning team", "1 day: PRE"),
    ("QueueJam", "SEV2", "Drain the oldest runner", "15 minutes: PRE"),
    ("DoorOpen", "SEV3", "Cordon the node", "30 minutes: PRE"),
    ("LampOut", "SEV4", "Replace the node", "1 day: PRE"),
    ("RoofLeak", "SEV2", "Shift the zone", "10 minutes: PRE"),
    ("GateDown", "SEV1", "Page the primary too", "5 minutes: PRE"),
)
CATALOGUE = """---
id: alert-catalogue
title: Alert Catalogue
owner: Platform Reliability (PRE)
---
# Alert Catalogue

## Catalogue

| Alert | Opens as | First step | If not cleared |
|---|---|---|---|
"""
TILL = """---
id: till-runbook
title: Till Runbook
owner: Platform Reliability (PRE)
---
# Till Runbook

## TillOffline

Severity: SEV1

1. Fence the node: `tillctl fence --node till-eu-a`.
2. Promote the standby: `tillctl promote --to till-eu-b`.
3. Tell the duty manager when takings are back.

## Queues

| Alert | Threshold | First step |
|---|---|---|
| TillQueue | above 10 % | Open a second till |
| TillQueue | above 50 % | Close the doors for a while |
"""
KEYS = """---
id: key-alerts
title: Key Alerts
owner: Security Engineering
---
# Key Alerts

| Alert | Starts as | First step |
|---|---|---|
| `KeyOverdue` | Ticket | Create the P record by class |
"""
GATE = "| `GateDown` | SEV3 | Look at the gate's camera |\n"
VAULT = KEYS.replace("KeyOverdue", "VaultSealed").replace("key-alerts", "vault-alerts")
DESK = KEYS.replace("KeyOverdue", "ErasureLate").replace("key-alerts", "desk-alerts")
_APART = count()
DOMAINS = {
    "platform": (PLATFORM, "answer: {alert_bots: [B0BEACON, B0CRON, A0FLOW]}"),
    "security": (SECURITY, "answer: {alert_bots: [B0BEACON], when: question}"),
    "privacy": (
        PRIVACY,
        "answer: {alert_bots: [B0BEACON], when: always}\naccess: {audience: asker}",
    ),
    "vault": (CLOSED, "answer: {alert_bots: [B0BEACON]}"),
}


def catalogue(rows: Sequence[Sequence[str]] = ROWS) -> str:
    told = (f"| `{name}` | {' | '.join(rest)} |\n" for name, *rest in rows)
    return CATALOGUE + "".join(told)


TEXTS = {
    "platform": (catalogue(), TILL),
    "security": (KEYS + GATE,),
    "privacy": (DESK,),
    "vault": (VAULT,),
}


def furnish(folder: Path, texts: Mapping[str, Sequence[str]], keys: str = "") -> None:
    """Domain files and documents. `keys`: further ones of the first domain's file."""
    for name, documents in texts.items():
        channel, more = DOMAINS[name]
        own, keys = keys, ""
        at = folder / "config/domains" / name
        at.mkdir(parents=True)
        at.with_suffix(".yaml").write_text(
            f"domain: {name}\ntitle: {name.title()} help\nchannels: [{channel}]\n"
            f"admins: [U0INES]\nsources: {{files: [{name}]}}\n{more}\n{own}"
        )
        for number, text in enumerate(documents):
            (at / f"{number}.md").write_text(text, "utf-8")


def settings_in(folder: Path, slack: SlackStandIn, database_url: str = "") -> Settings:
    return Settings(_env_file=None).model_copy(
        update={
            "database_url": database_url or None,
            "slack_api_url": slack.api_url,
            "slack_bot_token": SecretStr(slack.bot_token),
            "slack_app_token": SecretStr(slack.app_token),
            "config_dir": folder / "config",
            "data_dir": folder / "var",
        }
    )


def add_channels(slack: SlackStandIn) -> None:
    members = {"U0INES", "U0DANA", slack.bot_user_id, "U0BEACON"}
    vault = Channel(id=CLOSED, name="vault", kind="group", members=members)
    slack.workspace.add(vault)


@dataclass(frozen=True)
class AlertHouse:
    folder: Path
    copilot: Copilot
    slack: SlackStandIn
    bot: Bot

    @property
    def desk(self) -> Desk:
        return Desk(self.slack, self.bot, agents=None)  # type: ignore[arg-type]

    def fires(self, text: str = "", channel: str = PLATFORM, **more: Any) -> str:
        """An alert bot posts; the message's ts."""
        return self.slack.post_as_app(channel, text, **more)

    def rewrites(self, ts: str, channel: str = PLATFORM, **fields: Any) -> None:
        """The bot changes its own message; Slack marks nothing as edited."""
        self.slack.workspace.edit(channel, ts, fields)

    def settle(self) -> None:
        self.desk.settle(timeout=240.0)  # of a storm

    def pass_time(self, seconds: float = 60.0) -> None:
        """Timers that are due by then go off, and what they bring about is done."""
        self.settle()
        # Never twice to the same moment: a timer's kind, subject and moment make its id.
        rewind(self.bot.engine, (seconds + next(_APART) / 1000) / 60)
        self.bot.clock.tick()
        self.settle()

    def reply(self, ts: str, channel: str = PLATFORM) -> str:
        """All that the one answer to this message shows."""
        found = self.replies(ts, channel)
        assert len(found) == 1, found
        return words(found[0])

    def replies(self, ts: str, channel: str = PLATFORM) -> list[dict[str, Any]]:
        return self.desk.said(channel, ts)

    def course(self, ts: str, channel: str = PLATFORM) -> str:
        """The line above the answer; empty where there is none."""
        (message,) = self.replies(ts, channel)
        lines = [one for one in message["blocks"] if one.get("block_id") == COURSE]
        return lines[0]["text"]["text"] if lines else ""

    def answers(self, channel: str = PLATFORM) -> list[dict[str, Any]]:
        """All of a channel's."""
        return [one for one in self.slack.messages(channel) if answered(one)]

    def answers_to(self, *sent: str, channel: str = PLATFORM) -> int:
        """How many answers there are to these messages together."""
        return sum(answered(one) for ts in sent for one in self.replies(ts, channel))

    def counted(self, name: str) -> list[int]:
        """How often an alert fired, in each of its episodes, as they began."""
        query = (
            select(EpisodeRow.id, OccurrenceRow.id)
            .join(OccurrenceRow, OccurrenceRow.episode == EpisodeRow.id)
            .where(EpisodeRow.name == name, OccurrenceRow.status == "firing")
            .order_by(EpisodeRow.began_at)
        )
        with self.bot.engine.connect() as connection:
            rows = connection.execute(query).all()
        episodes = [row[0] for row in rows]
        return [episodes.count(one) for one in dict.fromkeys(episodes)]

    def record(self, ts: str, channel: str = PLATFORM) -> QuestionRecord | None:
        return self.bot.records.get(f"{channel}:{ts}")

    def feature(self, timer: str) -> Feature:
        return next(one for one in self.bot.features if timer in one.timers)


def longer_ago(engine: Engine, passed: timedelta) -> None:
    """All that is known of alerts."""
    tables: dict[type[EpisodeRow | OccurrenceRow], tuple[str, ...]] = {
        EpisodeRow: ("began_at", "last_at", "resolved_at"),
        OccurrenceRow: ("at",),
    }
    with engine.begin() as connection:
        for table, moments in tables.items():
            for row in connection.execute(select(table)).mappings().all():
                values = {name: row[name] - passed for name in moments if row[name]}
                connection.execute(update(table).where(table.id == row["id"]).values(values))


@contextmanager
def alert_house(
    folder: Path,
    texts: Mapping[str, Sequence[str]] = TEXTS,
    *,
    limits: bool = False,
    database_url: str = "",
    keys: str = "",
) -> Iterator[AlertHouse]:
    furnish(folder, texts, keys)
    with SlackStandIn(enforce_rate_limits=limits) as slack:
        add_channels(slack)
        copilot = Copilot(settings_in(folder, slack, database_url))
        for name in texts:
            assert copilot.ingest(name).failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        bot.clock.stop()  # ticked by the tests alone, who know what they wait for
        try:
            yield AlertHouse(folder, copilot, slack, bot)
        finally:
            bot.stop(5)
            copilot.index.close()
