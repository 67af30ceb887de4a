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

from bot.app import Bot
from oncall import Copilot
from playground.google_stand_in import GoogleStandIn
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request, Scripted
from playground.slack_stand_in import SlackStandIn
from tests.stand_ins import connected_settings, security_documents

CHANNEL = "C0SECURITY"
DOCUMENTS = ("key-rotation-standard", "key-rotation-standard-2024", "privileged-access-break-glass")
PATIENCE = 30.0
_SOURCE = re.compile(r"<\S+ source (\d+) \|.*?>\n(.*?)\n</", re.DOTALL)
_CITED = re.compile(r"\[([^\]]{3,})\]")


@dataclass
class Director:
    """What the model says, and when."""

    says: dict[str, str] = field(default_factory=dict)
    """Words of a question → its answer; `[words]` cites the source in which they stand."""
    plans: dict[str, dict[str, object]] = field(default_factory=dict)
    """Words of a question → how it is planned, where that is not a plain search."""
    down: bool = False
    pause: float = 0.0
    """Seconds before each piece of a stream, so that it is seen growing."""
    _pauses: dict[str, threading.Event] = field(default_factory=dict)

    def __call__(self, request: Request) -> Scripted:
        if self.down:
            return ModelFault(kind="status", status=500, retry_after=0)
        asked = request.text.rpartition("message>" if request.name == "plan" else "as asked>")[2]
        if request.name == "plan":
            special = next((plan for words, plan in self.plans.items() if words in asked), {})
            return {"question": "", "kind": "in_domain"} | special
        if request.name == "sources":
            return {"documents": []}
        self._wait("answer")
        said = next((text for words, text in self.says.items() if words in asked), "NO_ANSWER")
        return _CITED.sub(lambda match: _source(request, match[1]), said)

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

    def ask(self, text: str, channel: str = CHANNEL, user: str = "U0YOU") -> str:
        """Mention the bot; the question's ts."""
        return self.slack.post_as_user(channel, f"<@{self.slack.bot_user_id}> {text}", user=user)

    def thread(self, ts: str, channel: str = CHANNEL) -> str:
        """Address of a thread."""
        return f"{self.slack.url}archives/{channel}?thread_ts={ts}"


@contextmanager
def open_office(folder: Path) -> Iterator[Office]:
    """The security domain of the demo, some of its documents ingested; the bot connected."""
    documents = security_documents(folder, DOCUMENTS)
    domains = folder / "config" / "domains"
    domains.mkdir(parents=True)
    shutil.copy(Path("config/domains/security.yaml"), domains)
    director = Director()
    with (
        GoogleStandIn(documents) as google,
        SlackStandIn() as slack,
        OpenAIStandIn(director, before_piece=director.before_piece) as model,
    ):
        settings = connected_settings(folder, google, slack)
        # Documents are read without the model: its part is told by others.
        reader = Copilot(settings)
        assert reader.ingest("security").failed == ()
        reader.index.close()
        copilot = Copilot(
            settings.model_copy(
                update={"chat_model": "scripted", "openai_base_url": model.base_url}
            )
        )
        bot = copilot.bot()
        bot.start()
        try:
            yield Office(slack, director, bot)
        finally:
            bot.stop(5)
            copilot.index.close()
