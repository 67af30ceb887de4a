"""A mention is answered in its thread: once, with sources, whatever Slack repeats."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from psycopg.errors import AdminShutdown, QueryCanceled, TooManyConnections
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from agents.answer import MAX_QUESTION_CHARS, Answer, Question
from bot.slack.messages import METADATA_EVENT
from config.errors import IndexUnavailable, NothingPublished, PublishError
from index.audit import AuditUnavailable
from playground.slack.tidewater import SlackUser
from tests.bot.conftest import Desk, answered, words
from tests.bot.fakes import CHANNEL, answer


def caused(error: Exception, by: Exception) -> Exception:
    error.__cause__ = by
    return error


OUTAGES = {
    "no connection left?": OperationalError("SELECT", {}, TooManyConnections()),
    "stopped?": OperationalError("SELECT", {}, AdminShutdown()),
    "too slow?": OperationalError("SELECT", {}, QueryCanceled()),
    "all in use?": NoFreeConnection("QueuePool limit"),
    "not recorded?": caused(AuditUnavailable("it can't be recorded"), AdminShutdown()),
    "not published?": caused(PublishError("the database failed"), AdminShutdown()),
}


def test_a_mention_is_answered_in_its_thread_with_sources(desk: Desk) -> None:
    _, reply = desk.ask("how often do we rotate keys?")
    assert reply["blocks"][0]["text"] == "Rotate them every 90 days [1]."
    assert "KEY/edit#heading=h.age|Key Rotation Standard › Maximum age" in words(reply)
    assert "updated 3 months ago" in words(reply)
    assert reply["metadata"]["event_type"] == METADATA_EVENT
    assert desk.agents.asked[0].text == "how often do we rotate keys?"
    assert desk.agents.domains == ["security"]


def test_a_message_that_is_too_long_is_read_at_both_ends_and_its_asker_told(desk: Desk) -> None:
    log = "error in line 7 " * 700
    _, reply = desk.ask(f"why does this fail? {log} it began after the key rotation")
    asked = desk.agents.asked[0].text
    assert len(asked) <= MAX_QUESTION_CHARS
    assert asked.startswith("why does this fail?")
    assert asked.endswith("after the key rotation")
    assert "longer than 8,000 characters: I read its beginning and its end" in words(reply)


def test_an_answer_that_was_cut_says_so(desk: Desk) -> None:
    desk.agents.reply = replace(answer("Rotate them every 90 days [1] and …"), cut=True)
    _, reply = desk.ask("how often do we rotate keys?")
    assert "ask for the part that is missing" in words(reply)


def test_an_answer_keeps_the_thread_as_history(desk: Desk) -> None:
    desk.agents.reply = lambda question: answer(f"You asked: {question.text}")
    ts, _ = desk.ask("how old may a signing key get?")
    desk.ask("and in the EU?", thread_ts=ts)
    turns = desk.agents.asked[1].history
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "how old may a signing key get?"),
        ("assistant", "You asked: how old may a signing key get?"),
    ]


def test_a_long_answer_comes_in_parts_and_history_reads_them_all(desk: Desk) -> None:
    text = "\n\n".join(f"Step {n}. " + "word " * 50 for n in range(80))
    desk.agents.reply = answer(text)
    ts, _ = desk.ask("all steps, please")
    desk.settle()
    parts = desk.said(CHANNEL, ts)
    assert [m["metadata"]["event_payload"]["part"] for m in parts] == list(range(len(parts)))
    assert len(parts) > 1
    desk.ask("and then?", thread_ts=ts)
    history = " ".join(turn.content for turn in desk.agents.asked[-1].history)
    assert "Step 0." in history
    assert "Step 79." in history


def test_a_bare_mention_in_a_thread_asks_about_the_message_before(desk: Desk) -> None:
    ts = desk.slack.post_as_user(CHANNEL, "how often do signing keys get rotated?", user="U0DANA")
    desk.ask("", thread_ts=ts)
    assert desk.agents.asked[-1].text == "how often do signing keys get rotated?"


def test_a_bare_mention_says_what_to_do(desk: Desk) -> None:
    _, reply = desk.ask("")
    assert "questions about *Security help*" in words(reply)
    assert not desk.agents.asked


def test_a_broken_agent_ends_in_an_apology_with_a_reference(desk: Desk) -> None:
    def broken(question: Question) -> Answer:
        raise RuntimeError("the index is on fire")

    desk.agents.reply = broken
    ts, reply = desk.ask("how often?")
    desk.settle()
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record is not None
    assert record.state == "failed"
    assert record.reference in reply["text"]
    assert "on fire" not in words(reply)


def test_a_domain_without_documents_says_what_to_run(desk: Desk) -> None:
    def empty(question: Question) -> Answer:
        raise NothingPublished("security")

    desk.agents.reply = empty
    _, reply = desk.ask("how often?")
    assert "oncall ingest security" in words(reply)


def test_an_index_that_cannot_be_opened_is_not_called_unread(desk: Desk) -> None:
    def elsewhere(question: Question) -> Answer:
        raise IndexUnavailable("made with another embedding model")

    desk.agents.reply = elsewhere
    _, reply = desk.ask("how often?")
    assert "can't be opened" in words(reply)
    assert "Ask a human" in words(reply)
    assert "oncall ingest" not in words(reply)


def test_a_database_that_falters_delays_an_answer_and_nothing_else(desk: Desk) -> None:
    attempts = Counter[str]()

    def falters(question: Question) -> Answer:
        attempts[question.text] += 1
        if attempts[question.text] == 1:
            raise OUTAGES[question.text]
        return answer()

    desk.agents.reply = falters
    asked = [desk.slack.post_as_user(CHANNEL, f"{desk.at} {outage}") for outage in OUTAGES]
    for ts in asked:
        reply = desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
        assert "Rotate them" in words(reply)
        desk.settle()
        assert len(desk.said(CHANNEL, ts)) == 1
        record = desk.bot.records.get(f"{CHANNEL}:{ts}")
        assert record is not None
        assert (record.state, record.reference) == ("posted", "")
    assert set(attempts.values()) == {2}


def test_a_channel_without_a_domain_is_told_so(desk: Desk) -> None:
    newcomer = SlackUser(id="U0NEW", handle="new", name="New", title="")
    desk.slack.workspace.welcome(newcomer, "C0GENERAL")
    _, reply = desk.ask("how often?", channel="C0GENERAL", user=newcomer.id)
    assert "C0SECURITY" in words(reply)
    assert "C0GENERAL" in words(reply)
    assert not desk.agents.asked


def test_events_delivered_again_and_in_two_kinds_are_answered_once(
    desk: Desk, tmp_path: Path
) -> None:
    ts = desk.slack.post_as_user(CHANNEL, "how often? (typed without the bot)")
    event = {
        "type": "app_mention",
        "channel": CHANNEL,
        "user": "U0YOU",
        "text": f"{desk.at} how often?",
        "ts": ts,
    }
    for _ in range(3):
        desk.bot.inbox.put("Ev-again", {"event": event, "team": "T1"})
        desk.bot.inbox.put("Ev-other", {"event": {**event, "type": "message"}, "team": "T1"})
    desk.settle()
    assert len(desk.said(CHANNEL, ts)) == 1
    assert len(desk.agents.asked) == 1
