"""Whom the bot answers, by every door there is into a domain."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select

from agents.answer import Answer, Question
from bot.access.gate import (
    MAX_NOTICES_PER_HOUR,
    RefusalNotices,
    act_of,
)
from bot.blocks.render import FEEDBACK
from bot.features.answering.service import AnswerJob
from bot.questions.tables import FeedbackRow
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.errors import NothingPublished, PeopleUnknown
from index.permissions.acts import BY_HTTP, NEEDS, Act, Kind, Visitor, may
from index.permissions.rules import Person
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running, words
from tests.bot.crowd import (
    COLLEAGUE,
    FORMER,
    GUEST,
    MEMBER,
    PARTNER,
    PRIVATE,
    PUBLIC,
    direct,
    gather,
    leave,
)
from tests.bot.fakes import Agents, answer, claim, domain

VAULT_QUESTION, TEA_QUESTION = "who holds the vault's key?", "how long does tea steep?"
DOMAINS = {
    "vault": domain(
        "vault",
        PRIVATE,
        admins=[MEMBER, COLLEAGUE],
        escalation={"usergroup": "S0SECENG"},
        examples=[{"question": VAULT_QUESTION, "documents": ["keys"]}],
    ),
    "tea": domain(
        "tea",
        PUBLIC,
        examples=[{"question": TEA_QUESTION, "documents": ["green"]}],
    ),
    "open": domain("open", "C0GENERAL", access={"external": True}),
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with SlackStandIn(enforce_rate_limits=False) as slack:
        gather(slack)
        slack.workspace.channels["C0GENERAL"].members |= {GUEST, PARTNER}
        with running(slack, tmp_path_factory.mktemp("doors"), agents, DOMAINS) as bot:
            yield Desk(slack, bot, agents)


@pytest.fixture(autouse=True)
def fresh(running_desk: Desk) -> None:
    """Nobody was told anything yet."""
    running_desk.bot.intake.notices._by_user.clear()


def turned_away(desk: Desk, user: str) -> list[str]:
    """What somebody alone was told in a channel, from now on the last."""
    desk.settle()
    return [message["text"] for message in desk.slack.ephemerals(user)]


def in_private(desk: Desk, user: str, text: str) -> dict[str, Any]:
    """The bot's reply to a direct message."""
    channel = direct(user)
    ts = desk.slack.post_as_user(channel, text, user=user)
    return desk.slack.wait_for_reply(
        channel, ts, until=lambda m: answered(m) or not m.get("metadata")
    )


# The rule


def is_in(*channels: str) -> Any:
    return lambda channel: channel in channels


KINDS: tuple[Kind, ...] = ("member", "guest", "external", "former", "bot", "unknown")


def visitor(kind: Kind, user: str = MEMBER) -> Visitor:
    return Visitor(kind=kind, person=Person(slack_user=user))


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_else_is_let_in(external: bool, kind: Kind) -> None:
    """Members always may where they are; guests and externals where the domain says so; a bot,
    a former colleague and somebody unknown never."""
    asked = domain("tea", PUBLIC, access={"external": external}, admins=[MEMBER])
    welcome = kind == "member" or (external and kind in {"guest", "external"})
    for act in Act:
        need = NEEDS[act]
        inside = may(act, asked, visitor(kind), is_in(PUBLIC))
        outside = may(act, asked, visitor(kind), is_in(PRIVATE))
        if need in {"alert", "nothing"}:
            assert inside == outside == (need == "nothing" or kind == "bot")
        elif need in {"colleague", "admin"}:
            assert inside == outside == (kind == "member")
        else:
            assert inside == welcome
            assert outside == (kind == "member" and need == "authorship")


def test_a_token_acts_by_http_alone() -> None:
    """A program where its token opens a domain; an address that nobody could check where no
    channel says who may ask."""
    with_channel, without = domain("tea", PUBLIC), domain("new", channels=[])
    unverified = Visitor(kind="unverified", person=Person(email="may@tidewater.example"))
    for act in Act:
        for one in (with_channel, without):
            assert may(act, one, Visitor(kind="program"), is_in()) == (act in BY_HTTP)
        assert may(act, without, unverified, is_in()) == (act in BY_HTTP)
        assert may(act, with_channel, unverified, is_in()) == (NEEDS[act] == "nothing")


