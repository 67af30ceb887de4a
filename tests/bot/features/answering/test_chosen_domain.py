"""A question whose domain nobody named, as it is asked and answered in Slack."""

from __future__ import annotations

from typing import Any

from agents.answer import Answer, Question
from playground.slack.tidewater import SlackUser
from tests.agents.scripted import ScriptedModel
from tests.bot.conftest import Desk, answered, words
from tests.bot.crowd import direct
from tests.bot.fakes import CHANNEL, answer, passages_found

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


def test_a_press_repeats_only_what_was_asked_where_it_was_pressed(desk: Desk) -> None:
    """Whatever question its button names, and however well the person may see it elsewhere."""
    secret = desk.answers(asked(desk, "how long do we keep my secret calls?"))
    ts, reply = desk.ask("how long do we keep my open calls?")
    other, _ = desk.ask("how old may a key get?", user="U0DANA")
    question, dana = desk.answers(reply), direct("U0DANA")
    desk.agents.asked.clear()
    before = desk.slack.messages(dana)
    presses = (
        (CHANNEL, ts, "U0DANA", secret), (CHANNEL, ts, "U0YOU", secret),
        (CHANNEL, other, "U0DANA", question), ("C0PRIVACY", ts, "U0DANA", question),
        (dana, other, "U0DANA", secret), (dana, ts, "U0DANA", question),
    )  # fmt: skip
    for number, (channel, thread_ts, user, again) in enumerate(presses):
        desk.bot.inbox.put(f"look_in-{number}", {"asked": {
            "channel": channel, "ts": f"9.{number}", "thread_ts": thread_ts, "user": user,
            "team": "", "text": "", "files": [], "mentioned": True, "key": f"{number}",
            "channel_type": "im" if channel == dana else "channel", "domain": "security",
            "again": again,
        }})  # fmt: skip
    desk.settle()
    assert desk.agents.asked == []
    assert desk.slack.messages(dana) == before
