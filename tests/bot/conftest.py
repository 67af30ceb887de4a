"""The real bot against the Slack stand-in: real sockets, real inbox, a scripted `ask`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from agents.answer import Answer, Ask, Citation, Progress, Question
from bot.app import Bot, build_bot
from config.domain import Domain
from config.settings import Settings
from playground.slack import SlackStandIn

CHANNEL = "C0SECURITY"


def domain(name: str = "security", channel: str = CHANNEL, **more: Any) -> Domain:
    values = {"domain": name, "title": f"{name.title()} help", "channels": [channel], "sources": {}}
    return Domain.model_validate(values | more)


def answer(text: str = "Rotate them every 90 days [1].", **more: Any) -> Answer:
    citation = Citation(
        number=1,
        document="key-rotation-standard",
        title="Key Rotation Standard",
        heading="Maximum age",
        url="https://docs.google.com/document/d/KEY/edit#heading=h.age",
        quote="Signing keys: 90 days",
        modified_at=datetime.now(UTC) - timedelta(days=95),
    )
    values: dict[str, Any] = {
        "text": text,
        "path": "company_specific_rag_success",
        "confidence": 0.86,
        "citations": (citation,),
        "generation": 7,
    }
    return Answer(**(values | more))


class Agents:
    """A scripted `ask`: says the answer of its script, remembers what it was asked."""

    def __init__(self, reply: Callable[[Question], Answer] | Answer | None = None) -> None:
        self.reply = reply or answer()
        self.asked: list[Question] = []
        self.seconds = 0.0
        self.tell: Callable[[Progress], None] = lambda progress: None
        self._lock = threading.Lock()

    def __call__(self, name: str) -> Ask:
        def ask(question: Question, progress: Progress | None) -> Answer:
            with self._lock:
                self.asked.append(question)
            if progress:
                self.tell(progress)
            time.sleep(self.seconds)
            return self.reply(question) if callable(self.reply) else self.reply

        return ask


def settings_for(slack: SlackStandIn, data_dir: Path) -> Settings:
    return Settings.model_validate(
        {
            "slack_bot_token": slack.bot_token,
            "slack_app_token": slack.app_token,
            "slack_signing_secret": slack.signing_secret,
            "slack_api_url": slack.api_url,
            "data_dir": data_dir,
            "database_url": None,
        }
    )


@contextmanager
def running(
    slack: SlackStandIn,
    data_dir: Path,
    agents: Agents,
    domains: Mapping[str, Domain] | None = None,
    **more: Any,
) -> Iterator[Bot]:
    engine = create_engine(f"sqlite:///{data_dir / 'state.sqlite'}", connect_args={"timeout": 30})
    bot = build_bot(
        settings_for(slack, data_dir),
        domains=domains or {"security": domain()},
        ask=agents,
        engine=engine,
        **more,
    )
    bot.start()
    try:
        yield bot
    finally:
        bot.stop(drain_seconds=5)
        engine.dispose()


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def agents() -> Agents:
    return Agents()