def test_only_an_admin_administers() -> None:
    asked = domain("tea", PUBLIC, admins=["U0INES"])
    assert may(Act.ADMINISTER, asked, visitor("member", "U0INES"), is_in())
    assert not may(Act.ADMINISTER, asked, visitor("member", "U0DANA"), is_in(PUBLIC))


def test_a_domain_without_channels_is_its_admins_alone() -> None:
    asked = Domain.model_validate(
        {"domain": "new", "title": "New", "sources": {}, "admins": ["U0INES"]}
        | {"access": {"external": True}}
    )
    assert may(Act.DIRECT_MESSAGE, asked, visitor("member", "U0INES"), is_in())
    assert not may(Act.DIRECT_MESSAGE, asked, visitor("member", "U0DANA"), is_in())
    assert not may(Act.DIRECT_MESSAGE, asked, visitor("guest", "U0INES"), is_in())


def test_every_question_comes_by_one_door() -> None:
    asked = {
        "channel": PUBLIC,
        "ts": "1.1",
        "thread_ts": "1.1",
        "user": "U1",
        "team": "",
        "text": "",
    }
    im = {**asked, "channel_type": "im", "mentioned": True}
    doors = {
        act_of(IncomingMessage(**values))  # type: ignore[arg-type]
        for values in (
            {**asked, "mentioned": True},
            asked,
            {**asked, "thread_ts": "1.0"},
            {**asked, "bot": "B1"},
            im,
            {**im, "context_channel": PUBLIC},
            {**asked, "mentioned": True, "by_shortcut": True},
            {**asked, "mentioned": True, "key": "1.1-clarify_0"},
        )
    }
    assert {act.value for act in doors} == {
        "mention", "unmentioned", "follow_up", "alert", "direct_message", "pane", "shortcut",
        "option",
    }  # fmt: skip


def test_one_is_told_once_a_question_and_a_few_times_an_hour() -> None:
    told = RefusalNotices()
    assert [told.once("U1", "1"), told.once("U1", "1")] == [True, False]
    assert [told.once("U1", str(n)) for n in range(2, MAX_NOTICES_PER_HOUR + 3)].count(True) == 4
    assert told.once("U2", "1")


# Direct messages, the pane, Home


def test_a_direct_message_opens_only_the_domains_of_ones_channels(desk: Desk) -> None:
    reply = in_private(desk, MEMBER, "who holds the key?")
    assert "90 days" in words(reply)
    assert set(desk.agents.domains) <= {"vault", "tea"}


def test_who_is_in_no_channel_is_told_so_and_which_public_ones_there_are(desk: Desk) -> None:
    reply = in_private(desk, COLLEAGUE, "who holds the key?")
    assert f"Join <#{PUBLIC}>" in reply["text"]
    assert PRIVATE not in reply["text"]
    assert not desk.agents.asked
    desk.settle()
    assert desk.bot.records.recent(asker=COLLEAGUE, limit=5) == [], "nothing is kept of it"


def test_the_refusal_does_not_depend_on_the_question(desk: Desk) -> None:
    replies = [
        in_private(desk, COLLEAGUE, text)["text"]
        for text in ("who holds the key?", "what is zorblax?", "show me the Vault Keys document")
    ]
    assert len(set(replies)) == 1


def test_who_leaves_a_channel_loses_its_domain(desk: Desk) -> None:
    leave(desk.slack, MEMBER, PRIVATE)
    desk.bot.gate.channels._channels_of._entries.clear()  # some minutes later
    try:
        in_private(desk, MEMBER, "who holds the key?")
        assert set(desk.agents.domains) == {"tea"}
    finally:
        desk.slack.workspace.channels[PRIVATE].members.add(MEMBER)
        desk.bot.gate.channels._channels_of._entries.clear()


@pytest.mark.parametrize("user", [GUEST, PARTNER])
def test_outsiders_get_only_what_is_open_to_them(desk: Desk, user: str) -> None:
    in_private(desk, user, "who holds the key?")
    assert set(desk.agents.domains) == {"open"}


