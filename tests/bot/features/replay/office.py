"""The real bot over published documents, with a month of questions behind it.

Everything is real but Slack: the index over files, MiniLM, the agents, the inbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from bot.app import Bot
from bot.bus.events import Suggestion, SuggestionMade
from bot.features.owner_drafts.store import DraftStore, key_of
from oncall import Copilot
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, eventually
from tests.bot.features.alerts.office import PLATFORM, PRIVACY, add_channels, settings_in
from tests.cli.test_commands import Done, oncall

ADMIN = "U0INES"
KETTLE = """---
id: kettle
title: Kettle Standard
---
# Kettle Standard

## Descaling

The kettle is descaled every Friday with vinegar.

## Alerts

| Alert | Severity | First step |
|---|---|---|
| `KettleDry` | SEV2 | Fill it up to the mark |
| `KettleHot` | SEV3 | Open the window |
"""
CUPS = """---
id: cups
title: Cup Guide
---
# Cup Guide

## Washing

Cups are washed after each meeting by whoever used them last.
"""
EDITED = (
    KETTLE.replace("| `KettleDry` | SEV2 | Fill it up to the mark |\n", "").replace(
        "Open the window |", "Close the lid |\n| `KettleLost` | SEV4 | Look on the roof |"
    )
    + "\n## Warranty\n\nThe warranty of the kettle lasts for seven years.\n"
)
SEVERITY, STEP = "which severity has KettleDry", "what is the first step for KettleHot"
LOST, WARRANTY = "what severity does KettleLost have", "how long is the warranty of the kettle"
CUP = "who washes the cups after a meeting"
_numbers = count(1)
DOMAINS = {
    "platform": f"channels: [{PLATFORM}]\n"
    "answer: {alert_bots: [B0BEACON]}\nevaluation: {preview_drafts: on}\n",
    "privacy": f"channels: [{PRIVACY}]\naccess: {{audience: asker}}\n",
}


@dataclass
class ReplayOffice:
    folder: Path
    copilot: Copilot
    slack: SlackStandIn
    bot: Bot
    asked: dict[str, str] = field(default_factory=dict)
    """Text → ts of its message."""

    @property
    def desk(self) -> Desk:
        return Desk(self.slack, self.bot, agents=None)  # type: ignore[arg-type]

    def ask(self, text: str, channel: str = PLATFORM) -> dict[str, Any]:
        """The answer."""
        ts, answer = self.desk.ask(text, channel)
        self.asked[text] = ts
        return answer

    def replay(self, text: str, *words: str, document: str = "kettle", **more: str) -> Done:
        """`oncall replay` with this text as the document."""
        path = self.folder / "edited.md"
        path.write_text(text, "utf-8")
        named = ("--document", document, "--as", str(path))
        settings = {"ONCALL_CONFIG_DIR": str(self.folder / "config"), **more}
        done = oncall(self.folder, "replay", *named, *words, **settings)
        lines = done.stderr.splitlines(keepends=True)  # the bot runs here, too, and logs
        return done._replace(stderr="".join(one for one in lines if one[0] != "{"))

    def suggest(self, words: str, **more: str) -> str:
        """A draft for the kettle's document; its key."""
        values: dict[str, Any] = {
            "id": f"s{next(_numbers)}", "kind": "answer", "domain": "platform",
            "document": "kettle", "heading": "Descaling", "by": "U0DANA", "channel": PLATFORM,
            "question": WARRANTY, "words": words, "permalink": "", "drawn_from": (),
        }  # fmt: skip
        suggestion = Suggestion(**(values | more))
        self.bot.put(suggestion.event_id, SuggestionMade(suggestion=suggestion))
        return key_of(suggestion.id)

    def draft(self, key: str) -> dict[str, Any]:
        """Its message to the admin; files have no owner."""
        drafts = DraftStore(self.bot.engine)
        eventually(lambda: [one for one in drafts.messages(key).values() if one.ts])
        ts = drafts.messages(key)[0].ts
        direct = self.slack.messages(f"D{ADMIN[1:]}")
        return next(one for one in direct if one["ts"] == ts)

    def try_out(self, key: str, user: str = ADMIN) -> None:
        channel = f"D{ADMIN[1:]}"
        self.slack.click(channel, self.draft(key)["ts"], "owner_draft_preview", user)

    def below(self, key: str) -> list[dict[str, Any]]:
        """The bot's messages in the draft's thread."""
        channel = f"D{ADMIN[1:]}"
        ts = self.draft(key)["ts"]
        return [one for one in self.desk.said(channel, ts) if one["ts"] != ts]


def furnish(folder: Path, texts: dict[str, Sequence[str]]) -> None:
    for name, documents in texts.items():
        at = folder / "config/domains" / name
        at.mkdir(parents=True)
        at.with_suffix(".yaml").write_text(
            f"domain: {name}\ntitle: {name.title()} help\nadmins: [{ADMIN}]\n"
            f"sources: {{files: [{name}]}}\nescalation: {{usergroup: S0PRE}}\n{DOMAINS[name]}"
        )
        for number, text in enumerate(documents):
            (at / f"{number}.md").write_text(text, "utf-8")


@contextmanager
def replay_office(folder: Path) -> Iterator[ReplayOffice]:
    furnish(folder, {"platform": (KETTLE, CUPS), "privacy": (KETTLE.replace("kettle", "jar"),)})
    with SlackStandIn(enforce_rate_limits=False) as slack:
        add_channels(slack)
        copilot = Copilot(settings_in(folder, slack))
        for name in DOMAINS:
            assert copilot.ingest(name).failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        try:
            yield ReplayOffice(folder, copilot, slack, bot)
        finally:
            bot.stop(5)
            copilot.index.close()
