"""*Ask a human* shows that it was used, by whom, and who came."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.blocks.fallbacks import fallback_versions
from bot.blocks.render import apology, render
from bot.features.handoff.views import USED, with_used_button
from bot.slack.messages import METADATA_EVENT
from playground.slack.rules.block_rules import problems
from tests.bot.conftest import Desk, answered, words
from tests.bot.fakes import CHANNEL, answer
from tests.bot.features.home.test_views import ASKED

AT = datetime(2026, 11, 24, 14, 5)


def used(desk: Desk, ts: str, message_ts: str) -> str:
    """The line in the button's place; empty while there is none."""
    for message in desk.slack.thread(CHANNEL, ts):
        if message["ts"] == message_ts:
            found = [b for b in message["blocks"] if b["block_id"] == USED]
            return words({"blocks": found}) if found and "ask_human" not in words(message) else ""
    return ""


def test_the_button_gives_way_to_who_asked_when_and_who_came(desk: Desk) -> None:
    ts, reply = desk.ask("who may see the furnace?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human", "U0INES")
    line = desk.slack.wait_for(lambda: used(desk, ts, reply["ts"]))
    assert re.search(r"A human was asked <!date\^\d+\^.*UTC> by <@U0INES>", line)
    card = desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "can you help" in words(m))
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> took it" in used(desk, ts, reply["ts"]))
    after = next(m for m in desk.said(CHANNEL, ts) if m["ts"] == reply["ts"])
    assert answered(after)
    assert "answer_feedback" in words(after)
    assert after["metadata"]["event_type"] == METADATA_EVENT


def test_where_slack_refuses_the_card_is_posted_all_the_same(desk: Desk) -> None:
    ts, reply = desk.ask("who may see the cellar?")
    desk.slack.faults.add("chat.update", error="cant_update_message")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "can you help" in words(m))
    desk.settle()
    desk.slack.faults.clear()
    assert "Ask a human" in words(next(m for m in desk.said(CHANNEL, ts)))


def test_every_form_of_an_answer_and_an_apology_can_show_it() -> None:
    told = replace(ASKED, requested_at=AT)
    sent = [*render(answer(), question_id="q"), apology("abc", question_id="q")]
    for form in (form for message in sent for form in fallback_versions(message)):
        blocks = with_used_button(form.blocks, told)
        assert "ask_human" not in str(blocks)
        assert "November 24 at 14:05 UTC" in str(blocks)
        assert problems(blocks) == []
        taken = with_used_button(blocks, replace(told, taken_by="U0DANA"))
        assert "<@U0DANA> took it" in str(taken)
        assert len(taken) == len(blocks)
        resolved = with_used_button(taken, replace(told, taken_by="U0DANA", resolved_by="U0INES"))
        assert "<@U0INES> resolved it" in str(resolved)


def test_other_buttons_beside_it_stay() -> None:
    mine: dict[str, Any] = {"type": "button", "action_id": "ask_human"}
    other: dict[str, Any] = {"type": "button", "action_id": "other"}
    blocks = with_used_button([{"type": "actions", "elements": [mine, other]}], ASKED)
    assert blocks[0]["elements"] == [other]
    assert "asked earlier" in str(blocks[1])