def test_a_former_colleague_gets_nothing_and_no_word(desk: Desk) -> None:
    channel = direct(FORMER)
    ts = desk.slack.post_as_user(channel, "who holds the key?", user=FORMER)
    desk.settle()
    assert desk.said(channel, ts) == []
    assert not desk.agents.asked


def test_the_panes_channel_is_the_clients_word_and_opens_nothing(desk: Desk) -> None:
    def asked_beside(channel: str, user: str) -> None:
        begun = desk.slack.post_as_user(direct(user), "hello", user=user)
        desk.settle()
        desk.agents.reset()
        ts = f"{float(begun) + 1:.6f}"
        event = {
            "type": "message", "channel": direct(user), "channel_type": "im", "user": user,
            "text": "who holds the key?", "ts": ts, "thread_ts": begun,
            "assistant_thread": {"context": {"channel_id": channel}},
        }  # fmt: skip
        desk.bot.inbox.put(f"Ev-{ts}", {"event": event, "team": "T0TIDEWATER"})
        desk.settle()

    asked_beside(PRIVATE, COLLEAGUE)
    assert not desk.agents.asked
    asked_beside(PRIVATE, GUEST)
    assert set(desk.agents.domains) == {"open"}
    asked_beside(PUBLIC, MEMBER)
    assert set(desk.agents.domains) == {"tea"}


def home(desk: Desk, user: str) -> str:
    desk.slack.views.homes.pop(user, None)
    desk.slack.open_app("home", user)
    return json.dumps(desk.slack.wait_for(lambda: desk.slack.home(user)), ensure_ascii=False)


def test_the_home_lists_only_what_its_viewer_may_ask(desk: Desk) -> None:
    assert {TEA_QUESTION in home(desk, MEMBER), VAULT_QUESTION in home(desk, MEMBER)} == {True}
    shown = home(desk, GUEST)
    assert "Open help" in shown
    assert "Vault help" not in shown
    assert PRIVATE not in shown


def test_the_home_of_who_may_ask_nothing_says_why(desk: Desk) -> None:
    shown = home(desk, COLLEAGUE)
    assert f"Join <#{PUBLIC}>" in shown
    assert VAULT_QUESTION not in shown
    assert TEA_QUESTION not in shown


def test_an_admin_outside_a_private_channel_sees_counts_and_no_question(desk: Desk) -> None:
    desk.agents.reply = answer("No.", path="no_answer_found", confidence=0.1)
    desk.ask("where is the master key?", channel=PRIVATE, user=MEMBER)
    desk.settle()
    outside, inside = home(desk, COLLEAGUE), home(desk, MEMBER)
    assert "Vault help, for admins" in outside
    assert "a channel that you are not in · no answer found" in outside
    assert "master key" not in outside
    assert "master key" in inside


def test_suggested_prompts_are_of_ones_own_domains(desk: Desk) -> None:
    def suggested(user: str) -> str:
        desk.slack.workspace.prompts.clear()
        desk.slack.open_app("messages", user)
        desk.settle()
        return str(desk.slack.workspace.prompts)

    assert VAULT_QUESTION in suggested(MEMBER)
    assert suggested(COLLEAGUE) == "{}"
    assert suggested(GUEST) == "{}"


# Channels


@pytest.mark.parametrize("user", [GUEST, PARTNER])
def test_an_outsiders_mention_is_answered_to_them_alone_and_says_nothing(
    desk: Desk, user: str
) -> None:
    before = len(desk.slack.ephemerals(user))
    ts = desk.slack.post_as_user(PRIVATE, f"{desk.at} who holds the key?", user=user)
    desk.slack.wait_for(lambda: len(desk.slack.ephemerals(user)) > before)
    desk.settle()
    assert len(desk.slack.ephemerals(user)) == before + 1
    assert "I answer colleagues only" in desk.slack.ephemerals(user)[-1]["text"]
    assert desk.said(PRIVATE, ts) == []
    assert not desk.agents.asked


@pytest.mark.parametrize("user", [GUEST, PARTNER])
def test_a_domain_may_let_outsiders_in(desk: Desk, user: str) -> None:
    desk.ask("how long?", channel="C0GENERAL", user=user)


