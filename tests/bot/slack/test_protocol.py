"""The bot keeps to Slack's protocol: a sparse Slack, with all that may be missing missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from bot.app import Bot
from durable.database import now
from tests.bot.conftest import eventually, running
from tests.bot.fakes import CHANNEL, Agents, domain
from tests.bot.plain_slack import BOT_USER, PlainSlack

AT = f"<@{BOT_USER}>"
DOMAINS = {"security": domain(answer={"when": "mention", "alert_bots": ["B0PLAINBOT"]})}


@pytest.fixture(scope="module")
def agents() -> Agents:
    return Agents()


@pytest.fixture(scope="module")
def plain() -> Iterator[PlainSlack]:
    with PlainSlack() as slack:
        yield slack


@pytest.fixture(scope="module")
def running_bot(
    plain: PlainSlack, agents: Agents, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bot]:
    with running(plain, tmp_path_factory.mktemp("plain"), agents, DOMAINS) as bot:
        eventually(lambda: plain.sockets)
        yield bot


@pytest.fixture(autouse=True)
def bot(running_bot: Bot, plain: PlainSlack, agents: Agents) -> Bot:
    agents.reset()
    plain.refusals.clear()
    return running_bot


def answer_to(slack: PlainSlack, ts: str) -> str:
    """What the bot's one message in the thread says, once it is an answer."""
    eventually(lambda: "Key Rotation Standard" in json.dumps(slack.said(ts)))
    assert len(slack.said(ts)) == 1
    return json.dumps(slack.said(ts)[0], ensure_ascii=False)


def test_a_mention_with_nothing_but_the_necessary_is_answered_once(plain: PlainSlack) -> None:
    envelopes = [
        plain.event(type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts="1.1")
        for _ in range(3)
    ]
    assert "90 days" in answer_to(plain, "1.1")
    eventually(lambda: all(map(plain.acked, envelopes)))


def test_words_in_blocks_alone_are_read(plain: PlainSlack, agents: Agents) -> None:
    words = {"type": "text", "text": " how often?"}
    mention = {"type": "user", "user_id": BOT_USER}
    section = {"type": "rich_text_section", "elements": [mention, words]}
    blocks = [{"type": "rich_text", "elements": [section]}]
    plain.event(type="app_mention", channel=CHANNEL, user="U1", ts="2.1", blocks=blocks)
    answer_to(plain, "2.1")
    assert agents.asked[-1].text == "how often?"


def test_a_direct_message_is_known_by_its_channel(plain: PlainSlack) -> None:
    plain.event(type="message", channel="D1", user="U1", text="how often?", ts="3.1")
    answer_to(plain, "3.1")


def test_own_messages_are_known_by_the_bot_id(plain: PlainSlack, agents: Agents) -> None:
    question: dict[str, Any] = {"channel": CHANNEL, "ts": "4.1", "user": "U1", "text": "how?"}
    plain.messages.append(question)
    plain.event(type="app_mention", **{**question, "text": f"{AT} how?"})
    answer_to(plain, "4.1")
    plain.event(
        type="message", channel=CHANNEL, user="U1", text="and SG?", ts="2000000900.1",
        thread_ts="4.1",
    )  # fmt: skip
    eventually(lambda: len(agents.asked) == 2)
    assert [turn.role for turn in agents.asked[1].history] == ["user", "assistant"]


def test_it_never_answers_itself_even_when_it_is_listed(
    plain: PlainSlack, agents: Agents, bot: Bot
) -> None:
    envelope = plain.event(
        type="message", channel=CHANNEL, bot_id="B0PLAINBOT", text="Key age alert?", ts="5.1"
    )
    eventually(lambda: plain.acked(envelope))
    eventually(lambda: not bot.inbox.backlog())
    assert not agents.asked


def test_a_thread_that_cannot_be_read_is_answered_without(plain: PlainSlack) -> None:
    plain.refusals["conversations.replies"] = "404"
    plain.event(
        type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts="6.2", thread_ts="6.1"
    )
    answer_to(plain, "6.1")


