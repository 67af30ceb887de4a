"""What the bot itself knows is told in the thread; all else goes to the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from config.domain import Domain
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running, words
from tests.bot.fakes import CHANNEL, Agents, answer, domain

LIMITS = {"questions_per_user_per_hour": 10_000}
LEADS = {"user": "U0DANA", "after_minutes": 30, "name": "Platform leads"}
NONE = answer("No.", path="no_answer_found", citations=(), confidence=0.1)
DOMAINS: dict[str, Domain] = {}


@pytest.fixture(scope="module")
def open_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents, folder = Agents(), tmp_path_factory.mktemp("desk")
    escalates(None)
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, DOMAINS) as bot,
    ):
        bot.clock.stop()
        yield Desk(slack, bot, agents)


@pytest.fixture
def desk(open_desk: Desk, tmp_path: Path) -> Desk:
    open_desk.settle()
    open_desk.agents.reset(NONE)
    open_desk.bot.handoffs.rotas._entries.clear()
    now = datetime.now(UTC)
    turns = [(-20 * 24, -1, "U0DANA"), (-1, 8, "U0INES"), (8, 20, "U0DANA"), (30, 40, "U0INES")]
    rota = [
        f"- {{from: {now + timedelta(hours=start):%Y-%m-%dT%H:%M:%SZ}, "
        f"to: {now + timedelta(hours=end):%Y-%m-%dT%H:%M:%SZ}, user: {who}}}"
        for start, end, who in turns
    ]
    (tmp_path / "rota.yaml").write_text("\n".join(rota), encoding="utf-8")
    escalates(tmp_path)
    return open_desk


def escalates(path: Path | None, escalation: Mapping[str, Any] | None = None, **more: Any) -> None:
    by_rota = {"rota": "rota.yaml", "levels": [LEADS], "time_zone": "Europe/Berlin"}
    made = domain(limits=LIMITS, escalation=by_rota if escalation is None else escalation, **more)
    DOMAINS["security"] = made.read_from((path or Path()) / "security.yaml")
    for name in ("privacy", "platform"):
        DOMAINS[name] = domain(name, f"C0{name.upper()}", limits=LIMITS)


def reply(desk: Desk, text: str, **more: Any) -> str:
    """Of the bot itself: the agents were not asked."""
    before = len(desk.agents.asked)
    _, message = desk.ask(text, **more)
    desk.settle()
    assert len(desk.agents.asked) == before
    return words(message)


def goes_to_documents(desk: Desk, text: str, **more: Any) -> bool:
    before = len(desk.agents.asked)
    desk.ask(text, **more)
    return len(desk.agents.asked) == before + 1


@pytest.mark.parametrize(
    "text",
    ["who is on call right now?", "who's on-call for the security team?", "who's next on call?"],
)
def test_who_is_on_call_is_told_by_the_rota_and_notifies_nobody(desk: Desk, text: str) -> None:
    said = reply(desk, text)
    assert "/team/U0INES|Ines Okafor> is on call until " in said
    assert "(Europe/Berlin)" in said
    assert "• <" in said
    assert "/team/U0DANA|Dana Whitlock> from " in said
    assert "<@" not in said
    assert "ask_human" in said


@pytest.mark.parametrize(
    "text",
    [
        "who is on call for the database on weekends according to the policy?",
        "who do I call when a laptop is stolen?",
        "who is on call for privacy?",  # another channel's
        "how do I escalate an incident?",
        "what is open on weekends?",
    ],
)
def test_what_names_anything_else_goes_to_the_documents(desk: Desk, text: str) -> None:
    assert goes_to_documents(desk, text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("who was on call 2 days ago?", "Dana Whitlock"),
        ("who was on call for security yesterday at 3 am?", "Dana Whitlock"),
        ("who had the pager 2 hours ago", "Dana Whitlock"),
        ("who will be on call in 3 hours", "Ines Okafor"),
        ("who is on call in 10 hours for the security team?", "Dana Whitlock"),
        ("who's on call in 25 hours?", "nobody until"),
        ("is anybody on call in 60 hours", "nobody"),
    ],
)
def test_another_time_is_told_by_the_rota_with_what_was_understood(
    desk: Desk, text: str, named: str
) -> None:
    said = reply(desk, text)
    assert named in said
    assert "(Europe/Berlin" in said
    assert ("as the rota says now" in said) == (text.startswith(("who was", "who had")))
    assert "<@" not in said


def test_every_turn_and_gap_of_a_period_is_told(desk: Desk) -> None:
    said = reply(desk, "who is on call in 2 days?") + reply(desk, "who is on call next week?")
    assert "nobody" in said
    said = reply(desk, "who is on call tomorrow?") + reply(desk, "who is on call today?")
    assert "• <" in said
    assert " until " in said


def test_the_past_beyond_the_copy_is_read_again(desk: Desk) -> None:
    assert "Dana Whitlock" in reply(desk, "who was on call 18 days ago?")
    assert ": nobody" in reply(desk, "who was on call 300 days ago?")


def test_the_asker_s_own_clock_is_told_where_it_differs(desk: Desk) -> None:
    people = desk.slack.workspace.people
    people["U0AWAY"] = replace(people["U0YOU"], id="U0AWAY", timezone="America/New_York")
    desk.slack.workspace.channels[CHANNEL].members.add("U0AWAY")
    assert "in America/New_York" in reply(desk, "who is on call in 3 hours?", user="U0AWAY")


def test_when_somebody_is_on_call_is_told_to_whoever_asks(desk: Desk) -> None:
    mine = reply(desk, "when am I next on call?", user="U0DANA")
    assert (
        "*Security help*, the next 90 days (Europe/Berlin): you are next on call\\n• from " in mine
    )
    assert mine.count("• ") == 2  # in the blocks, and in the text for notifications
    assert "until" in mine
    now = reply(desk, "am I on call?", user="U0INES")
    assert "(Europe/Berlin): you are on call\\n• until " in now
    assert now.count("• ") == 4
    none = reply(desk, "when is my next shift?")
    assert "you are not on call, says the rota" in none
    hers = reply(desk, "when is Ines next on call?")
    assert "/team/U0INES|Ines Okafor> is on call" in hers
    away = reply(desk, "is Ines on call in 25 hours?")
    assert "/team/U0INES|Ines Okafor> is not on call, says the rota" in away
    assert "you are not on call" in reply(desk, "am I on call in 25 hours?", user="U0INES")
    assert "<@" not in mine + now + none + hers


@pytest.mark.parametrize(
    "text",
    [
        "when is Zoe on call?",
        "is the database on call?",
        "is the team on call?",
        "when is the on call",
    ],
)
def test_whom_no_rota_names_goes_to_the_documents(desk: Desk, text: str) -> None:
    assert goes_to_documents(desk, text)


def test_somebody_in_a_group_of_the_rota_is_on_call_with_it(desk: Desk, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    shift = (
        f"- {{from: {now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}, "
        f"to: {now + timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}, user: S0SECENG}}"
    )
    (tmp_path / "rota.yaml").write_text(shift, encoding="utf-8")
    assert "you are on call" in reply(desk, "am I on call?", user="U0INES")
    assert "SecEng on-call" in reply(desk, "who is on call in an hour?")


def test_an_address_that_slack_does_not_know_is_told_as_such(desk: Desk, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    shift = (
        f"- {{from: {now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}, "
        f"to: {now + timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}, user: gone@tidewater.example}}"
    )
    (tmp_path / "rota.yaml").write_text(shift, encoding="utf-8")
    said = reply(desk, "who is on call in an hour?")
    assert "somebody whom Slack doesn't know until" in said
    assert "gone@" not in said
    assert "you are not" not in (mine := reply(desk, "am I on call?"))
    assert "the rota names somebody whom I can't find in Slack now, so I can't tell" in mine


def test_a_time_is_not_told_from_a_rota_that_cannot_be_read(desk: Desk, tmp_path: Path) -> None:
    escalates(tmp_path, {"rota": "gone.yaml", "user": "U0MAREK"})
    for text in ("who was on call last night?", "when am I next on call?"):
        assert "the rota can't be read, so I can't tell" in reply(desk, text)


def test_without_a_rota_nobody_knows_who_it_was(desk: Desk, tmp_path: Path) -> None:
    escalates(tmp_path, {"user": "U0MAREK"})
    assert "no rota that says who it was" in reply(desk, "who was on call last night?")
    assert "*Ask a human* calls <" in reply(desk, "who is on call tomorrow?")
    assert goes_to_documents(desk, "when am I next on call?")


def test_how_to_reach_them_is_the_escalation(desk: Desk) -> None:
    said = reply(desk, "how do I reach the person on call?")
    assert "*Ask a human* calls, until somebody takes it" in said
    assert "/team/U0INES|" in said


def test_without_anybody_configured_the_documents_are_asked(desk: Desk, tmp_path: Path) -> None:
    escalates(tmp_path, {})
    assert goes_to_documents(desk, "who is on call?")
    assert goes_to_documents(desk, "how do I escalate?")
    assert goes_to_documents(desk, "who is on call?", channel="C0PRIVACY")


def test_a_group_is_named_with_its_members(desk: Desk, tmp_path: Path) -> None:
    escalates(tmp_path, {"usergroup": "S0SECENG"})
    said = reply(desk, "who is on call?")
    assert "there is no rota, *Ask a human* calls *SecEng on-call* (<" in said
    assert "Ines Okafor" in said
    assert "subteam" not in said


def test_how_to_escalate_is_told_step_by_step(desk: Desk) -> None:
    said = reply(desk, "how do I escalate?")
    assert "1. <" in said
    assert "Ines Okafor> is on call until" in said
    assert "2. 15 minutes later the same once more" in said
    assert "3. 30 minutes later *Platform leads*: <" in said


def test_a_rota_that_cannot_be_read_is_told_with_who_is_called(desk: Desk, tmp_path: Path) -> None:
    escalates(tmp_path, {"rota": "gone.yaml", "user": "U0MAREK"})
    said = reply(desk, "who is on call?")
    assert "Marek Vos> (the rota can't be read)" in said


def test_in_a_direct_message_each_domain_tells_its_own(desk: Desk) -> None:
    mine = desk.slack.workspace.direct("U0YOU").id
    said = reply(desk, "who is on call?", channel=mine)
    assert "*Security help*: " in said
    assert "Privacy help" not in said


def test_a_human_can_be_asked_from_there(desk: Desk) -> None:
    ts, message = desk.ask("how do I escalate?")
    desk.slack.click(CHANNEL, message["ts"], "ask_human")
    card = desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    assert "<@U0INES> can you help here?" in words(card)
    assert "Ines Okafor" not in words(card)


def test_what_is_open_here_is_told_and_nothing_of_other_channels(desk: Desk) -> None:
    ts, message = desk.ask("where is the bunker?")
    desk.slack.click(CHANNEL, message["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    desk.ask("where is the lighthouse?")
    desk.ask("where is the vault?", channel="C0PRIVACY")
    desk.ask("where is the secret?", channel=desk.slack.workspace.direct("U0YOU").id)
    said = reply(desk, "what's open in this channel?")
    assert "*Waiting for a human*" in said
    assert "where is the bunker?> · *nobody has taken it*" in said
    assert "lighthouse?> · no answer found" in said
    assert "vault" not in said
    assert "secret" not in said
    assert " more " not in said
    other = reply(desk, "anything still open here?", channel="C0PRIVACY")
    assert "vault" in other
    assert "bunker" not in other


def test_nothing_open_is_told_to_whoever_asks(desk: Desk) -> None:
    assert "Nothing is open in this channel." in reply(desk, "what is open?", channel="C0PLATFORM")


def test_what_it_can_do_is_what_is_set_up(desk: Desk) -> None:
    said = reply(desk, "what can you do?")
    assert "*Security help*" in said
    assert "who is on call" in said
    assert "what is open in this channel" in said
    assert "who is on call" not in reply(desk, "help", channel="C0PRIVACY")
    assert "*Security help*" in reply(desk, "")


def test_an_edit_into_such_a_question_replaces_the_answer(desk: Desk) -> None:
    ts, _ = desk.ask("where is the bunker?")
    desk.slack.edit_message(CHANNEL, ts, f"{desk.at} who is on call?")
    desk.settle()
    (message,) = [one for one in desk.said(CHANNEL, ts) if one]
    assert "Ines Okafor" in words(message)


def test_it_counts_as_no_question_to_the_documents(desk: Desk) -> None:
    ts, _ = desk.ask("who is on call?")
    desk.settle()
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record
    assert (record.state, record.path) == ("posted", "small_talk")
    assert "Ines" not in str(record.answer)


def test_unaddressed_it_tells_who_is_on_call_and_leaves_the_rest_to_colleagues(
    desk: Desk, tmp_path: Path
) -> None:
    escalates(tmp_path, answer={"when": "question"})
    ts = desk.slack.post_as_user(CHANNEL, "who is on call?")
    assert "Ines Okafor" in words(desk.slack.wait_for_reply(CHANNEL, ts, until=answered))
    ts = desk.slack.post_as_user(CHANNEL, "any open questions?")
    desk.settle()
    assert desk.said(CHANNEL, ts) == []