def test_a_flood_of_refused_questions_is_met_with_silence_and_costs_others_nothing(
    desk: Desk,
) -> None:
    before = len(desk.slack.ephemerals(GUEST))
    for number in range(MAX_NOTICES_PER_HOUR + 3):
        desk.slack.post_as_user(PRIVATE, f"{desk.at} who holds key {number}?", user=GUEST)
    assert len(turned_away(desk, GUEST)) == before + MAX_NOTICES_PER_HOUR
    desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)


def test_an_unknown_channel_is_told_of_public_ones_alone(desk: Desk) -> None:
    desk.slack.workspace.channels["C0PLATFORM"].members.add(COLLEAGUE)
    ts = desk.slack.post_as_user("C0PLATFORM", f"{desk.at} how long?", user=COLLEAGUE)
    reply = desk.slack.wait_for_reply("C0PLATFORM", ts)
    assert f"<#{PUBLIC}>" in reply["text"]
    assert PRIVATE not in words(reply)
    assert not desk.agents.asked


def test_in_an_unknown_channel_its_members_read_only_that_they_were_answered(desk: Desk) -> None:
    desk.slack.workspace.channels["C0PLATFORM"].members.add(MEMBER)
    desk.agents.reply = answer("The vault's key is Ada's [1].")
    ts = desk.slack.post_as_user("C0PLATFORM", f"{desk.at} {VAULT_QUESTION}", user=MEMBER)
    reply = desk.slack.wait_for_reply("C0PLATFORM", ts, until=answered)
    assert "privately" in words(reply)
    assert "Ada" not in words(reply)
    assert "`C0PLATFORM`" in words(reply)
    desk.settle()
    (alone,) = [m for m in desk.slack.messages(direct(MEMBER)) if "Ada" in words(m)]
    assert VAULT_QUESTION in words(alone)
    assert set(desk.agents.domains) <= {"vault", "tea", "open"}


def test_whoever_is_called_there_is_not_told_what_was_answered_privately(desk: Desk) -> None:
    desk.slack.workspace.channels["C0PLATFORM"].members.add(MEMBER)
    desk.agents.reply = answer("The vault's key is Grace's [1].")
    ts = desk.slack.post_as_user("C0PLATFORM", f"{desk.at} {VAULT_QUESTION}", user=MEMBER)
    desk.slack.wait_for_reply("C0PLATFORM", ts, until=answered)
    desk.settle()
    (alone,) = [m for m in desk.slack.messages(direct(MEMBER)) if "Grace" in words(m)]
    desk.slack.click(direct(MEMBER), alone["ts"], "ask_human", MEMBER)
    card = desk.slack.wait_for_reply("C0PLATFORM", ts, until=lambda m: "What I tried" in words(m))
    assert "Grace" not in words(card)
    assert "key-rotation" not in words(card)


def test_a_bare_mention_there_names_no_domain_to_its_members(desk: Desk) -> None:
    desk.slack.workspace.channels["C0PLATFORM"].members.add(MEMBER)
    ts = desk.slack.post_as_user("C0PLATFORM", desk.at, user=MEMBER)
    reply = desk.slack.wait_for_reply("C0PLATFORM", ts, until=answered)
    assert "Vault help" not in words(reply)
    desk.settle()
    assert "Vault help" in words(desk.slack.messages(direct(MEMBER))[-1])


def test_what_is_not_published_is_not_named_to_its_members_either(desk: Desk) -> None:
    desk.slack.workspace.channels["C0PLATFORM"].members.add(MEMBER)

    def nothing(question: Question) -> Answer:
        raise NothingPublished("vault")

    desk.agents.reply = nothing
    ts = desk.slack.post_as_user("C0PLATFORM", f"{desk.at} {VAULT_QUESTION}", user=MEMBER)
    reply = desk.slack.wait_for_reply("C0PLATFORM", ts, until=answered)
    for name in ("Vault help", "Tea help", "Open help", "ingest vault", "ingest open"):
        assert name not in words(reply)
    assert "nothing to answer from yet" in words(reply)


def test_a_shortcut_is_no_way_around(desk: Desk) -> None:
    ts = desk.slack.post_as_user(PRIVATE, "the key is lost, what now?", user=MEMBER)
    desk.slack.run_shortcut("ask_copilot", PRIVATE, ts, user=GUEST)
    assert "colleagues only" in turned_away(desk, GUEST)[-1]
    assert not desk.agents.asked
    desk.slack.run_shortcut("ask_copilot", PRIVATE, ts, user=MEMBER)
    desk.slack.wait_for_reply(PRIVATE, ts, until=answered)


