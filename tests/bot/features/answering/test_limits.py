"""How much may be asked: each domain counts its own questions, and only those it answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine

from bot.features.answering.ask import refusal
from bot.questions.store import QuestionRecord, QuestionStore
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running
from tests.bot.fakes import CHANNEL, Agents, claim, domain

TWO_AN_HOUR = {"questions_per_user_per_hour": 2}
DOMAINS = {
    "security": domain(limits=TWO_AN_HOUR),
    "privacy": domain("privacy", "C0PRIVACY"),
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("limits"), agents, DOMAINS) as bot,
    ):
        yield Desk(slack, bot, agents)


def test_questions_in_one_channel_leave_those_in_another_alone(desk: Desk) -> None:
    for _ in range(3):
        desk.ask("how long do we keep it?", channel="C0PRIVACY", user="U0DANA")
    for _ in range(2):
        desk.ask("how often?", user="U0DANA")
    desk.slack.post_as_user(CHANNEL, f"{desk.at} once more?", user="U0DANA")
    desk.slack.wait_for(lambda: desk.slack.ephemerals("U0DANA"))
    assert "2 questions in the last hour" in desk.slack.ephemerals("U0DANA")[0]["text"]
    desk.ask("and here?", channel="C0PRIVACY", user="U0DANA")


def test_a_direct_message_goes_to_the_domains_that_may_still_be_asked(desk: Desk) -> None:
    for _ in range(2):
        desk.ask("how often?", user="U0MAREK")
    opened: dict[str, Any] = desk.bot.web.call("conversations.open", users="U0MAREK")
    channel = str(opened["channel"]["id"])
    ts = desk.slack.post_as_user(channel, "and how long?", user="U0MAREK")
    desk.slack.wait_for_reply(channel, ts, until=answered)
    assert desk.agents.domains == ["security", "security", "privacy"]


@pytest.fixture
def records() -> QuestionStore:
    return QuestionStore(create_engine("sqlite://"))


def asked(records: QuestionStore, number: int, name: str = "security") -> QuestionRecord:
    record = claim(
            records,
        question_id=f"{CHANNEL}:{number:03}", event_id=f"Ev{number}", channel=CHANNEL,
        thread_ts=str(number), asker="U0YOU", text="why?", domain=name,
    )  # fmt: skip
    assert record is not None
    return record


def test_questions_count_before_they_are_answered(records: QuestionStore) -> None:
    burst = [asked(records, number) for number in range(4)]
    refused = [bool(refusal(records, record, DOMAINS["security"])) for record in burst]
    assert refused == [False, False, True, True]


def test_a_refused_question_does_not_count(records: QuestionStore) -> None:
    for number in range(5):
        records.mark(asked(records, number).id, state="limited")
    assert refusal(records, asked(records, 5), DOMAINS["security"]) == ""


def test_a_channels_limit_counts_everybodys_questions(records: QuestionStore) -> None:
    busy = domain(limits={"questions_per_channel_per_hour": 1})
    assert refusal(records, asked(records, 0), busy) == ""
    assert "channel has asked as many" in refusal(records, asked(records, 1), busy)


def test_a_refusal_that_names_its_domain_pings_nobody(records: QuestionStore) -> None:
    titled = domain(title="<!channel> evil.com", limits={"tokens_per_day": 1})
    records.mark(asked(records, 0).id, tokens=5)
    why = refusal(records, asked(records, 1), titled)
    assert "daily budget" in why
    assert "<!channel>" not in why
    assert "evil.com" not in why
