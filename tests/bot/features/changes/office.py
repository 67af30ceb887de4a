"""The real bot over published runbooks, an alert bot, and channels where changes are announced."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import Bot
from bot.features.changes.service import POST_EVENT
from oncall import Copilot
from playground.slack.tidewater import Channel, SlackUser
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, words
from tests.bot.features.alerts.office import settings_in

HELP, SECURITY, PRIVACY = "C0PLATFORM", "C0SECURITY", "C0PRIVACY"
DEPLOYS, FLAGS, SECRET, AWAY, ATTIC = "C0DEPLOYS", "C0FLAGS", "G0SECRET", "C0AWAY", "C0ATTIC"
RUNBOOK = """---
id: checkout-runbook
title: Checkout Runbook
---
# Checkout Runbook

## CheckoutErrors

1. Look at the error rate: `kubectl logs deploy/checkout-api`.
2. Roll back the latest release.

## CheckoutSlow

1. Compare the three slowest upstreams.

## CheckoutDown

1. Tell the duty manager.

## Kafka

Brokers are replaced one at a time.
"""
PAYROLL = """---
id: payroll-notes
title: Payroll notes
---
# Payroll notes

Nothing here is about shops.
"""
COPY = "# Checkout notes {number}\n\nThe checkout-api has notes.\n"
TEXTS = {
    "checkout.md": (RUNBOOK, 2),
    "payroll.md": (PAYROLL, 3),
    **{f"copy-{number}.md": (COPY.format(number=number), 4) for number in range(5)},
}
"""File → its text, and how many hours ago it was edited."""
ALL = (DEPLOYS, FLAGS)
LABELS = (
    "severity = critical", "service = checkout-api", "env = production", "region = eu-west-1",
    "pod = checkout-api-7f9c8d6b5-x2x4z", "cluster = tidewater",
)  # fmt: skip


def alert(name: str = "CheckoutErrors", *labels: str) -> str:
    return "\n".join((f"[FIRING] {name}", *(labels or LABELS)))


@dataclass(frozen=True)
class ChangesOffice:
    slack: SlackStandIn
    bot: Bot

    @property
    def desk(self) -> Desk:
        return Desk(self.slack, self.bot, agents=None)  # type: ignore[arg-type]

    def deploys(self, text: str = "", channel: str = DEPLOYS, **more: Any) -> str:
        """A deploy bot posts; the message's ts."""
        return self.slack.post_as_app(channel, text, user="U0PILOT", **more)

    def fires(self, text: str = "", channel: str = HELP, **more: Any) -> str:
        ts = self.slack.post_as_app(channel, text or alert(), **more)
        self.desk.settle()
        return ts

    def asks(
        self, ts: str, words: str = "what changed?", user: str = "U0DANA", channel: str = HELP
    ) -> str:
        """The newest reply's text, after somebody asked in the thread; '' for none."""
        self.slack.post_as_user(channel, f"{self.desk.at} {words}", thread_ts=ts, user=user)
        self.desk.settle()
        found = self.replies(ts, channel)
        return shown(found[-1]) if found else ""

    def presses(self, ts: str, user: str = "U0DANA", channel: str = HELP) -> None:
        (answer, *_) = self.desk.said(channel, ts)
        self.slack.click(channel, answer["ts"], "what_changed", user=user)
        self.desk.settle()

    def replies(self, ts: str, channel: str = HELP) -> list[dict[str, Any]]:
        """Those that say what changed."""
        return [
            one
            for one in self.desk.said(channel, ts)
            if (one.get("metadata") or {}).get("event_type") == POST_EVENT
        ]

    def moves(self, channel: str, ts: str, seconds: float) -> str:
        """A message was posted so much earlier; its new ts."""
        workspace = self.slack.workspace
        with workspace.changed:
            stored = workspace._messages[channel]
            message = stored.pop(ts)
            moved = f"{float(ts) - seconds:.6f}"
            workspace._messages[channel] = {moved: {**message, "ts": moved}, **stored}
        return moved

    def clear(self) -> None:
        """Nothing was announced yet."""
        for channel in (*ALL, SECRET, AWAY, ATTIC):
            with self.slack.workspace.changed:
                self.slack.workspace._messages[channel].clear()


def shown(message: Mapping[str, Any]) -> str:
    """All its texts, a line each."""
    texts: list[str] = []
    for block in message["blocks"]:
        texts += [block["text"]["text"]] if "text" in block else []
        texts += [one["text"] for one in block.get("elements", ()) if isinstance(one["text"], str)]
    assert words(message)
    return "\n".join(texts)


