"""Earlier threads under an answer, over the real Bolt: found by Slack in the asker's name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text as sql

from bot.blocks.render import SlackMessage
from bot.features.answering.earlier_threads import EarlierThread, EarlierThreads, with_earlier
from bot.slack.events import IncomingMessage, read
from bot.slack.manifest import stored_part
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running, words
from tests.bot.crowd import PARTNER, PRIVATE, gather, leave
from tests.bot.fakes import CHANNEL, Agents, answer, domain

QUESTION = "how often do we rotate signing keys?"
MANY = {"limits": {"questions_per_user_per_hour": 1_000}}
ON: dict[str, Any] = {"answer": {"earlier_threads": True}} | MANY
DOMAINS = {
    "security": domain(**ON),
    "privacy": domain("privacy", "C0PRIVACY"),
    "vault": domain("vault", PRIVATE, **ON),
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with SlackStandIn(enforce_rate_limits=False) as slack:
        gather(slack)
        with running(slack, tmp_path_factory.mktemp("earlier"), agents, DOMAINS) as bot:
            yield Desk(slack, bot, agents)


@pytest.fixture
def desk(running_desk: Desk) -> Desk:
    """Nobody said anything yet, and nothing is refused."""
    running_desk.settle()
    slack, bot = running_desk.slack, running_desk.bot
    slack.faults.clear()
    slack.api.calls.clear()
    for messages in slack.workspace._messages.values():
        messages.clear()
    slack.workspace._last_ts = 0
    bot.extras.earlier._rests_until, bot.extras.earlier.problem = float("-inf"), ""
    bot.extras.earlier.seconds = 30.0  # however busy the machine is
    running_desk.agents.reset()
    return running_desk


def earlier_line(message: dict[str, Any]) -> str:
    found = [b for b in message.get("blocks", []) if b.get("block_id") == "oncall_earlier"]
    return str(found[0]["elements"][0]["text"]) if found else ""


def said_before(desk: Desk, channel: str = "C0PLATFORM", user: str = "U0DANA") -> str:
    """Yesterday; before anything that is said today."""
    space, now = desk.slack.workspace, desk.slack.workspace.clock
    space.clock = lambda: now() - 86_400
    try:
        return desk.slack.post_as_user(channel, "signing keys: how often to rotate?", user=user)
    finally:
        space.clock = now


def test_up_to_three_are_linked_with_channel_and_date(desk: Desk) -> None:
    for channel in ("C0PLATFORM", "C0PRIVACY", "C0GENERAL", "C0QUIET"):
        said_before(desk, channel)
    _, reply = desk.ask(QUESTION)
    line = earlier_line(reply)
    assert line.startswith("Earlier in Slack: <http")
    assert line.count("|#") == 3
    assert re.search(r"\(\d{1,2} \w{3} \d{4}\)", line)
    assert "signing" not in line
    kinds = [block["type"] for block in reply["blocks"]]
    assert kinds.index("context_actions") > next(
        n for n, b in enumerate(reply["blocks"]) if b.get("block_id") == "oncall_earlier"
    )


def test_a_thread_is_linked_once_and_never_the_one_it_stands_in(desk: Desk) -> None:
    head = said_before(desk)
    desk.slack.post_as_user("C0PLATFORM", "rotate signing keys how often?", head, user="U0DANA")
    ts, reply = desk.ask(QUESTION)
    assert earlier_line(reply).count("|#") == 1
    _, again = desk.ask("so how often do we rotate signing keys?", thread_ts=ts)
    assert ts.replace(".", "") not in earlier_line(again)


def test_a_private_place_is_never_linked(desk: Desk) -> None:
    said_before(desk, PRIVATE, "U0MAY")
    desk.slack.post_as_user("D0YOU", "signing keys: how often to rotate")
    desk.slack.wait_until_delivered()
    _, reply = desk.ask(QUESTION)
    assert earlier_line(reply) == ""


def test_from_a_private_channel_public_ones_are_linked(desk: Desk) -> None:
    said_before(desk)
    _, reply = desk.ask(QUESTION, channel=PRIVATE, user="U0MAY")
    assert earlier_line(reply) == ""  # somebody of another organisation is in it
    leave(desk.slack, PARTNER, PRIVATE)
    _, reply = desk.ask(QUESTION, channel=PRIVATE, user="U0MAY")
    assert earlier_line(reply).count("|#help-platform") == 1


def test_results_that_slack_should_not_have_given_are_left_out(desk: Desk) -> None:
    looks = EarlierThreads(
        desk.bot.web, is_public=lambda channel: channel != "C0HIDDEN", team_url=desk.slack.url
    )
    link = f"{desk.slack.url}archives/C0GENERAL/p1"
    good = {"channel_id": "C0GENERAL", "channel_name": "general", "message_ts": "1700000000.1"}
    results = [
        {**good, "permalink": "https://evil.example/archives/C0GENERAL/p1"},
        {**good, "permalink": link, "channel_id": "C0HIDDEN"},
        {**good, "permalink": link, "is_author_bot": True},
        {**good, "permalink": link, "message_ts": "soon"},
        {**good, "permalink": link, "message_ts": "9" * 40},
        {},
        {**good, "permalink": link},
    ]
    asked = IncomingMessage(
        channel=CHANNEL, ts="1.0", thread_ts="1.0", user="U0YOU", team="", text="?"
    )
    assert [one.channel for one in looks._places(results, asked)] == ["general"]


def test_a_domain_that_does_not_want_them_never_asks(desk: Desk) -> None:
    said_before(desk)
    _, reply = desk.ask(QUESTION, channel="C0PRIVACY")
    assert earlier_line(reply) == ""
    assert "assistant.search.context" not in desk.slack.api.calls


@pytest.mark.parametrize("path", ["small_talk", "ambiguous_query"])
def test_they_stand_under_answers_alone(desk: Desk, path: str) -> None:
    said_before(desk)
    options = ("API keys?",) if path == "ambiguous_query" else ()
    desk.agents.reply = answer("Hello.", path=path, citations=(), options=options)
    _, reply = desk.ask(QUESTION)
    assert earlier_line(reply) == ""


def test_when_the_documents_dont_say_earlier_threads_are_shown(desk: Desk) -> None:
    said_before(desk)
    desk.agents.reply = answer("No.", path="no_answer_found", citations=(), confidence=0.1)
    _, reply = desk.ask(QUESTION)
    assert earlier_line(reply).count("|#") == 1


@pytest.mark.parametrize("code", ["missing_scope", "feature_not_enabled", "unknown_method"])
def test_a_refusal_costs_the_answer_nothing_and_operators_are_told(desk: Desk, code: str) -> None:
    said_before(desk)
    desk.slack.faults.add("assistant.search.context", error=code)
    for _ in range(2):
        _, reply = desk.ask(QUESTION)
        assert earlier_line(reply) == ""
    assert list(desk.slack.api.calls).count("assistant.search.context") == 1
    assert code in str(desk.bot.extras.problems())


@pytest.mark.parametrize("code", ["invalid_action_token", "no_permission"])
def test_a_refusal_of_one_search_does_not_end_the_others(desk: Desk, code: str) -> None:
    said_before(desk)
    desk.slack.faults.add("assistant.search.context", error=code)
    assert earlier_line(desk.ask(QUESTION)[1]) == ""
    assert earlier_line(desk.ask(QUESTION)[1]) != ""
    assert desk.bot.extras.problems() == []


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 429}, {"drop": True}])
def test_while_slack_has_trouble_there_are_none(desk: Desk, fault: dict[str, Any]) -> None:
    said_before(desk)
    desk.slack.faults.add("assistant.search.context", **fault)
    assert earlier_line(desk.ask(QUESTION)[1]) == ""


def test_a_slow_search_does_not_hold_up_the_answer(desk: Desk) -> None:
    desk.slack.faults.add("assistant.search.context", delay=20.0)
    desk.bot.extras.earlier.seconds = 0.1
    said_before(desk)
    _, reply = desk.ask(QUESTION)  # well before the search is done
    assert earlier_line(reply) == ""


def test_an_app_whose_events_bring_no_token_searches_nothing(desk: Desk) -> None:
    desk.slack.run_shortcut("ask_copilot", "C0PLATFORM", said_before(desk))
    ts = said_before(desk, CHANNEL)
    desk.slack.run_shortcut("ask_copilot", CHANNEL, ts)
    desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
    assert "assistant.search.context" not in desk.slack.api.calls


def test_nothing_that_was_found_is_kept(desk: Desk) -> None:
    said_before(desk)
    ts, reply = desk.ask(QUESTION)
    assert "help-platform" in words(reply)
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record
    assert "help-platform" not in json.dumps([record.answer, record.text])
    with desk.bot.engine.connect() as connection:
        names = [
            row[0]
            for row in connection.execute(
                sql("SELECT name FROM sqlite_master WHERE type = 'table'")
            )
        ]
        tables = [name for name in names if name.startswith(("bot_", "thread"))]
        rows = [str(connection.execute(sql(f"SELECT * FROM {t}")).all()) for t in tables]  # noqa: S608 - own names
    assert "Earlier in Slack" not in "".join(rows)


def test_a_full_message_stays_as_it_is() -> None:
    place = EarlierThread(channel="general", permalink="https://x.example/p1", at=datetime.now(UTC))
    full = SlackMessage(text="", blocks=[{"type": "divider"}] * 50)
    assert with_earlier([full], [place]) == [full]
    assert with_earlier([], [place]) == []
    plain = SlackMessage(text="", blocks=[{"type": "divider"}])
    assert len(with_earlier([plain], [place])[0].blocks) == 2


def test_a_token_is_kept_only_where_some_domain_searches() -> None:
    event = {"type": "message", "action_token": "1.2.x", "assistant_thread": {"action_token": "y"}}
    off, on = {"privacy": DOMAINS["privacy"]}, {"security": DOMAINS["security"]}
    assert stored_part(event, off) == {"type": "message", "assistant_thread": {}}
    assert stored_part(event, on) == event
    assert "1.2.x" not in repr(read(event | {"ts": "1.0", "user": "U1"}, bot_user="U2", team="T"))
