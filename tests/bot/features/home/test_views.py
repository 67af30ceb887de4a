"""Hand-off cards and App Home: what they show at each stage, without Slack."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.blocks.markdown import excerpt
from bot.feature import Verdicts
from bot.features.handoff.store import Handoff
from bot.features.handoff.views import card
from bot.features.home.views import IndexStatus, Report, blocks
from bot.questions.store import QuestionRecord, encode_answer, went_wrong
from tests.bot.fakes import answer, domain

NOW = datetime(2026, 11, 22, tzinfo=UTC)
RECORD = QuestionRecord(
    id="C0SECURITY:1700000000.000100",
    event_id="Ev1",
    domain="security",
    channel="C0SECURITY",
    thread_ts="1700000000.000100",
    asker="U0YOU",
    text="how old may a key get?",
    state="posted",
    answer=encode_answer(
        answer("**90 days** [1].\n\n| Tier | Age |\n|---|---|\n| `gold` | 30 days |")
    ),
    path="company_specific_rag_success",
    confidence=0.9,
    reference="",
    resolved_by="",
    asked_at=NOW,
)
ASKED = Handoff(
    question_id=RECORD.id, channel="C0SECURITY", card_ts="1.0", called="S0SECENG",
    requested_by="U0YOU", taken_by="", resolved_by="", resolution="",
)  # fmt: skip
DOMAIN = domain(escalation={"usergroup": "S0SECENG", "message": "They know."})


def shown(handoff: Handoff) -> str:
    return json.dumps(card(RECORD, handoff, DOMAIN, NOW).blocks, ensure_ascii=False)


def test_a_card_calls_somebody_with_what_was_tried_in_plain_words() -> None:
    text = shown(ASKED)
    assert "<!subteam^S0SECENG> can you help here?\\nThey know." in text
    assert "90 days [1].\\n• gold: Age: 30 days" in text
    assert "**" not in text
    assert "I'll take it" in text


def test_a_taken_card_calls_nobody_again() -> None:
    text = shown(replace(ASKED, taken_by="U0INES"))
    assert "<@U0INES> is on it" in text
    assert "S0SECENG" not in text
    assert "I'll take it" not in text


def test_a_resolved_card_shows_the_answer_instead_of_what_was_tried() -> None:
    text = shown(replace(ASKED, resolved_by="U0INES", resolution="45 days <now>\nsee the audit"))
    assert "Resolved by <@U0INES>" in text
    assert "> 45 days &lt;now&gt;\\n> see the audit" in text
    assert "90 days" not in text
    assert '"button"' not in text


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("## Heading\n\nA **bold** *move* with `code` and [a link](https://x.example).",
         "Heading\nA bold move with code and a link."),
        ("- one\n- two **2**", "• one\n• two 2"),
        ("| a | b | c |\n|---|---|---|\n| x | | z |", "• x: c: z"),
        ("```sh\nrm -rf *.tmp\n```", "rm -rf *.tmp"),
        ("word " * 100, "word " * 9 + "word…"),
    ],
)  # fmt: skip
def test_an_excerpt_is_plain_and_short(markdown: str, plain: str) -> None:
    assert excerpt(markdown, 50 if markdown.startswith("word") else 200) == plain


def home(mine: list[QuestionRecord], failing: list[QuestionRecord]) -> str:
    report = Report(
        domain=DOMAIN, index=IndexStatus(generation=3, documents=16, published_at=NOW),
        this_week=Verdicts(helpful=4, unhelpful=1), last_week=Verdicts(), questions=9, passages=4,
        failing=failing,
        readable={"C0SECURITY"},
    )  # fmt: skip
    found = list(blocks([], [report], mine, "https://x.slack.com"))
    return json.dumps(found, ensure_ascii=False)


def test_the_home_says_what_came_of_each_question() -> None:
    outcomes: dict[str, dict[str, Any]] = {
        "answered, high confidence": {},
        "no answer found": {"path": "no_answer_found", "confidence": 0.02},
        "asked back": {"path": "ambiguous_query"},
        "passages shown": {"path": "passages_found"},
        "failed, reference `1a2b`": {"state": "failed", "reference": "1a2b"},
        "not answered, too many questions": {"state": "limited"},
        "being answered": {"state": "working"},
        "resolved": {"resolved_by": "U0INES"},
    }
    for outcome, change in outcomes.items():
        assert f"· {outcome}" in home([replace(RECORD, **change)], [])


def test_a_question_is_linked_in_its_thread_even_when_it_was_an_option() -> None:
    option = replace(RECORD, id="C0SECURITY:1700000000.000200-clarify_1")
    link = "archives/C0SECURITY/p1700000000000100?thread_ts=1700000000.000100"
    assert link in home([option], [])


def test_admins_do_not_read_what_others_asked_in_direct_messages() -> None:
    private = replace(RECORD, channel="D0YOU", path="no_answer_found")
    assert "how old may a key get?" not in home([], [private])
    assert "a direct message · no answer found" in home([], [private])


def test_admins_are_told_how_many_were_given_passages_only() -> None:
    assert "9 (4 of them given passages only)" in home([], [])


def test_failing_is_what_helped_nobody() -> None:
    assert went_wrong(replace(RECORD, state="failed"))
    assert went_wrong(replace(RECORD, path="no_answer_found"))
    assert went_wrong(replace(RECORD, path="company_specific_rag_failure", confidence=0.3))
    assert not went_wrong(RECORD)
    assert not went_wrong(replace(RECORD, path="passages_found"))
    assert not went_wrong(replace(RECORD, state="failed", resolved_by="U0INES"))
    assert not went_wrong(replace(RECORD, state="limited", path="", confidence=0.0))
    assert not went_wrong(replace(RECORD, state="working", path="", confidence=0.0))
    assert not went_wrong(replace(RECORD, text="", path="", confidence=0.0))
