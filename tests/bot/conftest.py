"""The real bot against the Slack stand-in: real sockets, real inbox, a scripted `ask`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from bot.app import Bot
from config.domain import Domain
from config.settings import Settings
from playground.slack_stand_in import SlackStandIn
from tests.bot.fakes import CHANNEL, Agents, bot_of, domain, spoken_of_in


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
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Iterator[Bot]:
    engine = create_engine(f"sqlite:///{data_dir / 'state.sqlite'}", connect_args={"timeout": 30})
    bot = bot_of(
        settings_for(slack, data_dir).model_copy(update=settings or {}),
        agents,
        engine,
        domains or {"security": domain()},
        **({"router": spoken_of_in(agents)} | more),
    )
    # Tests need not wait as long as Slack and a database would have us wait.
    bot.web.sleep = lambda seconds: time.sleep(seconds / 10)
    bot.inbox.poll_seconds = 0.05
    bot.start()
    try:
        yield bot
    finally:
        bot.stop(drain_seconds=5)
        engine.dispose()


def answered(message: Mapping[str, Any]) -> bool:
    """The bot's message is an answer, no placeholder."""
    payload = (message.get("metadata") or {}).get("event_payload", {})
    return bool(payload.get("state") == "answered")


def words(message: Mapping[str, Any]) -> str:
    """All that a message shows, for looking into."""
    return json.dumps([message.get("text"), message.get("blocks")], ensure_ascii=False)


def eventually(look: Callable[[], Any], timeout: float = 120.0) -> Any:
    """The first truthy result, of something that Slack's stand-in doesn't know about."""
    deadline = time.monotonic() + timeout
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.02)
    return found


class Desk:
    """A running bot, and people who talk to it."""

    def __init__(self, slack: SlackStandIn, bot: Bot, agents: Agents) -> None:
        self.slack = slack
        self.bot = bot
        self.agents = agents

    @property
    def at(self) -> str:
        """The mention that people type."""
        return f"<@{self.slack.bot_user_id}>"

    def ask(self, text: str, channel: str = CHANNEL, **more: Any) -> tuple[str, dict[str, Any]]:
        """Mention the bot; the question's ts and the answer."""
        ts = self.slack.post_as_user(channel, f"{self.at} {text}", **more)
        thread_ts = more.get("thread_ts") or ts
        return ts, self.slack.wait_for_reply(
            channel, thread_ts, until=lambda m: answered(m) and self.answers(m) == f"{channel}:{ts}"
        )

    @staticmethod
    def answers(message: Mapping[str, Any]) -> str:
        payload = (message.get("metadata") or {}).get("event_payload", {})
        return str(payload.get("question_id", ""))

    def said(self, channel: str, thread_ts: str) -> list[dict[str, Any]]:
        """The bot's messages of a thread."""
        thread = self.slack.thread(channel, thread_ts)
        return [m for m in thread if m.get("user") == self.slack.bot_user_id]

    def settle(self, timeout: float = 120.0) -> None:
        """Until all that happened is worked off, and what came of it as well; for tests of what
        doesn't happen."""
        quiet = 0
        while quiet < 2:  # what is worked off may have posted, which comes back as an event
            self.slack.wait_until_delivered(timeout)
            quiet = 0 if self.bot.inbox.backlog() else quiet + 1
            time.sleep(0.02)


LIMITS = {"questions_per_user_per_hour": 10_000}
DOMAINS = {
    "security": domain(
        limits=LIMITS,
        admins=["U0INES"],
        answer={"alert_bots": ["B0BEACON"], "links": ["wiki.tidewater.example"]},
        escalation={"usergroup": "S0SECENG", "message": "SecEng takes it from here"},
        examples=[{"question": "how often do we rotate keys?", "documents": ["key-rotation"]}],
    ),
    "privacy": domain(
        "privacy",
        "C0PRIVACY",
        limits=LIMITS,
        answer={"when": "question", "follow_ups": "mention"},
    ),
    "platform": domain("platform", "C0PLATFORM", limits=LIMITS, answer={"when": "always"}),
}


@pytest.fixture(scope="module")  # and not longer: DBOS is one to a process
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("desk"), agents, DOMAINS) as bot,
    ):
        yield Desk(slack, bot, agents)


@pytest.fixture
def desk(running_desk: Desk) -> Desk:
    """One bot for many tests, its script fresh and Slack healthy for each."""
    running_desk.slack.faults.clear()
    running_desk.settle()  # what the test before began, such as what is noted after an answer
    running_desk.agents.reset()
    running_desk.slack.sockets.ack_timeout = 3.0
    running_desk.bot.attempts.pace.paused_until = 0.0
    running_desk.slack.workspace.unsupported = frozenset()
    running_desk.bot.web.unsupported.forget()
    return running_desk


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def agents() -> Agents:
    return Agents()
