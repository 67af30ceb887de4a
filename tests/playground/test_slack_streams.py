"""Streamed messages as the Web API takes and refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack_stand_in import SlackStandIn

CHANNEL = "C0PRIVACY"


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        yield stand_in


@pytest.fixture
def client(slack: SlackStandIn) -> WebClient:
    slack.workspace.stream_lifetime = 300.0
    return WebClient(slack.bot_token, base_url=slack.api_url)


@pytest.fixture
def start(slack: SlackStandIn) -> dict[str, Any]:
    return {
        "channel": CHANNEL,
        "thread_ts": slack.post_as_user(CHANNEL, "question"),
        "recipient_team_id": slack.team_id,
        "recipient_user_id": "U0YOU",
    }


@pytest.mark.parametrize("missing", ["recipient_team_id", "recipient_user_id"])
def test_a_channel_needs_to_know_for_whom(
    client: WebClient, start: dict[str, Any], missing: str
) -> None:
    start[missing] = None
    with pytest.raises(SlackApiError, match=f"missing_{missing}"):
        client.chat_startStream(**start)


def test_direct_messages_need_no_recipient(client: WebClient, slack: SlackStandIn) -> None:
    ts = slack.post_as_user("D0YOU", "question")
    started = client.chat_startStream(channel="D0YOU", thread_ts=ts, markdown_text="Hi")
    client.chat_stopStream(channel="D0YOU", ts=started["ts"])
    assert slack.thread("D0YOU", ts)[-1]["text"] == "Hi"


def test_chunks_add_text_tasks_and_blocks(
    client: WebClient, slack: SlackStandIn, start: dict[str, Any]
) -> None:
    task = {"type": "task_update", "id": "1", "title": "Reading", "status": "in_progress"}
    ts = client.chat_startStream(**start, chunks=[task])["ts"]
    text = {"type": "markdown_text", "text": "Found it."}
    client.chat_appendStream(channel=CHANNEL, ts=ts, chunks=[{**task, "status": "complete"}, text])
    metadata = {"event_type": "answer", "event_payload": {"question": "Ev1"}}
    client.chat_stopStream(channel=CHANNEL, ts=ts, blocks=[{"type": "divider"}], metadata=metadata)
    message = slack.thread(CHANNEL, start["thread_ts"])[-1]
    assert [block["type"] for block in message["blocks"]] == ["task_card", "markdown", "divider"]
    assert message["blocks"][0]["status"] == "complete"
    assert message["metadata"] == metadata


def test_in_a_plan_tasks_stand_together_and_may_wait(
    client: WebClient, slack: SlackStandIn, start: dict[str, Any]
) -> None:
    read = {"type": "task_update", "id": "1", "title": "Reading", "status": "in_progress"}
    write = {"type": "task_update", "id": "2", "title": "Writing", "status": "pending"}
    title = {"type": "plan_update", "title": "Looking"}
    chunks = [title, {**read, "details": "Two documents"}, write]
    ts = client.chat_startStream(**start, task_display_mode="plan", chunks=chunks)["ts"]
    done = [{**title, "title": "Writing"}, {**read, "status": "complete", "details": ", and one"}]
    client.chat_appendStream(channel=CHANNEL, ts=ts, chunks=done)
    (plan,) = slack.thread(CHANNEL, start["thread_ts"])[-1]["blocks"]
    assert (plan["type"], plan["title"]) == ("plan", "Writing")
    assert [task["status"] for task in plan["tasks"]] == ["complete", "pending"]
    assert "Two documents, and one" in str(plan["tasks"][0]["details"])


def test_a_workspace_without_plans_says_so(
    client: WebClient, slack: SlackStandIn, start: dict[str, Any]
) -> None:
    slack.workspace.unsupported = frozenset(("task_display_mode", "task_update"))
    try:
        with pytest.raises(SlackApiError, match="invalid_arguments"):
            client.chat_startStream(**start, task_display_mode="plan", markdown_text="x")
        task = {"type": "task_update", "id": "1", "title": "Reading", "status": "in_progress"}
        with pytest.raises(SlackApiError, match="invalid_chunks"):
            client.chat_startStream(**start, chunks=[task])
    finally:
        slack.workspace.unsupported = frozenset()


def test_tasks_are_shown_as_a_timeline_or_as_a_plan(
    client: WebClient, start: dict[str, Any]
) -> None:
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        client.chat_startStream(**start, task_display_mode="grid", markdown_text="x")


def test_a_running_stream_refuses_other_changes(client: WebClient, start: dict[str, Any]) -> None:
    ts = client.chat_startStream(**start, markdown_text="wait")["ts"]
    with pytest.raises(SlackApiError, match="streaming_state_conflict"):
        client.chat_update(channel=CHANNEL, ts=ts, text="impatient")
    with pytest.raises(SlackApiError, match="cant_delete_message"):
        client.chat_delete(channel=CHANNEL, ts=ts)


def test_an_expired_stream_is_closed_for_appending_and_open_for_updating(
    client: WebClient, slack: SlackStandIn, start: dict[str, Any]
) -> None:
    slack.workspace.stream_lifetime = 0.0
    ts = client.chat_startStream(**start, markdown_text="half an ans")["ts"]
    for call in (client.chat_appendStream, client.chat_stopStream):
        with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
            call(channel=CHANNEL, ts=ts, markdown_text="wer")
    client.chat_update(channel=CHANNEL, ts=ts, text="the whole answer")
    assert slack.thread(CHANNEL, start["thread_ts"])[-1]["text"] == "the whole answer"


def test_a_stopped_stream_stays_stopped(client: WebClient, start: dict[str, Any]) -> None:
    ts = client.chat_startStream(**start, markdown_text="done")["ts"]
    client.chat_stopStream(channel=CHANNEL, ts=ts)
    with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
        client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="more")


def test_a_stream_keeps_the_shape_it_started_with(client: WebClient, start: dict[str, Any]) -> None:
    ts = client.chat_startStream(**start, markdown_text="text")["ts"]
    chunk = {"type": "markdown_text", "text": "chunk"}
    with pytest.raises(SlackApiError, match="streaming_mode_mismatch"):
        client.chat_appendStream(channel=CHANNEL, ts=ts, chunks=[chunk])


@pytest.mark.parametrize(
    ("chunk", "refused"),
    [
        ({"type": "markdown_text", "text": "x" * 12_001}, "msg_too_long"),
        ({"type": "markdown_text"}, "invalid_chunks"),
        ({"type": "task_update", "id": "1", "title": "t", "status": "odd"}, "invalid_chunks"),
        (
            {"type": "task_update", "id": "1", "title": "x" * 257, "status": "error"},
            "invalid_chunks",
        ),
        ({"type": "plan_update", "title": "x" * 257}, "invalid_chunks"),
        ({"type": "blocks", "blocks": [{"type": "hologram"}]}, "invalid_blocks"),
    ],
)
def test_chunks_are_checked(
    client: WebClient, start: dict[str, Any], chunk: dict[str, Any], refused: str
) -> None:
    with pytest.raises(SlackApiError, match=refused):
        client.api_call("chat.startStream", json={**start, "chunks": [chunk]})


def test_a_status_shows_until_the_reply_comes(
    client: WebClient, slack: SlackStandIn, start: dict[str, Any]
) -> None:
    thread_ts = start["thread_ts"]
    status = "is reading 3 documents…"
    client.assistant_threads_setStatus(channel_id=CHANNEL, thread_ts=thread_ts, status=status)
    assert slack.status(CHANNEL, thread_ts) == status
    client.chat_postMessage(channel=CHANNEL, thread_ts=thread_ts, text="Here")
    assert slack.status(CHANNEL, thread_ts) == ""


def test_titles_and_prompts_belong_to_a_conversation(
    client: WebClient, slack: SlackStandIn
) -> None:
    ts = slack.post_as_user("D0YOU", "question")
    client.assistant_threads_setTitle(channel_id="D0YOU", thread_ts=ts, title="Key ages")
    prompts = [{"title": "Key ages", "message": "How old may a key get?"}]
    client.assistant_threads_setSuggestedPrompts(channel_id="D0YOU", prompts=prompts)
    assert slack.workspace.titles["D0YOU", ts] == "Key ages"
    assert slack.workspace.prompts["D0YOU"]["prompts"] == prompts
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        client.assistant_threads_setSuggestedPrompts(channel_id="D0YOU", prompts=prompts * 5)