def test_an_option_is_asked_as_who_chose_it(desk: Desk) -> None:
    options = ("who holds the old key?", "who holds the new key?")
    desk.agents.reply = answer("Which?", path="ambiguous_query", citations=(), options=options)
    ts, reply = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    desk.agents.reset()
    desk.slack.click(PRIVATE, reply["ts"], "clarify_0", user=GUEST)
    assert "colleagues only" in turned_away(desk, GUEST)[-1]
    assert not desk.agents.asked
    desk.slack.click(PRIVATE, reply["ts"], "clarify_0", user=MEMBER)
    desk.slack.wait_for_reply(PRIVATE, ts, until=lambda m: "90 days" in words(m))


def test_a_hand_off_is_moved_only_by_who_may_ask(desk: Desk) -> None:
    ts, reply = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    desk.slack.click(PRIVATE, reply["ts"], "ask_human", user=GUEST)
    assert "colleagues only" in turned_away(desk, GUEST)[-1]
    assert len(desk.said(PRIVATE, ts)) == 1
    desk.slack.click(PRIVATE, reply["ts"], "ask_human", user=MEMBER)
    card = desk.slack.wait_for_reply(PRIVATE, ts, until=lambda m: "What I tried" in words(m))
    desk.slack.click(PRIVATE, card["ts"], "handoff_take", user=PARTNER)
    desk.slack.add_reaction(PRIVATE, card["ts"], "white_check_mark", user=GUEST)
    desk.settle()
    handoff = desk.bot.handoffs.get(f"{PRIVATE}:{ts}")
    assert (handoff.taken_by, handoff.resolved_by) == ("", "")
    desk.slack.add_reaction(PRIVATE, card["ts"], "white_check_mark", user=MEMBER)
    desk.slack.wait_for_reply(PRIVATE, ts, until=lambda m: "Resolved by" in words(m))


def verdicts(desk: Desk, ts: str, channel: str = PRIVATE) -> dict[str, str]:
    """Person → verdict on the answer to a question."""
    desk.settle()
    query = select(FeedbackRow.user, FeedbackRow.verdict, FeedbackRow.correction)
    with desk.bot.engine.connect() as connection:
        rows = connection.execute(query.where(FeedbackRow.question_id == f"{channel}:{ts}"))
        return {row.user: row.correction or row.verdict for row in rows}


@contextmanager
def turned_guest(desk: Desk, user: str) -> Iterator[None]:
    before = desk.slack.workspace.people[user]
    desk.slack.workspace.welcome(dataclasses.replace(before, guest="single_channel"))
    desk.bot.gate.people._by_id._entries.clear()
    try:
        yield
    finally:
        desk.slack.workspace.welcome(before)
        desk.bot.gate.people._by_id._entries.clear()


CORRECTION = {
    "reason": {"value": {"type": "radio_buttons", "selected_option": {"value": "wrong"}}},
    "correction": {"value": {"type": "plain_text_input", "value": "It is Grace's."}},
    "source": {"value": {"type": "plain_text_input", "value": ""}},
}


def test_an_answer_is_judged_and_corrected_only_by_who_may_ask(desk: Desk) -> None:
    ts, reply = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    unhelpful = {"value": f"unhelpful {PRIVATE}:{ts}"}
    for user in (GUEST, PARTNER):
        desk.slack.click(PRIVATE, reply["ts"], FEEDBACK, user, chosen=unhelpful)
        assert "colleagues only" in turned_away(desk, user)[-1]
        assert desk.slack.view(user) is None
    assert verdicts(desk, ts) == {}
    desk.slack.click(PRIVATE, reply["ts"], FEEDBACK, MEMBER, chosen=unhelpful)
    desk.slack.wait_for(lambda: desk.slack.view(MEMBER))
    desk.settle()
    with turned_guest(desk, MEMBER):
        desk.slack.submit_view(CORRECTION, MEMBER)
        assert verdicts(desk, ts) == {MEMBER: "unhelpful"}
    desk.slack.click(PRIVATE, reply["ts"], FEEDBACK, MEMBER, chosen=unhelpful)
    desk.slack.wait_for(lambda: desk.slack.view(MEMBER))
    desk.slack.submit_view(CORRECTION, MEMBER)
    assert verdicts(desk, ts) == {MEMBER: "It is Grace's."}


