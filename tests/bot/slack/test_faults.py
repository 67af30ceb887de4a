"""Slack is slow, busy, down or forgetful: every question still ends in one answer."""

from __future__ import annotations

import pytest

from tests.bot.conftest import Desk, answered, words
from tests.bot.fakes import CHANNEL


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 429, "retry_after": 1},
        {"drop": True},
        {"drop_response": True},
        {"error": "internal_error"},
        {"error": "invalid_blocks"},
    ],
)
def test_a_failing_call_ends_in_one_answer(
    desk: Desk, method: str, fault: dict[str, object]
) -> None:
    desk.slack.faults.add(method, count=1, **fault)  # type: ignore[arg-type]
    ts, reply = desk.ask("how often?")
    assert "90 days" in words(reply)
    assert len(desk.said(CHANNEL, ts)) == 1


def test_a_storm_of_limits_ends_in_one_answer(desk: Desk) -> None:
    desk.slack.faults.add("*", status=429, retry_after=1, count=3)
    ts, _ = desk.ask("how often?")
    assert len(desk.said(CHANNEL, ts)) == 1


def test_an_answer_without_its_newer_blocks_keeps_its_buttons(desk: Desk) -> None:
    desk.slack.faults.add("chat.update", error="invalid_blocks", count=1)
    _, reply = desk.ask("how often?")
    kinds = {block["type"] for block in reply["blocks"]}
    assert "markdown" not in kinds
    assert "answer_feedback_helpful" in words(reply)


def test_a_placeholder_that_somebody_deleted_is_posted_anew(desk: Desk) -> None:
    desk.slack.faults.add("chat.update", error="message_not_found", count=1)
    _, reply = desk.ask("how often?")
    assert answered(reply)


def test_lost_acks_bring_repeated_events_and_one_answer(desk: Desk) -> None:
    desk.slack.retry_delays = (0.1, 0.2, 0.3)
    desk.slack.sockets.ack_timeout = 0.3
    desk.slack.faults.drop_acks = 2
    desk.slack.faults.deliver_times = 3
    ts, _ = desk.ask("how often?")
    desk.settle()
    assert len(desk.said(CHANNEL, ts)) == 1
    assert len(desk.agents.asked) == 1


def test_a_socket_that_is_refreshed_or_cut_loses_nothing(desk: Desk) -> None:
    desk.slack.retry_delays = (0.5, 1.0, 2.0)
    desk.slack.refresh_sockets()
    desk.ask("after a refresh?")
    desk.slack.drop_sockets()
    desk.slack.post_as_user(CHANNEL, f"{desk.at} while it is away?")
    desk.slack.wait_for(lambda: len(desk.agents.asked) == 2)
    assert not desk.bot.missing()
