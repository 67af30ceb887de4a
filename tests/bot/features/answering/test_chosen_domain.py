"""A question whose domain nobody named, as it is asked and answered in Slack."""

from __future__ import annotations

from typing import Any

from agents.answer import Answer, Question
from playground.slack.tidewater import SlackUser
from tests.agents.scripted import ScriptedModel
from tests.bot.conftest import Desk, answered, words
from tests.bot.crowd import direct
from tests.bot.fakes import answer, passages_found

YOU = direct("U0YOU")
QUESTION = "how long do we keep recorded calls?"


def asked(desk: Desk, text: str = QUESTION, thread_ts: str = "") -> dict[str, Any]:
    """The reply to a direct message."""
    ts = desk.slack.post_as_user(YOU, text, thread_ts=thread_ts or None)
    reply: dict[str, Any] = desk.slack.wait_for_reply(
        YOU, thread_ts or ts, until=lambda m: answered(m) and desk.answers(m) == f"{YOU}:{ts}"
    )
    return reply


def by_domain(desk: Desk, says: dict[str, Answer]) -> None:
    def reply(question: Question) -> Answer:
        return says[desk.agents.domains[-1]]

    desk.agents.reply = reply


def labels(message: dict[str, Any]) -> list[str]:
    return [
        element["text"]["text"]
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
    ]


def test_the_reply_says_which_domain_it_is_from(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy",)
    reply = asked(desk)
    assert "*Sources* from *Privacy help*" in words(reply)
    assert desk.agents.domains == ["privacy"]


def test_passages_of_two_that_are_close_stand_under_their_domains_names(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy", "security")
    by_domain(
        desk,
        {"privacy": passages_found("Two years."), "security": passages_found("Ninety days.")},
    )
    reply = asked(desk)
    said = words({**reply, "text": ""})
    assert said.index("From *Security help*") < said.index("Ninety days")
    assert said.index("From *Privacy help*") < said.index("Two years")
    assert "Ask Privacy help" in labels(reply)


def test_who_is_asked_back_chooses_with_a_click(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy", "security")
    desk.agents.model = ScriptedModel({"domain": {"areas": [1, 2]}})
    back = asked(desk)
    assert desk.agents.asked == []
    assert labels(back)[:2] == ["Security help", "Privacy help"]
    desk.agents.reply = answer("Two years [1].")
    desk.slack.click(YOU, back["ts"], "look_in_1")
    reply = desk.slack.wait_for_reply(
        YOU, back["thread_ts"], until=lambda m: "Two years" in words(m)
    )
    assert "Chosen: Privacy help" in words(reply)
    assert [one.text for one in desk.agents.asked] == [QUESTION]
    assert desk.agents.domains == ["privacy"]


def test_nobody_chooses_a_domain_that_they_may_not_ask(desk: Desk) -> None:
    desk.slack.workspace.welcome(
        SlackUser(id="U0NEW", handle="new", name="New", title=""), "C0SECURITY"
    )
    ts = desk.slack.post_as_user(direct("U0NEW"), QUESTION, user="U0NEW")
    desk.slack.wait_for_reply(direct("U0NEW"), ts, until=answered)
    desk.agents.domains.clear()
    desk.bot.inbox.put("look_in-y", {"asked": {
        "channel": direct("U0NEW"), "ts": ts, "thread_ts": ts, "user": "U0NEW", "team": "",
        "text": "", "files": [], "channel_type": "im", "mentioned": True, "key": "y",
        "domain": "privacy", "again": f"{direct('U0NEW')}:{ts}",
    }})  # fmt: skip
    desk.settle()
    assert desk.agents.domains == ["security"]


def test_a_choice_for_a_question_that_was_taken_back_does_nothing(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy", "security")
    desk.agents.model = ScriptedModel({"domain": {"areas": [1, 2]}})
    back = asked(desk)
    desk.bot.inbox.put("look_in-x", {"asked": {
        "channel": YOU, "ts": "1.0", "thread_ts": back["thread_ts"], "user": "U0YOU", "team": "",
        "text": "", "files": [], "channel_type": "im", "mentioned": True, "key": "x",
        "domain": "privacy", "again": "nobody:asked",
    }})  # fmt: skip
    desk.settle()
    assert desk.agents.asked == []