def test_who_answers_for_an_answer_given_privately_is_its_asker(desk: Desk) -> None:
    """A press of anybody else's is none, by whatever way it comes."""
    desk.agents.reply = answer("The vault's key is Ada's [1].")
    direct_ts = desk.slack.post_as_user(direct(MEMBER), VAULT_QUESTION, user=MEMBER)
    desk.slack.wait_for_reply(direct(MEMBER), direct_ts, until=answered)
    desk.slack.workspace.channels["C0PLATFORM"].members |= {MEMBER, COLLEAGUE}
    other_ts = desk.slack.post_as_user("C0PLATFORM", f"{desk.at} {VAULT_QUESTION}", user=MEMBER)
    desk.slack.wait_for_reply("C0PLATFORM", other_ts, until=answered)
    for channel, ts in ((direct(MEMBER), direct_ts), ("C0PLATFORM", other_ts)):
        for user in (COLLEAGUE, GUEST, FORMER, MEMBER):
            given = {"question_id": f"{channel}:{ts}", "user": user, "verdict": "helpful", "at": ""}
            desk.bot.inbox.put(f"feedback-{ts}-{user}", {"feedback": given})
        assert verdicts(desk, ts, channel) == {MEMBER: "helpful"}


def test_presses_on_what_was_erased_since_do_nothing(desk: Desk) -> None:
    ts, _ = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    question = f"{PRIVATE}:{ts}"
    desk.slack.delete_message(PRIVATE, ts)
    desk.settle()
    by = {"question_id": question, "user": MEMBER}
    words_ = {"words": "Grace's.", "reason": "wrong", "source": ""}
    for kind, item in {
        "feedback": {**by, "verdict": "unhelpful", "at": ""},
        "correction": {**by, **words_},
        "flag_outdated": {**by, "number": 1, "words": "old"},
        "checklist_start": {**by, "at": "1.1"},
        "snooze": {
            **by,
            "id": "V1",
            "alert": "k",
            "reason": "Grace's.",
            "at": "2026-11-28T01:00:00",
            "until": "2026-11-28T02:00:00",
        },
        "snooze_stop": {"id": "V1", "user": MEMBER},
        "human": by,
        "take": by,
        "resolve": {**by, "resolution": "Grace's."},
    }.items():
        desk.bot.inbox.put(f"late-{kind}-{ts}", {kind: item})
    assert verdicts(desk, ts) == {}
    assert desk.bot.handoffs.get(question) is None
    assert desk.said(PRIVATE, ts) == []


def test_a_guest_who_becomes_a_colleague_in_mid_thread_is_answered_in_it(desk: Desk) -> None:
    guest = desk.slack.workspace.people[GUEST]
    ts = desk.slack.post_as_user(PUBLIC, f"{desk.at} how long does it steep?", user=GUEST)
    desk.settle()
    assert desk.said(PUBLIC, ts) == []
    desk.slack.workspace.welcome(dataclasses.replace(guest, guest=""))
    try:
        for entry in desk.bot.gate.people._by_id._entries.values():
            entry.fetched_at -= 31
        again = f"{desk.at} and green tea?"
        desk.slack.post_as_user(PUBLIC, again, thread_ts=ts, user=GUEST)
        desk.slack.wait_for_reply(PUBLIC, ts, until=answered)
    finally:
        desk.slack.workspace.welcome(guest)
        desk.bot.gate.people._by_id._entries.clear()


def test_the_last_press_counts_whichever_is_handled_last(desk: Desk) -> None:
    ts, _ = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    for at, verdict in (("1700000002.1", "helpful"), ("1700000001.1", "unhelpful")):
        given = {"question_id": f"{PRIVATE}:{ts}", "user": MEMBER, "verdict": verdict, "at": at}
        desk.bot.inbox.put(f"feedback-{ts}-{at}", {"feedback": given})
        desk.settle()
    assert verdicts(desk, ts) == {MEMBER: "helpful"}


