"""A placeholder does not outlive its question: where no answer comes, a human is offered."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import text, update

from agents.answer import Answer, Question
from bot.bus import inbox
from bot.features.answering import abandoned
from bot.features.answering.abandoned import AFTER
from bot.posting.posts import metadata_of
from bot.questions.store import QuestionRecord
from bot.questions.tables import QuestionRow
from bot.slack.messages import METADATA_EVENT
from config.errors import DatabaseAway
from durable.database import now
from tests.bot.conftest import Desk, answered, words
from tests.bot.fakes import CHANNEL, answer, claim


def test_when_the_inbox_gives_up_the_placeholder_becomes_an_offer_of_a_human(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(question: Question) -> Answer:
        raise DatabaseAway("the database can't be reached")

    monkeypatch.setitem(inbox._PAUSES, "storage", (0.01,))
    monkeypatch.setattr(abandoned, "SOON", timedelta(seconds=1))
    desk.agents.reply = away
    ts, reply = desk.ask("how often?")
    assert "Ask a human" in words(reply)
    desk.settle()
    assert len(desk.said(CHANNEL, ts)) == 1
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record is not None
    assert record.state == "failed"
    assert record.reference in reply["text"]


def left_behind(desk: Desk, ts: str, state: str = "") -> None:
    """A question whose event has ended without a last word; `state`: of the bot's message."""
    claim(
        desk.bot.records, question_id=f"{CHANNEL}:{ts}", event_id=f"Ev-{ts}", asker="U0YOU",
        channel=CHANNEL, thread_ts=ts, text="how often?", domain="security",
    )  # fmt: skip
    change = update(QuestionRow).where(QuestionRow.id == f"{CHANNEL}:{ts}")
    with desk.bot.engine.begin() as connection:
        connection.execute(change.values(asked_at=now() - AFTER - timedelta(minutes=1)))
    if state:
        desk.bot.web.call(
            "chat.postMessage", channel=CHANNEL, thread_ts=ts, text="Every 90 days",
            metadata=metadata_of(METADATA_EVENT, f"{CHANNEL}:{ts}", part=0, state=state),
        )  # fmt: skip


def test_what_nobody_works_on_any_more_gets_a_last_word_once(desk: Desk) -> None:
    going_on = threading.Event()

    def slow(question: Question) -> Answer:
        going_on.wait(60)
        return answer()

    asked = desk.slack.post_as_user
    mentions = [asked(CHANNEL, "typed before the bot was there, how often?") for _ in range(3)]
    waiting, unseen, silent = mentions
    mention = asked(CHANNEL, f"in passing: {desk.at}")
    desk.settle()
    left_behind(desk, waiting, "working")
    left_behind(desk, unseen, "answered")
    left_behind(desk, silent)
    desk.agents.reply = slow
    handled = asked(CHANNEL, f"{desk.at} and this?")
    desk.slack.wait_for(lambda: desk.said(CHANNEL, handled))
    for _ in range(2):
        for feature in desk.bot.features:
            if feature.plan:
                feature.plan()
        desk.bot.clock.tick()
    desk.slack.wait_for(lambda: any(map(answered, desk.said(CHANNEL, waiting))))
    going_on.set()
    desk.settle()
    said = {ts: desk.said(CHANNEL, ts) for ts in (waiting, unseen, silent, handled, mention)}
    assert {ts: len(posts) for ts, posts in said.items()} == {
        waiting: 1, unseen: 1, silent: 0, handled: 1, mention: 1,
    }  # fmt: skip
    assert "Ask a human" in words(said[waiting][0])
    assert "Every 90 days" in words(said[unseen][0])
    assert "Rotate them" in words(said[handled][0])
    states = [state_of(desk, ts) for ts in (waiting, unseen, silent, handled)]
    assert states == ["failed", "posted", "silent", "posted"]


def test_without_its_tables_a_question_gets_a_last_word_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(inbox._PAUSES, "other", (0.01,))
    begun, going_on = threading.Event(), threading.Event()

    def slow(question: Question) -> Answer:
        begun.set()
        going_on.wait(60)
        return answer()

    desk.agents.reply = slow
    first = desk.slack.post_as_user(CHANNEL, f"{desk.at} how often?")
    assert begun.wait(60)
    with desk.bot.engine.begin() as connection:
        connection.execute(text("ALTER TABLE bot_questions RENAME TO away"))
    try:
        second = desk.slack.post_as_user(CHANNEL, f"{desk.at} and this?")
        beside = desk.slack.post_as_user(CHANNEL, "nothing for the bot?")
        going_on.set()
        desk.slack.wait_for(
            lambda: all(any(map(answered, desk.said(CHANNEL, ts))) for ts in (first, second))
        )
        desk.settle()
    finally:
        with desk.bot.engine.begin() as connection:
            connection.execute(text("ALTER TABLE away RENAME TO bot_questions"))
    for ts in (first, second):
        assert ["Ask a human" in words(one) for one in desk.said(CHANNEL, ts)] == [True]
    assert desk.said(CHANNEL, beside) == []


def test_a_look_that_slack_refuses_is_not_the_last_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts = desk.slack.post_as_user(CHANNEL, "typed before the bot was there, how often?")
    desk.settle()
    left_behind(desk, ts, "working")
    desk.slack.faults.add("conversations.replies", error="not_in_channel", count=10)
    look(desk)
    desk.slack.faults.clear()
    assert not any(map(answered, desk.said(CHANNEL, ts)))
    monkeypatch.setattr(abandoned, "AGAIN", timedelta(seconds=1))
    look(desk)
    assert ["Ask a human" in words(one) for one in desk.said(CHANNEL, ts)] == [True]


def look(desk: Desk) -> None:
    for feature in desk.bot.features:
        if feature.plan:
            feature.plan()
    desk.bot.clock.tick()
    desk.settle()


def state_of(desk: Desk, ts: str) -> str:
    record: QuestionRecord | None = desk.bot.records.get(f"{CHANNEL}:{ts}")
    return record.state if record else ""
