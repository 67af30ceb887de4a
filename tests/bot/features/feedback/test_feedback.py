"""Feedback, hand-off to a human, and what is learned from both."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import yaml

from bot.blocks.render import FEEDBACK
from bot.features.owner_drafts.proposals import propose, to_yaml
from durable.database import now
from playground.slack.workspace import SlackError
from tests.bot.conftest import Desk, words
from tests.bot.fakes import CHANNEL, answer


def verdict(desk: Desk, reply: dict[str, Any], value: str, user: str = "U0YOU") -> None:
    chosen = {"value": f"{value} {desk.answers(reply)}"}
    desk.slack.click(CHANNEL, reply["ts"], FEEDBACK, user, chosen=chosen)
    desk.settle()


def proposals(desk: Desk, question: str) -> list[Any]:
    found = propose(desk.bot.engine, "security")
    return [proposal for proposal in found if proposal.question == question]


def test_helpful_is_counted_and_the_last_verdict_of_a_person_counts(desk: Desk) -> None:
    before = desk.bot.feedback.verdicts("security", now() - timedelta(hours=1), now())
    _, reply = desk.ask("how often do we rotate keys?")
    verdict(desk, reply, "unhelpful")
    verdict(desk, reply, "helpful")
    after = desk.bot.feedback.verdicts("security", now() - timedelta(hours=1), now())
    assert (after.helpful - before.helpful, after.unhelpful - before.unhelpful) == (1, 0)


def test_not_helpful_asks_why_and_the_correction_becomes_a_golden_question(desk: Desk) -> None:
    _, reply = desk.ask("how often do we rotate the root key?")
    verdict(desk, reply, "unhelpful", "U0INES")
    desk.slack.wait_for(lambda: desk.slack.view("U0INES"))
    desk.slack.submit_view(
        {
            "reason": {
                "value": {"type": "radio_buttons", "selected_option": {"value": "outdated"}}
            },
            "correction": {"value": {"type": "plain_text_input", "value": "Every 30 days."}},
            "source": {"value": {"type": "plain_text_input", "value": "Root key ceremony, 2.1"}},
        },
        "U0INES",
    )
    desk.settle()
    assert desk.slack.view("U0INES") is None
    proposal = proposals(desk, "how often do we rotate the root key?")[0]
    assert proposal.reference == "Every 30 days."
    assert proposal.source == "Root key ceremony, 2.1"
    assert (proposal.by, proposal.origin) == ("U0INES", "correction")
    entry = yaml.safe_load(to_yaml([proposal]))[0]
    assert entry["question"] == "how often do we rotate the root key?"
    assert entry["reference"] == "Every 30 days."


def test_a_human_is_called_takes_over_and_resolves(desk: Desk) -> None:
    ts, reply = desk.ask("who may see the vault?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    with suppress(SlackError):  # the button may be gone by now
        desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    card = desk.slack.wait_for_reply(CHANNEL, ts, until=is_card)
    assert "<!subteam^S0SECENG>" in words(card)
    assert "SecEng takes it from here" in words(card)
    assert "who may see the vault?" in words(card)
    assert "Key Rotation Standard › Maximum age" in words(card)
    assert "Confidence: medium" in words(card)

    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0INES")
    taken = desk.slack.wait_for_reply(
        CHANNEL, ts, until=lambda m: is_card(m) and "<@U0INES> is on it" in words(m)
    )
    assert "I'll take it" not in words(taken)

    desk.slack.click(CHANNEL, card["ts"], "handoff_resolve", "U0INES")
    desk.slack.wait_for(lambda: desk.slack.view("U0INES"))
    value = {"type": "plain_text_input", "value": "Vault admins only."}
    desk.slack.submit_view({"resolution": {"value": value}}, "U0INES")
    desk.slack.wait_for_reply(
        CHANNEL, ts, until=lambda m: is_card(m) and "Resolved by <@U0INES>" in words(m)
    )
    desk.settle()
    assert proposals(desk, "who may see the vault?")[0].reference == "Vault admins only."
    assert len([m for m in desk.said(CHANNEL, ts) if is_card(m)]) == 1
    root = desk.slack.thread(CHANNEL, ts)[0]
    assert root["reactions"][0]["name"] == "white_check_mark"


def test_a_tick_on_a_reply_resolves_with_its_words(desk: Desk) -> None:
    ts, reply = desk.ask("who may open the safe?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=is_card)
    human = desk.slack.post_as_user(CHANNEL, "Two of us, together.", thread_ts=ts, user="U0INES")
    desk.slack.add_reaction(CHANNEL, human, "white_check_mark", "U0YOU")
    desk.slack.wait_for(lambda: proposals(desk, "who may open the safe?"))
    assert proposals(desk, "who may open the safe?")[0].reference == "Two of us, together."


def test_a_tick_on_the_answer_marks_it_resolved(desk: Desk) -> None:
    ts, reply = desk.ask("how often do we rotate keys?")
    desk.slack.add_reaction(CHANNEL, reply["ts"], "white_check_mark")
    desk.settle()
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record is not None
    assert record.resolved_by == "U0YOU"


def test_without_anybody_configured_the_card_says_so(desk: Desk) -> None:
    ts, reply = desk.ask("how long do we keep calls?", channel="C0PRIVACY")
    desk.slack.click("C0PRIVACY", reply["ts"], "ask_human")
    card = desk.slack.wait_for_reply("C0PRIVACY", ts, until=is_card)
    assert "Nobody is configured" in words(card)


def test_the_home_shows_everyone_their_questions_and_admins_the_failing_ones(desk: Desk) -> None:
    desk.agents.reply = answer("No.", path="no_answer_found", citations=(), confidence=0.1)
    desk.ask("where is the <secret> bunker?", user="U0INES")
    desk.settle()
    desk.slack.open_app("home", "U0INES")
    home = desk.slack.wait_for(lambda: desk.slack.home("U0INES"))
    assert "Security help, for admins" in str(home["blocks"])
    assert "None yet. Run `oncall ingest security`" in str(home["blocks"])
    assert "Failing this week" in str(home["blocks"])
    assert "&lt;secret&gt; bunker" in str(home["blocks"])
    desk.slack.open_app("home", "U0DANA")
    plain = desk.slack.wait_for(lambda: desk.slack.home("U0DANA"))
    assert "for admins" not in str(plain["blocks"])
    assert "bunker" not in str(plain["blocks"])


def is_card(message: Any) -> bool:
    return bool((message.get("metadata") or {}).get("event_type") == "oncall_handoff")
