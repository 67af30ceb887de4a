"""Everything real between three stand-ins: Google's documents, Slack's page, a model that a test
directs. For tests that look at the page as people do."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app import Bot
from oncall import Copilot
from playground.google_stand_in import DEMO_FOLDER, GoogleStandIn
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request, Scripted
from playground.slack_stand_in import SlackStandIn
from tests.agents.tools.servers import listening
from tests.pictures import drawn
from tests.stand_ins import connected_settings

CHANNEL = "C0SECURITY"
DOCUMENTS = {
    "security": (
        "key-rotation-standard", "key-rotation-standard-2024", "privileged-access-break-glass",
    ),
    "privacy": ("data-retention-schedule", "personal-data-logging-standard"),
    "platform": ("on-call-duty-guide",),
}  # fmt: skip
PICTURED = """\
---
id: ledger-failover
title: Failover of the Ledger
domain: platform
owner: Platform Reliability (PRE)
status: current
modified: 2026-08-03
---
# Failover of the Ledger

## Switching over

The Ledger team owns this page.

![Switch-over flow](picture:flow)
"""
FLOW = {
    "kind": "diagram",
    "shows": "How Ledger fails over from the primary to the standby zone.",
    "text": ["Heartbeat lost", "Promote standby", "waits 47 s"],
    "relations": ["Heartbeat monitor → Promoter: heartbeat lost for 47 s"],
    "unreadable": "",
}
"""What the model sees in its picture."""
TOOL = """\
tools:
  - {{name: PagerDuty, what: who is on call, allow: [on_call], url: "{url}"}}
"""
PATIENCE = 120.0
_SOURCE = re.compile(r"<\S+ source (\d+) \|.*?>\n(.*?)\n</", re.DOTALL)
_ASKED = re.compile(r" (?:message|question(?: as asked)?)>")
_CITED = re.compile(r"\[([^\]]{3,})\]")
_AREA = re.compile(r"area (\d+): ([^|>\n]+)")


@dataclass
class Director:
    """What the model says, and when."""

    says: dict[str, str] = field(default_factory=dict)
    """Words of a question → its answer; `[words]` cites the source in which they stand."""
    plans: dict[str, dict[str, object]] = field(default_factory=dict)
    """Words of a question → how it is planned, where that is not a plain search."""
    looks: dict[str, str] = field(default_factory=dict)
    """Words of a question → what it asks for before it answers, once."""
    areas: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Words of a question → titles of the domains that it may be for; else the likeliest."""
    sees: dict[str, dict[str, object]] = field(default_factory=dict)
    """What is asked of a picture → what it says."""
    down: bool = False
    pause: float = 0.0
    """Seconds before each piece of a stream, so that it is seen growing."""
    _pauses: dict[str, threading.Event] = field(default_factory=dict)

    def __call__(self, request: Request) -> Scripted:
        if self.down:
            return ModelFault(kind="status", status=500, retry_after=0)
        asked = _ASKED.split(request.text)[-1]
        if request.name == "plan":
            special = next((plan for words, plan in self.plans.items() if words in asked), {})
            return {"question": "", "kind": "in_domain"} | special
        if request.name == "sources":
            return {"documents": []}
        if request.name in self.sees:
            return self.sees[request.name]
        if request.name == "runbook":
            return {"entries": []}
        if request.name == "domain":
            return {"areas": self._areas(request)}
        if look := next((words for words in self.looks if words in asked), ""):
            return self.looks.pop(look)
        self._wait("answer")
        said = next((text for words, text in self.says.items() if words in asked), "NO_ANSWER")
        said = said if said.isupper() or said.startswith("WHICH") else f"ANSWER\n{said}"
        return _CITED.sub(lambda match: _source(request, match[1]), said)

    def _areas(self, request: Request) -> list[int]:
        titles = next((found for words, found in self.areas.items() if words in request.text), ())
        shown = {title.strip(): int(number) for number, title in _AREA.findall(request.text)}
        return [shown[title] for title in titles if title in shown] or [1]

    @contextmanager
    def holding(self, moment: str) -> Iterator[None]:
        """Hold the model before its `answer`, or once a stream has got as far as these words."""
        self._pauses[moment] = pause = threading.Event()
        try:
            yield
        finally:
            pause.set()
            del self._pauses[moment]

    def before_piece(self, so_far: str) -> None:
        time.sleep(self.pause)
        for words in list(self._pauses):
            if words in so_far:
                self._wait(words)

    def _wait(self, moment: str) -> None:
        if pause := self._pauses.get(moment):
            pause.wait(PATIENCE)


def _source(request: Request, words: str) -> str:
    """The citation of the source that holds these words; the words when none does."""
    return next((f"[{n}]" for n, text in _SOURCE.findall(request.text) if words in text), words)


@dataclass(frozen=True)
class Office:
    slack: SlackStandIn
    director: Director
    bot: Bot

    def ask(self, text: str, channel: str = CHANNEL, user: str = "U0YOU", **more: Any) -> str:
        """Mention the bot; the question's ts."""
        mention = "" if channel.startswith("D") else f"<@{self.slack.bot_user_id}> "
        return self.slack.post_as_user(channel, f"{mention}{text}", user=user, **more)

    def thread(self, ts: str, channel: str = CHANNEL) -> str:
        """Address of a thread."""
        return f"{self.slack.url}archives/{channel}?thread_ts={ts}"


@contextmanager
def open_office(folder: Path) -> Iterator[Office]:
    """The demo's three domains, some of their documents ingested; the bot connected."""
    director = Director(sees={"describe_picture": FLOW})
    with (
        listening() as tool,
        GoogleStandIn(
            _documents(folder), pictures={"flow": drawn("Heartbeat lost", "Promote standby")}
        ) as google,
        SlackStandIn() as slack,
        OpenAIStandIn(director, before_piece=director.before_piece) as model,
    ):
        _domain_files(folder, tool)
        settings = connected_settings(folder, google, slack).model_copy(
            update={"vision_model": "scripted", "openai_base_url": model.base_url}
        )
        # Documents are read without the chat model: its part is told by others.
        reader = Copilot(settings)
        for name in DOCUMENTS:
            assert reader.ingest(name).failed == ()
        reader.index.close()
        copilot = Copilot(settings.model_copy(update={"chat_model": "scripted"}))
        bot = copilot.bot()
        bot.start()
        try:
            yield Office(slack, director, bot)
        finally:
            bot.stop(5)
            copilot.index.close()


def _documents(folder: Path) -> Path:
    for domain, names in DOCUMENTS.items():
        shelf = folder / "documents" / domain
        shelf.mkdir(parents=True)
        for name in names:
            shutil.copy(DEMO_FOLDER / domain / f"{name}.md", shelf)
    (folder / "documents" / "platform" / "ledger-failover.md").write_text(PICTURED, "utf-8")
    return folder / "documents"


def _domain_files(folder: Path, tool: str) -> None:
    domains = folder / "config" / "domains"
    domains.mkdir(parents=True)
    for name in DOCUMENTS:
        shutil.copy(Path(f"config/domains/{name}.yaml"), domains)
    with (domains / "platform.yaml").open("a", encoding="utf-8") as platform:
        platform.write(TOOL.format(url=tool))
