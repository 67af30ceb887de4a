"""Limits, private answers, and settings that are missing or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine

from bot.app import build_bot
from config.errors import ConfigError
from config.models import Usage
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running, settings_for, words
from tests.bot.fakes import CHANNEL, Agents, answer, domain

DOMAINS = {
    "security": domain(limits={"questions_per_user_per_hour": 2, "tokens_per_day": 1_000}),
    "privacy": domain("privacy", "C0PRIVACY", access={"audience": "asker"}),
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(
            slack,
            tmp_path_factory.mktemp("trust"),
            agents,
            DOMAINS,
            everyone_may_read=lambda name, documents: documents == {"handbook"},
        ) as bot,
    ):
        yield Desk(slack, bot, agents)


def test_too_many_questions_are_refused_politely_and_privately(desk: Desk) -> None:
    for _ in range(2):
        desk.ask("how often?", user="U0DANA")
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} once more?", user="U0DANA")
    desk.slack.wait_for(lambda: desk.slack.ephemerals("U0DANA"))
    assert "2 questions in the last hour" in desk.slack.ephemerals("U0DANA")[0]["text"]
    desk.settle()
    assert not desk.said(CHANNEL, ts)
    desk.ask("may I, though?", user="U0INES")


def test_a_domain_has_a_daily_budget(desk: Desk) -> None:
    desk.agents.reply = answer(usage=Usage(calls=1, input_tokens=900, output_tokens=200))
    desk.ask("how often?", user="U0PRIYA")
    desk.settle()
    desk.slack.post_as_user(CHANNEL, f"{desk.at} and now?", user="U0PRIYA")
    desk.slack.wait_for(lambda: desk.slack.ephemerals("U0PRIYA"))
    assert "daily budget" in desk.slack.ephemerals("U0PRIYA")[0]["text"]


def test_what_not_everyone_may_read_is_answered_privately(desk: Desk) -> None:
    desk.agents.reply = answer("The merger closes in May [1].")
    ts, reply = desk.ask("when does the merger close?", channel="C0PRIVACY")
    assert "privately" in words(reply)
    assert "May" not in words(reply)
    channel = next(c.id for c in desk.slack.workspace.channels.values() if c.user == "U0YOU")
    assert "The merger closes in May" in words(desk.slack.messages(channel)[-1])
    asked = "You asked in <#C0PRIVACY>: when does the merger close?"
    assert asked in words(desk.slack.messages(channel)[-1])
    assert desk.agents.asked[-1].readers == {"sam.rivers@tidewater.example", "tidewater.example"}
    desk.slack.click(channel, desk.slack.messages(channel)[-1]["ts"], "ask_human")
    card = desk.slack.wait_for_reply("C0PRIVACY", ts, until=lambda m: "What I tried" in words(m))
    assert "May" not in words(card)


def test_what_everyone_may_read_is_answered_in_public(desk: Desk) -> None:
    handbook = (
        answer()
        .citations[0]
        .__class__(number=1, document="handbook", title="Handbook", heading="", url="", quote="")
    )
    desk.agents.reply = answer("Ask Marek [1].", citations=(handbook,))
    ts, reply = desk.ask("whom do I ask?", channel="C0PRIVACY")
    assert "Ask Marek" in words(reply)
    assert answered(reply)
    desk.slack.click("C0PRIVACY", reply["ts"], "ask_human")
    card = desk.slack.wait_for_reply("C0PRIVACY", ts, until=lambda m: "What I tried" in words(m))
    assert "Ask Marek" in words(card)


def test_missing_tokens_are_all_named_with_where_to_get_them(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    settings = settings_for(slack, tmp_path).model_copy(
        update={"slack_bot_token": None, "slack_app_token": None}
    )
    with pytest.raises(ConfigError) as missing:
        build_bot(settings, domains={}, ask=Agents(), engine=create_engine("sqlite://"))
    assert "SLACK_BOT_TOKEN" in str(missing.value)
    assert "SLACK_APP_TOKEN" in str(missing.value)
    assert "OAuth & Permissions" in str(missing.value)


def test_a_refused_token_is_named_and_never_shown(slack: SlackStandIn, tmp_path: Path) -> None:
    settings = settings_for(slack, tmp_path).model_copy(
        update={"slack_bot_token": SecretStr("xoxb-wrong-secret")}
    )
    with pytest.raises(ConfigError) as refused:
        build_bot(settings, domains={}, ask=Agents(), engine=create_engine("sqlite://"))
    assert "SLACK_BOT_TOKEN: invalid_auth" in str(refused.value)
    assert "wrong-secret" not in str(refused.value)
