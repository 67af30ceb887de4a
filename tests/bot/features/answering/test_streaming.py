"""Progress in Slack: streams with the right recipients, and what happens where they fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.steps import Progress, Step
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import DOMAINS, Desk, answered, running, words
from tests.bot.fakes import CHANNEL, Agents, answer

TEXT = "Rotate them every **90 days** [1]. Ask <!channel> or see https://evil.example now. "


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("s"), agents, DOMAINS, streaming=True) as bot,
    ):
        yield Desk(slack, bot, agents)


@pytest.fixture
def desk(running_desk: Desk) -> Desk:
    running_desk.settle()  # what the test before began
    running_desk.agents.reset(answer(TEXT))
    running_desk.agents.tell = lambda progress: progress.delta(TEXT)
    running_desk.agents.seconds = 0.3
    running_desk.bot.attempts.pace.streams_until = 0.0
    running_desk.bot.attempts.pace.paused_until = 0.0
    running_desk.slack.workspace.stream_lifetime = 300.0
    running_desk.slack.workspace.unsupported = frozenset()
    running_desk.bot.web.unsupported.forget()
    return running_desk


def speak(progress: Progress) -> None:
    for word in TEXT.split(" "):
        progress.delta(f"{word} ")
        time.sleep(0.06)


def first(desk: Desk, ts: str) -> str:
    """What the bot's first message in the thread shows by now."""
    return "".join(words(message) for message in desk.said(CHANNEL, ts)[:1])


def seen(desk: Desk, ts: str, until: Callable[[Any], bool] = answered) -> list[dict[str, Any]]:
    """Every state that the thread's first reply goes through from now on."""
    states: list[dict[str, Any]] = []

    def look() -> bool:
        for message in desk.said(CHANNEL, ts)[:1]:
            if not states or words(states[-1]) != words(message):
                states.append(dict(message))
        return bool(states and until(states[-1]))

    desk.slack.wait_for(look)
    return states


def test_an_answer_is_streamed_and_ends_as_one_complete_message(desk: Desk) -> None:
    go, is_read = threading.Event(), threading.Event()

    def tell(progress: Progress) -> None:
        progress.step(Step.SEARCH, "Searching…")
        progress.step(Step.READ, "Reading 3 documents…")
        go.wait(60)
        speak(progress)
        is_read.wait(60)

    desk.agents.tell = tell
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} how often?")
    desk.slack.wait_for(lambda: "Reading 3 documents…" in first(desk, ts))
    go.set()
    states = seen(desk, ts, lambda message: "Rotate them" in words(message))
    assert states[-1].get("stream")
    is_read.set()
    states += seen(desk, ts)
    assert not any("<!channel>" in words(state) for state in states)
    assert len(desk.said(CHANNEL, ts)) == 1
    assert "Key Rotation Standard › Maximum age" in words(states[-1])


def test_an_expired_stream_still_ends_in_the_whole_answer(desk: Desk) -> None:
    desk.agents.tell = speak
    desk.slack.workspace.stream_lifetime = 0.3
    ts, reply = desk.ask("how often?")
    assert "90 days" in words(reply)
    assert "Confidence" in words(reply)
    assert len(desk.said(CHANNEL, ts)) == 1


def test_words_of_an_answer_that_pauses_are_shown_up_to_the_pause(desk: Desk) -> None:
    go = threading.Event()

    def tell(progress: Progress) -> None:
        progress.delta("Rotate ")
        progress.delta("them every 90 days, then ")
        go.wait(60)

    desk.agents.tell = tell
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} how often?")
    desk.slack.wait_for(lambda: "Rotate them every 90 days, then" in first(desk, ts))
    go.set()
    desk.slack.wait_for_reply(CHANNEL, ts, until=answered)


@pytest.mark.parametrize("error", ["unknown_method", "ratelimited", "missing_recipient_user_id"])
def test_where_streams_do_not_exist_a_placeholder_is_updated(desk: Desk, error: str) -> None:
    is_read = threading.Event()

    def tell(progress: Progress) -> None:
        is_read.wait(60)
        progress.delta(TEXT)

    desk.agents.tell = tell
    desk.slack.faults.add("chat.startStream", error=error)
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} how often?")
    states = seen(desk, ts, lambda message: not answered(message))
    is_read.set()
    states += seen(desk, ts)
    assert not any(state.get("stream") for state in states)
    assert len(desk.said(CHANNEL, ts)) == 1


def test_a_stream_that_can_neither_be_ended_nor_changed_is_left_for_a_whole_answer(
    desk: Desk,
) -> None:
    desk.slack.faults.add("chat.stopStream", error="message_not_in_streaming_state", count=9)
    desk.slack.faults.add("chat.postMessage", drop=True)  # looking for it, the stream is found
    ts, reply = desk.ask("how often?")
    desk.slack.faults.clear()
    assert "90 days" in words(reply)
    assert [answered(message) for message in desk.said(CHANNEL, ts)] == [False, True]


def test_a_stream_whose_start_was_not_heard_is_found_again(desk: Desk) -> None:
    desk.slack.faults.add("chat.startStream", drop_response=True)
    ts, reply = desk.ask("how often?")
    assert "90 days" in words(reply)
    assert len(desk.said(CHANNEL, ts)) == 1


def test_in_direct_messages_slack_shows_the_status(desk: Desk) -> None:
    channel = next(c.id for c in desk.slack.workspace.channels.values() if c.user == "U0YOU")
    ts = desk.slack.post_as_user(channel, "how often do we rotate keys?")
    desk.slack.wait_for(lambda: desk.slack.status(channel, ts))
    desk.slack.wait_for_reply(channel, ts, until=answered)
    assert desk.slack.workspace.titles[channel, ts] == "how often do we rotate keys?"
