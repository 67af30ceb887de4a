"""A mention is answered in its thread: once, with sources, whatever Slack repeats."""

from __future__ import annotations

import time
from pathlib import Path

from agents.answer import Question
from bot.reply import METADATA_EVENT
from playground.slack import SlackStandIn
from tests.bot.conftest import CHANNEL, Agents, answer, domain, running


def answered(message: dict) -> bool:
    payload = message.get("metadata", {}).get("event_payload", {})
    return payload.get("state") == "answered"


def own(slack: SlackStandIn, channel: str = CHANNEL) -> list[dict]:
    return [m for m in slack.messages(channel) if m.get("user") == slack.bot_user_id]


def test_a_mention_is_answered_in_its_thread_with_sources(
    slack: SlackStandIn, agents: Agents, tmp_path: Path
) -> None:
    with running(slack, tmp_path, agents):
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often do we rotate keys?")
        reply = slack.wait_for_reply(CHANNEL, ts, until=answered)
    assert reply["blocks"][0]["text"] == "Rotate them every 90 days [1]."
    assert "KEY/edit#heading=h.age|Key Rotation Standard › Maximum age" in str(reply["blocks"])
    assert reply["metadata"]["event_type"] == METADATA_EVENT
    assert agents.asked[0].text == "how often do we rotate keys?"


def test_an_answer_keeps_the_thread_as_history(slack: SlackStandIn, tmp_path: Path) -> None:
    agents = Agents(lambda question: answer(f"You asked: {question.text}"))
    with running(slack, tmp_path, agents):
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how old may a signing key get?")
        slack.wait_for_reply(CHANNEL, ts, until=answered)
        slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> and in the EU?", thread_ts=ts)
        slack.wait_for(lambda: len(agents.asked) == 2)
    turns = agents.asked[1].history
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "how old may a signing key get?"),
        ("assistant", "You asked: how old may a signing key get?"),
    ]


def test_a_broken_agent_ends_in_an_apology_with_a_reference(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    def broken(question: Question) -> object:
        raise RuntimeError("the index is on fire")

    with running(slack, tmp_path, Agents(broken)) as bot:  # type: ignore[arg-type]
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often?")
        reply = slack.wait_for_reply(CHANNEL, ts, until=answered)
        record = bot.records.get(f"{CHANNEL}:{ts}")
    assert record is not None
    assert record.state == "failed"
    assert record.reference in reply["text"]
    assert "on fire" not in str(reply)


def test_a_channel_without_a_domain_is_told_so(
    slack: SlackStandIn, agents: Agents, tmp_path: Path
) -> None:
    with running(slack, tmp_path, agents, {"other": domain("other", "C0ELSEWHERE")}):
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often?")
        reply = slack.wait_for_reply(CHANNEL, ts)
    assert "<#C0ELSEWHERE>" in reply["text"] or "C0ELSEWHERE" in str(reply["blocks"])
    assert not agents.asked


def test_every_event_delivered_again_is_answered_once(
    slack: SlackStandIn, agents: Agents, tmp_path: Path
) -> None:
    with running(slack, tmp_path, agents) as bot:
        body = {
            "type": "event_callback",
            "event_id": "Ev1",
            "team_id": "T1",
            "event": {
                "type": "app_mention",
                "channel": CHANNEL,
                "user": "U0YOU",
                "text": f"<@{slack.bot_user_id}> how often?",
                "ts": slack.post_as_user(CHANNEL, "how often? (typed without the bot)"),
            },
        }
        for _ in range(3):
            bot.inbox.put("Ev1", {"event": body["event"], "team": "T1"})
        bot.inbox.put("Ev2", {"event": {**body["event"], "type": "message"}, "team": "T1"})
        slack.wait_for_reply(CHANNEL, body["event"]["ts"], until=answered)
        time.sleep(1.0)
        assert len(own(slack)) == 1
        assert len(agents.asked) == 1
