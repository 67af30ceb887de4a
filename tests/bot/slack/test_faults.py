"""Slack is slow, busy, down or forgetful: every question still ends in one answer."""

from __future__ import annotations

import pytest
from slack_sdk import WebClient
from structlog.testing import capture_logs
from websockets.sync.client import connect

from bot.slack.client import SlackClient
from telemetry.metrics import registry
from tests.bot.conftest import Desk, answered, eventually, words
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


def test_a_socket_says_how_many_others_there_are_and_a_client_that_scopes_are_gone(
    desk: Desk,
) -> None:
    slack = desk.slack
    opened = WebClient(base_url=slack.api_url).apps_connections_open(app_token=slack.app_token)
    with connect(str(opened["url"])) as stranger:
        stranger.recv()
        slack.refresh_sockets()
        eventually(lambda: registry.get_sample_value("oncall_socket_others") == 1.0)
    web = SlackClient(WebClient(slack.bot_token, base_url=slack.api_url))
    web.call("auth.test")
    granted = slack.api.scopes
    try:
        slack.api.scopes = granted - {"users:read.email"}
        with capture_logs() as logs:
            web.call("auth.test")
            web.call("auth.test")
    finally:
        slack.api.scopes = granted
    assert [one["lost"] for one in logs] == [["users:read.email"]]