def test_a_placeholder_that_cannot_be_changed_gives_way_to_another_message(
    plain: PlainSlack,
) -> None:
    plain.refusals["chat.update"] = "something_new"
    plain.event(type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts="7.1")
    eventually(lambda: "90 days" in json.dumps(plain.said("7.1")))


def test_what_slack_refuses_for_its_content_ends_in_an_apology(
    plain: PlainSlack, agents: Agents
) -> None:
    def refuse(method: str, given: dict[str, Any]) -> dict[str, Any]:
        if method in ("chat.update", "chat.postMessage") and "90 days" in json.dumps(given):
            return {"ok": False, "error": "no_text"}
        return call(method, given)

    call, plain.call = plain.call, refuse  # type: ignore[method-assign]
    try:
        plain.event(type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts="8.1")
        eventually(lambda: "Reference: `" in json.dumps(plain.said("8.1")))
    finally:
        plain.call = call  # type: ignore[method-assign]


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "link_disabled"])
def test_another_connection_follows_a_disconnect(plain: PlainSlack, reason: str) -> None:
    before = len(plain.sockets)
    plain.sockets[-1].send(json.dumps({"type": "disconnect", "reason": reason}))
    eventually(lambda: len(plain.sockets) > before)
    ts = f"9.{before}"
    late = plain.sockets[before - 1]
    envelope = {"envelope_id": f"late-{before}", "type": "events_api", "payload": {
        "type": "event_callback", "event": {
            "type": "app_mention", "channel": CHANNEL, "user": "U1", "text": AT, "ts": ts,
            "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "how often?"}}],
        }}}  # fmt: skip
    late.send(json.dumps(envelope))  # the old connection still counts
    answer_to(plain, ts)
    late.close()
    plain.event(type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts=f"{ts}9")
    answer_to(plain, f"{ts}9")


def test_what_is_no_envelope_is_passed_over(plain: PlainSlack) -> None:
    socket, before = plain.sockets[-1], len(plain.sockets)
    for noise in ("Ping from applink", "[]", "null", '{"type": "brand_new"}', b"\x00"):
        socket.send(noise)
    assert socket.ping(b"still there?").wait(10)
    plain.event(type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts="10.1")
    answer_to(plain, "10.1")
    assert len(plain.sockets) == before


def test_events_that_nobody_listens_to_are_acknowledged(plain: PlainSlack) -> None:
    unknown = plain.event(type="member_joined_channel", channel=CHANNEL, user="U1")
    eventually(lambda: plain.acked(unknown))
    pressed = plain.send(
        {"type": "block_actions", "actions": [{"action_id": "else"}]}, "interactive"
    )
    eventually(lambda: plain.acked(pressed))


def test_a_tick_on_anybody_s_message_costs_no_call(plain: PlainSlack, bot: Bot) -> None:
    plain.calls.clear()
    item = {"type": "message", "channel": "C0OTHER", "ts": "11.1"}
    envelope = plain.event(type="reaction_added", user="U1", reaction="white_check_mark", item=item)
    eventually(lambda: plain.acked(envelope))
    eventually(lambda: not bot.inbox.backlog())
    assert plain.calls == []


def test_a_press_is_placed_by_its_container(plain: PlainSlack, bot: Bot) -> None:
    plain.event(type="app_mention", channel=CHANNEL, user="U1", text=f"{AT} how?", ts="12.1")
    answer_to(plain, "12.1")
    plain.calls.clear()
    press = {
        "type": "block_actions",
        "user": {"id": "U1", "team_id": "T0"},
        "team": None,
        "container": {
            "type": "message", "message_ts": plain.said("12.1")[0]["ts"], "channel_id": CHANNEL,
            "thread_ts": "12.1",
        },
        "actions": [{"action_id": "answer_feedback", "value": f"helpful {CHANNEL}:12.1"}],
    }  # fmt: skip
    plain.send(press, "interactive")
    whisper = eventually(lambda: [g for m, g in plain.calls if m == "chat.postEphemeral"])[0]
    assert (whisper["channel"], whisper["thread_ts"]) == (CHANNEL, "12.1")
    week = timedelta(days=7)
    verdicts = bot.feedback.verdicts
    assert eventually(lambda: verdicts("security", now() - week, now() + week).helpful) == 1
