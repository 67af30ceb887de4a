"""Passages found: told apart from an answer at every place where Slack shows one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.answer import Passage, document_uses
from bot.blocks.fallbacks import fallback_versions, older_version, plain_version
from bot.blocks.render import ASK_HUMAN, SlackMessage, render
from bot.features.handoff.store import Handoff
from bot.features.handoff.views import card
from bot.questions.store import decode_answer, encode_answer
from playground.slack.rules.block_rules import problems, too_long
from tests.bot.blocks.test_reply import size
from tests.bot.conftest import Desk, answered, words
from tests.bot.fakes import CHANNEL, NO_MODEL, domain, passages_found
from tests.bot.features.home.test_views import RECORD

NOW = datetime.now(UTC)
TABLE = "| Key | Age |\n|---|---|\n| **API key** | 60 days |\n| Webhook | 365 days |"
AWAY = "The language model isn't answering right now, so here is where the documents speak of this:"


def shown(*texts: str, **more: Any) -> SlackMessage:
    (message,) = render(passages_found(*texts, **more), question_id="C1:1.0", now=NOW)
    return message


def bodies(message: SlackMessage) -> list[str]:
    return [block["text"] for block in message.blocks if block["type"] == "markdown"]


def titles(message: SlackMessage) -> list[str]:
    return [block["text"]["text"] for block in message.blocks if block["type"] == "section"]


def test_the_lead_then_each_passage_under_a_title_that_opens_it() -> None:
    message = shown("**Keys** live 90 days.", "- **keys** of staging: a year\n- none else")
    assert [block["type"] for block in message.blocks] == [
        "markdown", "section", "markdown", "section", "markdown", "context_actions", "actions",
    ]  # fmt: skip
    assert titles(message) == [
        f"*<https://docs.google.com/document/d/KEY/edit#heading=h.age{n}"
        f"|Key Rotation Standard › Part {n}>*{age}"
        for n, age in ((1, " · updated 3 months ago"), (2, ""))
    ]
    assert bodies(message) == [
        NO_MODEL, "> **Keys** live 90 days.", "- **keys** of staging: a year\n- none else"
    ]  # fmt: skip


def test_a_passage_of_a_file_names_its_page() -> None:
    found = passages_found()
    cited = replace(found.citations[0], page=12, modified_at=None)
    told = replace(found, passages=(replace(found.passages[0], citation=cited),))
    (message,) = render(told, question_id="C1:1.0", now=NOW)
    assert titles(message)[0].endswith("Part 1>* · page 12")


def test_no_confidence_is_claimed_and_no_link_comes_twice() -> None:
    everything = json.dumps(shown("One.", "Two.").blocks, ensure_ascii=False)
    assert "Confidence" not in everything
    assert "Sources" not in everything
    assert everything.count("h.age1") == 1


def test_a_human_is_offered_first_and_the_passages_can_be_judged() -> None:
    *_, verdict, human = shown().blocks
    assert verdict["elements"][0]["type"] == "feedback_buttons"
    assert human["elements"][0]["style"] == "primary"


def test_an_outage_is_told_once() -> None:
    message = shown(lead=AWAY, degraded=("query_optimizer", "answer"))
    assert str(message.blocks).lower().count("language model") == 1


def test_what_else_is_to_be_said_stands_below() -> None:
    (message,) = render(passages_found(), question_id="C1:1.0", notes=["I read its beginning."])
    assert "I read its beginning." in str(message.blocks)


def test_sentences_lists_code_and_a_table_of_one_passage_stay_apart() -> None:
    message = shown(f"Two ages.\n- one\n- two\n\nAnd more:\n{TABLE}\n\n```\nlockbox scan\n```")
    assert bodies(message)[1] == "> Two ages.\n\n- one\n- two\n\n> And more:"
    assert bodies(message)[2] == "```\nlockbox scan\n```"
    (table,) = [block for block in message.blocks if block["type"] == "data_table"]
    assert table["rows"][1][0] == {"type": "raw_text", "text": "API key"}
    assert table["caption"] == "2 rows"


def test_small_tables_are_slack_s_own_and_in_an_older_slack_one_is() -> None:
    wide = (
        "| Role | Longest elevation |\n|---|---|\n| hbr-admin | 8 hours in all of a day, no more |"
    )
    message = shown(TABLE, TABLE, wide)
    assert [block["type"] for block in message.blocks].count("data_table") == 2
    assert (
        bodies(message)[1] == "- **hbr-admin**: Longest elevation: 8 hours in all of a day, no more"
    )
    older = older_version(message)
    assert [block["type"] for block in older.blocks].count("table") == 1
    assert bodies(older)[1].startswith("```\nKey     | Age\n")


def test_a_wide_table_hides_nothing_at_the_side() -> None:
    head = "| Key | Maximum age | Where |\n|---|---|---|\n"
    message = shown(f"{head}| **API** signing key | 60 days in SG | Quay |")
    assert not any("table" in block["type"] for block in message.blocks)
    assert bodies(message)[1] == "- **API signing key**: Maximum age: 60 days in SG; Where: Quay"


def test_a_notification_reads_as_plain_words() -> None:
    message = shown("**Keys** live 90 days.", TABLE)
    assert message.text.splitlines()[:3] == [
        NO_MODEL, "Key Rotation Standard › Part 1 [1]", "Keys live 90 days."
    ]  # fmt: skip
    assert "**" not in message.text


def test_an_older_slack_gets_the_same() -> None:
    older = plain_version(shown("**Keys** live 90 days.", TABLE))
    told = [block["text"]["text"] for block in older.blocks if block["type"] == "section"]
    assert {block["type"] for block in older.blocks} == {"section", "actions"}
    assert told[2] == "> *Keys* live 90 days."
    assert told[4].startswith("```\nKey")


@pytest.mark.parametrize(
    "text",
    [
        "Tell <!channel> and @here, see https://evil.example/x or [this](https://evil.example)",
        "> <!here>\n\n- [x](https://evil.example)\n```\n<!everyone>\n```",
        "| a | b |\n|---|---|\n| <!channel> | https://evil.example |",
    ],
)
def test_documents_can_neither_ping_nor_link(text: str) -> None:
    message = shown(text, lead="<!channel> says:")
    for form in (message, plain_version(message)):
        sent = json.dumps(form.blocks, ensure_ascii=False)
        assert "<!" not in sent
        assert "](https://evil" not in sent
        assert "<https://evil" not in sent
        assert "@here" not in sent
    assert "<!" not in message.text


@given(st.lists(st.text(max_size=3_000), min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_any_excerpt_fits_slack(texts: list[str]) -> None:
    for message in render(passages_found(*texts), question_id="C1:1.0", now=NOW):
        assert size(message) < 13_000
        assert "<!" not in json.dumps(plain_version(message).blocks)
        for form in fallback_versions(message):
            assert problems(form.blocks) == []
            assert not too_long(form.blocks)


def test_what_is_kept_on_record_holds_the_passages() -> None:
    found = passages_found("One.", TABLE)
    kept = decode_answer(encode_answer(found))
    assert kept == found
    assert isinstance(kept.passages[0], Passage)
    assert document_uses(kept)["cited"] == ["key-rotation-standard"] * 2


def test_who_is_called_reads_that_there_was_no_answer_and_where_it_may_stand() -> None:
    record = replace(RECORD, answer=encode_answer(passages_found("One.")), path="passages_found")
    called = Handoff(
        question_id=record.id, channel=CHANNEL, card_ts="1.0", called="S0SECENG",
        requested_by="U0YOU", taken_by="", resolved_by="", resolution="",
    )  # fmt: skip
    text = json.dumps(card(record, called, domain(), NOW).blocks, ensure_ascii=False)
    assert "I gave no answer, only passages that speak of it." in text
    assert "*Passages shown*\\n• <https://docs.google.com" in text
    assert "Confidence" not in text
    assert "language model" not in text


def test_a_thread_gets_passages_and_a_human_can_be_asked(desk: Desk) -> None:
    found = passages_found("Keys live 90 days.")
    desk.agents.reply = found
    desk.agents.tell = lambda progress: progress.delta(found.text)
    ts, reply = desk.ask("how old do keys get?")
    assert "> Keys live 90 days." in words(reply)
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record is not None
    assert record.path == "passages_found"
    since = record.asked_at - timedelta(seconds=1)
    assert desk.bot.records.count(since, domain="security", path="passages_found") == 1
    desk.slack.click(CHANNEL, reply["ts"], ASK_HUMAN)
    handoff = desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "can you help" in words(m))
    assert "only passages that speak of it" in words(handoff)


def test_nobody_is_told_of_passages_unasked(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy",)
    desk.agents.reply = passages_found(confidence_parts={"evidence": 1.0})
    asked = desk.slack.post_as_user("C0PRIVACY", "does anybody have the slides?")
    desk.settle()
    assert len(desk.agents.asked) == 1
    assert not desk.said("C0PRIVACY", asked)


def test_a_follow_up_may_lean_on_passages(desk: Desk) -> None:
    desk.agents.reply = passages_found("Keys live 90 days.")
    ts, _ = desk.ask("how old do keys get?")
    desk.slack.post_as_user(CHANNEL, "and for API keys?", thread_ts=ts)
    desk.slack.wait_for(lambda: len([m for m in desk.said(CHANNEL, ts) if answered(m)]) == 2)
    assert "Keys live 90 days." in desk.agents.asked[-1].history[-1].content