def add_channels(slack: SlackStandIn) -> None:
    people = {"U0YOU", "U0DANA", "U0INES", slack.bot_user_id}
    pilot = SlackUser(id="U0PILOT", handle="pilot", name="Pilot", title="Deploys", bot_id="B0PILOT")
    for channel in (
        Channel(id=DEPLOYS, name="deploys", members=set(people)),
        Channel(id=FLAGS, name="flags", members=set(people)),
        Channel(id=SECRET, name="secret-changes", kind="group", members=set(people)),
        Channel(id=AWAY, name="away", members=people - {slack.bot_user_id}),
        Channel(id=ATTIC, name="attic", members=set(people), archived=True),
    ):
        slack.workspace.add(channel)
    slack.workspace.welcome(pilot, DEPLOYS, FLAGS, SECRET)


DOMAINS = {
    "platform": (HELP, ALL, "channel"),
    "security": (SECURITY, (DEPLOYS, SECRET, AWAY, ATTIC, "C0NOWHERE"), "asker"),
    "privacy": (PRIVACY, (), "channel"),
}
"""Name → help channel, change channels, audience."""


def furnish(folder: Path) -> None:
    """Domain files and documents, the same for all."""
    for name, (channel, channels, audience) in DOMAINS.items():
        at = folder / "config/domains" / name
        at.mkdir(parents=True)
        at.with_suffix(".yaml").write_text(
            f"domain: {name}\ntitle: {name.title()} help\nchannels: [{channel}]\n"
            f"answer: {{alert_bots: [B0BEACON]}}\nglossary: {{CO: [checkout-api]}}\n"
            f"access: {{audience: {audience}}}\n"
            f"sources: {{files: [{name}], change_channels: [{', '.join(channels)}]}}\n"
        )
        for file, (text, hours) in TEXTS.items():
            (at / file).write_text(text, "utf-8")
            edited = time.time() - 3_600 * hours
            os.utime(at / file, (edited, edited))


@contextmanager
def changes_office(folder: Path) -> Iterator[ChangesOffice]:
    furnish(folder)
    with SlackStandIn(enforce_rate_limits=False) as slack:
        add_channels(slack)
        copilot = Copilot(settings_in(folder, slack))
        for name in DOMAINS:
            assert copilot.ingest(name).failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.web.sleep = lambda seconds: time.sleep(seconds / 10)
        bot.start()
        bot.clock.stop()
        try:
            yield ChangesOffice(slack, bot)
        finally:
            bot.stop(5)
            copilot.index.close()


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


NOTICES: dict[str, tuple[dict[str, Any], str]] = {
    "Argo CD": (
        {
            "text": ":white_check_mark: Application checkout-api is now running new version.",
            "attachments": [
                {
                    "title": "checkout-api",
                    "title_link": "https://argo.example/applications/checkout-api",
                    "fields": [{"title": "Sync Status", "value": "Synced"}],
                }
            ],
        },
        "Application checkout-api is now running new version.",
    ),
    "GitHub Actions": (
        {
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "Deployment finished"}},
                _section("<https://github.com/shop/checkout-api/runs/1|shop/checkout-api> · main"),
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "by ines"}]},
            ]
        },
        "Deployment finished … shop/checkout-api · main",
    ),
    "Spinnaker": (
        {
            "attachments": [
                {
                    "title": "CHECKOUT-API",
                    "text": "Stage Deploy for *deploy-prod* pipeline has completed successfully",
                }
            ]
        },
        "CHECKOUT-API",
    ),
    "LaunchDarkly": (
        {
            "text": "Ines turned on the flag <https://flags.example/1|New basket> in `Production`",
            "attachments": [{"text": "Tags: checkout-api"}],
        },
        "Ines turned on the flag New basket in Production … Tags: checkout-api",
    ),
    "Terraform": (
        {
            "attachments": [
                {
                    "pretext": "Run notification from <https://tf.example|Terraform>",
                    "title": "Run applied",
                    "fields": [{"title": "Workspace", "value": "prod-checkout-api"}],
                }
            ]
        },
        "Run notification from Terraform … Workspace: prod-checkout-api",
    ),
    "Jenkins": (
        {"attachments": [{"text": "checkout-api » main - #412 Success after 3 min (<https://j.example|Open>)"}]},
        "checkout-api » main - #412 Success after 3 min (Open)",
    ),
    "GitLab": (
        {
            "attachments": [
                {
                    "title": "Pipeline passed",
                    "fields": [{"title": "Project", "value": "shop/checkout-api"}],
                    "author_name": "Dana",
                }
            ]
        },
        "Pipeline passed … Project: shop/checkout-api",
    ),
    "Octopus": (
        {"text": "Deployment of *Checkout API* release 2.3.1 to *Production* was successful"},
        "Deployment of Checkout API release 2.3.1 to Production was successful",
    ),
}  # fmt: skip
"""Of a tool, in the form that it has in Slack → what a line says of it."""
