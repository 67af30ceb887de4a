"""Links and what an app shows for them, by the real slack_sdk client."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.event_payloads import events
from playground.slack.shared_links import composed, links_in
from playground.slack.workspace import WorkspaceChange
from playground.slack_stand_in import SlackStandIn

CHANNEL = "C0SECURITY"
URL = "https://docs.google.com/document/d/KEYS/edit#heading=h.age"
ENTITY: dict[str, Any] = {
    "app_unfurl_url": URL,
    "url": URL,
    "external_ref": {"id": "KEYS"},
    "entity_type": "slack#/entities/content_item",
    "entity_payload": {
        "attributes": {"title": {"text": "Key Rotation Standard"}},
        "fields": {"description": {"value": "60 days in SG."}},
        "custom_fields": [{"key": "age", "label": "Updated", "type": "string", "value": "today"}],
        "display_order": ["age", "description"],
    },
}
BLOCKS = [{"type": "section", "text": {"type": "mrkdwn", "text": "*Key Rotation Standard*"}}]


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        yield stand_in


@pytest.fixture
def client(slack: SlackStandIn) -> WebClient:
    return WebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])


def told(slack: SlackStandIn, channel: str, ts: str) -> list[dict[str, Any]]:
    message = slack.workspace.message(channel, ts)
    change = WorkspaceChange(kind="posted", channel=channel, message=message)
    return [e for e in events(change, slack.workspace) if e["type"] == "link_shared"]


def refusal(client: WebClient, **arguments: Any) -> str:
    with pytest.raises(SlackApiError) as error:
        client.chat_unfurl(**arguments)
    return str(error.value.response["error"])


def test_the_app_hears_of_links_to_its_domains_alone(slack: SlackStandIn) -> None:
    text = f"see {URL} and <https://evil.example/x|this>, not `{URL}`"
    [event] = told(slack, CHANNEL, slack.post_as_user(CHANNEL, text))
    assert event["links"] == [{"domain": "docs.google.com", "url": URL}]
    assert event["source"] == "conversations_history"
    assert event["is_bot_user_member"] is True
    assert told(slack, CHANNEL, slack.post_as_user(CHANNEL, f"`{URL}`")) == []
    [elsewhere] = told(slack, "C0QUIET", slack.post_as_user("C0QUIET", URL))
    assert elsewhere["is_bot_user_member"] is False


def test_it_does_not_hear_of_its_own(slack: SlackStandIn, client: WebClient) -> None:
    posted = client.chat_postMessage(channel=CHANNEL, text=f"<{URL}|here>")
    assert told(slack, CHANNEL, posted["ts"]) == []


def test_a_link_that_is_typed_says_no_channel(slack: SlackStandIn) -> None:
    assert composed("U0YOU", URL, slack.workspace)["channel"] == "COMPOSER"


def test_blocks_are_attached_once(slack: SlackStandIn, client: WebClient) -> None:
    ts = slack.post_as_user(CHANNEL, URL)
    for _ in range(2):
        client.chat_unfurl(channel=CHANNEL, ts=ts, unfurls={URL: {"blocks": BLOCKS}})
    message = slack.workspace.message(CHANNEL, ts)
    [attachment] = message["attachments"]
    assert attachment["app_unfurl_url"] == URL
    assert attachment["blocks"][0]["text"] == BLOCKS[0]["text"]
    assert "edited" not in message


def test_a_work_object_takes_the_place_of_an_attachment(
    slack: SlackStandIn, client: WebClient
) -> None:
    ts = slack.post_as_user(CHANNEL, URL)
    [event] = told(slack, CHANNEL, ts)
    client.chat_unfurl(channel=CHANNEL, ts=ts, unfurls={URL: {"blocks": BLOCKS}})
    client.chat_unfurl(
        unfurl_id=event["unfurl_id"], source=event["source"], metadata={"entities": [ENTITY]}
    )
    [attachment] = slack.workspace.message(CHANNEL, ts)["attachments"]
    assert attachment["title"] == "Key Rotation Standard"
    shown = [(field["title"], field["value"]) for field in attachment["fields"]]
    assert shown == [("Updated", "today"), ("Description", "60 days in SG.")]


def test_refusals_are_slacks(slack: SlackStandIn, client: WebClient) -> None:
    ts = slack.post_as_user(CHANNEL, URL)
    unfurls = {URL: {"blocks": BLOCKS}}
    where = {"channel": CHANNEL, "ts": ts}
    assert refusal(client, channel=CHANNEL, unfurls=unfurls) == "missing_ts"
    assert refusal(client, ts=ts, unfurls=unfurls) == "missing_channel"
    assert refusal(client, channel="C9", ts=ts, unfurls=unfurls) == "cannot_find_channel"
    assert refusal(client, channel=CHANNEL, ts="1.0", unfurls=unfurls) == "cannot_find_message"
    assert refusal(client, **where) == "missing_unfurls"
    assert refusal(client, source="composer", unfurls=unfurls) == "missing_unfurl_id"
    assert refusal(client, source="x", unfurl_id="y", unfurls=unfurls) == "invalid_source"
    other = {"https://docs.google.com/document/d/OTHER/edit": {"blocks": BLOCKS}}
    assert refusal(client, **where, unfurls=other) == "cannot_unfurl_message"
    bad = {URL: {"blocks": [{"type": "nonsense"}]}}
    assert refusal(client, **where, unfurls=bad) == "cannot_parse_attachment"
    slack.api.scopes -= {"links:write"}
    assert refusal(client, **where, unfurls=unfurls) == "missing_scope"


@pytest.mark.parametrize("missing", ["url", "external_ref", "entity_type", "app_unfurl_url"])
def test_a_work_object_has_to_be_whole(
    slack: SlackStandIn, client: WebClient, missing: str
) -> None:
    where = {"channel": CHANNEL, "ts": slack.post_as_user(CHANNEL, URL)}
    entity = copy.deepcopy(ENTITY)
    del entity[missing]
    assert refusal(client, **where, metadata={"entities": [entity]}) == "error_processing_metadata"
    assert refusal(client, **where, metadata={"entities": []}) == "invalid_metadata_format"


def test_an_app_without_previews_gets_none(slack: SlackStandIn, client: WebClient) -> None:
    slack.workspace.work_objects = False
    where = {"channel": CHANNEL, "ts": slack.post_as_user(CHANNEL, URL)}
    assert refusal(client, **where, metadata={"entities": [ENTITY]}) == "error_processing_metadata"


def test_details_need_the_trigger_of_who_opened_them(
    slack: SlackStandIn, client: WebClient
) -> None:
    shown = {name: ENTITY[name] for name in ENTITY if name != "app_unfurl_url"}
    client.entity_presentDetails(trigger_id=slack.views.trigger("U0YOU"), metadata=shown)
    assert (slack.details() or {})["metadata"] == shown
    with pytest.raises(SlackApiError) as error:
        client.entity_presentDetails(trigger_id="stolen", metadata=shown)
    assert error.value.response["error"] == "invalid_trigger_id"
    with pytest.raises(SlackApiError) as error:
        client.entity_presentDetails(trigger_id=slack.views.trigger("U0YOU"), metadata={})
    assert error.value.response["error"] == "invalid_metadata"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"<{URL}>", [URL]),
        (f"<{URL}|a> <{URL}|b>", [URL]),
        ("<https://a.example/?x=1&amp;y=2>", ["https://a.example/?x=1&y=2"]),
        ("<@U0YOU> <#C0X> <mailto:a@b.example|a>", []),
        (f"```<{URL}>```", []),
    ],
)
def test_links_are_read_from_wire_text(text: str, found: list[str]) -> None:
    assert links_in(text) == found