def test_who_was_an_admin_and_is_a_guest_now_administers_nothing(desk: Desk) -> None:
    with turned_guest(desk, MEMBER):
        assert "for admins" not in home(desk, MEMBER)
    assert "Vault help, for admins" in home(desk, MEMBER)


def test_an_edit_is_answered_only_to_who_still_may_ask(desk: Desk) -> None:
    ts, _ = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    with turned_guest(desk, MEMBER):
        desk.slack.edit_message(PRIVATE, ts, f"{desk.at} who holds the master key?")
        desk.settle()
        assert len(desk.agents.asked) == 1
        assert len(desk.said(PRIVATE, ts)) == 1, "what was rightly said stays"


def test_no_question_is_answered_with_another_persons_permissions(desk: Desk) -> None:
    ts, _ = desk.ask("who holds the key?", channel=PRIVATE, user=MEMBER)
    record = desk.bot.records.get(f"{PRIVATE}:{ts}")
    assert record is not None
    event = dataclasses.replace(record.event, user=COLLEAGUE)
    desk.agents.asked.clear()
    desk.bot.intake.attempts.respond(
        AnswerJob(event=event, record=record, thread=[], domains=[DOMAINS["vault"]])
    )
    assert desk.agents.asked == []


def test_a_question_taken_up_again_is_checked_again(desk: Desk) -> None:
    ts = desk.slack.post_as_user(PRIVATE, "aside", user=GUEST)
    event = {
        "type": "app_mention", "channel": PRIVATE, "user": GUEST, "ts": ts,
        "text": f"{desk.at} who holds the key?",
    }  # fmt: skip
    question = f"{PRIVATE}:{ts}"
    # As it was left by a process that died before it could answer, when the guest was none yet.
    claim(
            desk.bot.records,
        question_id=question, event_id="Ev-before", channel=PRIVATE, thread_ts=ts, asker=GUEST,
        text="who holds the key?", domain="vault",
    )  # fmt: skip
    desk.bot.inbox.put("Ev-before", {"event": event, "team": "T0TIDEWATER"})
    desk.settle()
    record = desk.bot.records.get(question)
    assert record is not None
    assert (record.state, record.text) == ("withdrawn", "")
    assert not desk.agents.asked
    assert desk.said(PRIVATE, ts) == []


def test_what_slack_does_not_tell_is_closed_and_said_so(desk: Desk) -> None:
    memory = desk.bot.gate.people._by_id._entries
    memory.clear()
    desk.slack.faults.add("users.info", error="user_not_visible", count=50)
    reply = in_private(desk, MEMBER, "who holds the key?")
    assert "I can't tell who you are" in reply["text"]
    assert not desk.agents.asked
    memory.clear()


def test_a_question_waits_while_slack_is_out(desk: Desk) -> None:
    desk.bot.gate.people._by_id._entries.clear()
    desk.bot.gate.channels._channels_of._entries.clear()
    desk.slack.faults.add("users.conversations", status=503, count=3)
    reply = in_private(desk, MEMBER, "who holds the key?")
    assert "90 days" in words(reply)


# The API


def test_an_address_may_ask_what_its_person_may(desk: Desk) -> None:
    def may_ask(address: str, name: str) -> bool:
        gate = desk.bot.gate
        return gate.admits(Act.API_ASK, gate.by_address(address), DOMAINS[name])

    addresses = {user: f"{user.removeprefix('U0').lower()}@tidewater.example" for user in (
        MEMBER, COLLEAGUE, GUEST, PARTNER, FORMER)}  # fmt: skip
    let_in = {
        (user, name)
        for user, name in itertools.product(addresses, DOMAINS)
        if may_ask(addresses[user], name)
    }
    # Of an external account nobody here vouches for the address.
    assert let_in == {(MEMBER, "vault"), (MEMBER, "tea"), (GUEST, "open")}
    assert not may_ask("nobody@tidewater.example", "open")
    assert not may_ask("", "open")
    desk.slack.faults.add("users.lookupByEmail", status=429, retry_after=40, count=50)
    with pytest.raises(PeopleUnknown, match="try again in 40 seconds"):
        may_ask("late@tidewater.example", "open")
