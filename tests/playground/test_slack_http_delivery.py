"""Signed HTTP delivery, received by slack_sdk's verifier, with Slack's retries."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
from pytest_httpserver import HTTPServer
from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier
from werkzeug import Request, Response

from playground.slack_stand_in import NoAnswerError, SlackStandIn

CHANNEL = "C0PLATFORM"


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn() as stand_in:
        stand_in.retry_delays = (0.0, 0.0, 0.0)
        yield stand_in


def received(server: HTTPServer, slack: SlackStandIn, count: int) -> list[Request]:
    """Waits until `count` requests came; their signatures are checked on the way."""
    verifier = SignatureVerifier(slack.signing_secret)
    requests: list[Request] = []

    def enough() -> bool:
        requests[:] = [request for request, _ in server.log]
        return len(requests) >= count

    for _ in range(2_400):
        if enough():
            break
        with slack.workspace.changed:
            slack.workspace.changed.wait(0.05)
    assert len(requests) == count
    for request in requests:
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert verifier.is_valid_request(request.get_data(), headers)
    return requests


def test_events_are_signed_and_delivered_once(slack: SlackStandIn, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/slack/events").respond_with_data("")
    slack.use_http(httpserver.url_for("/slack/events"))
    ts = slack.post_as_user(CHANNEL, "hello")
    (request,) = received(httpserver, slack, 1)
    payload = json.loads(request.get_data())
    assert payload["event"]["ts"] == ts
    assert "x-slack-retry-num" not in request.headers


def test_failed_deliveries_are_tried_three_more_times(
    slack: SlackStandIn, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/slack/events").respond_with_data("", status=500)
    slack.use_http(httpserver.url_for("/slack/events"))
    slack.post_as_user(CHANNEL, "hello")
    requests = received(httpserver, slack, 4)
    numbers = [request.headers.get("x-slack-retry-num") for request in requests]
    assert numbers == [None, "1", "2", "3"]
    assert {r.headers["x-slack-retry-reason"] for r in requests[1:]} == {"http_error"}
    assert len({json.loads(r.get_data())["event_id"] for r in requests}) == 1
    slack.wait_for(lambda: slack.lost or slack.workspace.changed.wait(0.05), 5)
    assert len(slack.lost) == 1


def test_a_slow_answer_counts_as_none(slack: SlackStandIn, httpserver: HTTPServer) -> None:
    httpserver.expect_oneshot_request("/slack/events").respond_with_handler(_slow)
    httpserver.expect_request("/slack/events").respond_with_data("")
    slack.retry_delays = (0.6,)
    slack.use_http(httpserver.url_for("/slack/events"), timeout=0.2)
    slack.post_as_user(CHANNEL, "hello")
    requests = received(httpserver, slack, 2)
    reasons = {request.headers.get("x-slack-retry-reason") for request in requests}
    assert reasons == {None, "http_timeout"}


def test_an_app_can_ask_for_no_retries(slack: SlackStandIn, httpserver: HTTPServer) -> None:
    headers = {"x-slack-no-retry": "1"}
    httpserver.expect_request("/slack/events").respond_with_data("", status=500, headers=headers)
    slack.use_http(httpserver.url_for("/slack/events"))
    slack.post_as_user(CHANNEL, "one")
    received(httpserver, slack, 1)
    slack.post_as_user(CHANNEL, "two")
    received(httpserver, slack, 2)


def test_presses_arrive_as_a_signed_form_and_their_answer_counts(
    slack: SlackStandIn, httpserver: HTTPServer
) -> None:
    button = {"type": "plain_text", "text": "Ask a human"}
    blocks = [
        {
            "type": "actions",
            "elements": [{"type": "button", "action_id": "human", "text": button, "value": "q1"}],
        }
    ]
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    httpserver.expect_request("/slack/events").respond_with_json({"seen": True})
    slack.use_http(httpserver.url_for("/slack/events"))
    ts = client.chat_postMessage(channel=CHANNEL, text="?", blocks=blocks)["ts"]
    slack.wait_until_delivered()  # the message itself is an event, too
    assert slack.click(CHANNEL, ts, "human") == {"seen": True}
    _, request = received(httpserver, slack, 2)
    payload = json.loads(parse_qs(request.get_data(as_text=True))["payload"][0])
    assert payload["actions"][0]["value"] == "q1"
    assert payload["response_url"].startswith(slack.url)


def test_a_dead_app_is_said_to_be_dead(slack: SlackStandIn, httpserver: HTTPServer) -> None:
    button = {"type": "plain_text", "text": "Ask a human"}
    element = {"type": "button", "action_id": "human", "text": button}
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    blocks = [{"type": "actions", "elements": [element]}]
    ts = client.chat_postMessage(channel=CHANNEL, text="?", blocks=blocks)["ts"]
    with pytest.raises(NoAnswerError):
        slack.click(CHANNEL, ts, "human")


def test_the_url_handshake_wants_its_challenge_back(
    slack: SlackStandIn, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/echo").respond_with_handler(
        lambda request: Response(json.dumps({"challenge": request.get_json()["challenge"]}))
    )
    httpserver.expect_request("/deaf").respond_with_data("hello")
    assert slack.use_http(httpserver.url_for("/echo")).verify_url()
    assert not slack.use_http(httpserver.url_for("/deaf")).verify_url()


def _slow(request: Request) -> Response:
    time.sleep(0.5)
    return Response("")
