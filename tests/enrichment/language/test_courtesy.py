from __future__ import annotations

import pytest

from agents.extractive.conversation import small_talk_reply
from bot.slack.messages import is_question
from enrichment.language.phrases import is_courtesy, is_greeting

COURTESIES = [
    "thanks!",
    "ok great, thanks! :pray:",
    "solved",
    "done",
    "will do",
    "got it, will do",
    "that helped",
    "that works",
    "cheers mate",
    "no worries",
    "never mind",
    "that was it, thanks a lot",
    "Thank you so much everyone",
    "awesome job, bot",
]
YES_OR_NO = ["yes", "No.", "no no"]
WITHOUT_WORDS = ["👍", ":+1:", "🙏 🎉", ":pray: :tada:"]
NOT = [
    "",
    "!!!",
    "thanks?",
    "thanks! how often do keys rotate",
    "will it do",
    "do it",
    "no keys",
    "yes, for contractors",
    "good morning, vault is down",
    "who solved the outage",
]
GREETINGS = ["hi", "good morning", "hello there", "hey team", "morning all"]


@pytest.mark.parametrize("text", COURTESIES)
def test_courtesy_is_answered_with_courtesy_and_is_no_question(text: str) -> None:
    assert is_courtesy(text)
    assert small_talk_reply(text, "Help").startswith("You're welcome")
    assert not is_question(text)


@pytest.mark.parametrize("text", YES_OR_NO)
def test_yes_and_no_are_no_question_and_no_thanks(text: str) -> None:
    assert not is_question(text)
    assert small_talk_reply(text, "Help") == ""


@pytest.mark.parametrize("text", WITHOUT_WORDS)
def test_an_emoji_alone_is_a_courtesy(text: str) -> None:
    assert is_courtesy(text)


@pytest.mark.parametrize("text", NOT)
def test_what_says_or_asks_something_is_no_courtesy(text: str) -> None:
    assert not is_courtesy(text)


@pytest.mark.parametrize("text", GREETINGS)
def test_a_greeting_is_greeted_and_no_courtesy(text: str) -> None:
    assert is_greeting(text)
    assert not is_courtesy(text)
    assert small_talk_reply(text, "Help").startswith("Hi!")
