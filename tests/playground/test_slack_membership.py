"""Who is who and who is where, as the stand-in's Web API tells the real slack_sdk client."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.tidewater import Channel, SlackUser
from playground.slack_stand_in import SlackStandIn

CHANNEL = "C0SECURITY"


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        yield stand_in


@pytest.fixture
def client(slack: SlackStandIn) -> WebClient:
    return WebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])


def test_guests_outsiders_and_former_colleagues_are_told_apart(
    slack: SlackStandIn, client: WebClient
) -> None:
    people = (
        SlackUser(id="U0G", handle="g", name="G", title="", guest="single_channel"),
        SlackUser(id="U0X", handle="x", name="X", title="", team_id="T0X", enterprise_id="E0X"),
        SlackUser(id="U0F", handle="f", name="F", title="", deleted=True),
    )
    for person in people:
        slack.workspace.welcome(person, CHANNEL)
    guest, outsider, former = (client.users_info(user=p.id)["user"] for p in people)
    assert (guest["is_restricted"], guest["is_ultra_restricted"]) == (True, True)
    assert (outsider["team_id"], outsider["is_stranger"]) == ("T0X", False)
    assert outsider["enterprise_user"]["enterprise_id"] == "E0X"
    assert former["deleted"]
    assert "is_restricted" not in former
    assert client.users_lookupByEmail(email="g@tidewater.example")["user"]["id"] == "U0G"
    for email in ("f@tidewater.example", "nobody@tidewater.example"):
        assert refused(client.users_lookupByEmail, email=email) == "users_not_found"


def test_members_come_in_pages_and_private_ones_from_inside_alone(
    slack: SlackStandIn, client: WebClient
) -> None:
    first = client.conversations_members(channel=CHANNEL, limit=2)
    assert len(first["members"]) == 2
    cursor = first["response_metadata"]["next_cursor"]
    rest = client.conversations_members(channel=CHANNEL, cursor=cursor)
    assert {*first["members"], *rest["members"]} == slack.workspace.channels[CHANNEL].members
    inside = Channel(id="C0IN", name="in", kind="group", members={"U0YOU", slack.bot_user_id})
    outside = Channel(id="C0OUT", name="out", kind="group", members={"U0YOU"})
    for channel in (inside, outside):
        slack.workspace.add_channel(channel)
    assert "U0YOU" in client.conversations_members(channel="C0IN")["members"]
    for method in (client.conversations_members, client.conversations_info):
        assert refused(method, channel="C0OUT") == "channel_not_found"
    kinds = "public_channel,private_channel"
    shared = client.users_conversations(user="U0YOU", types=kinds)["channels"]
    assert "C0IN" in {channel["id"] for channel in shared}
    assert "C0OUT" not in {channel["id"] for channel in shared}


def test_a_call_without_its_scope_is_refused_with_its_name(
    slack: SlackStandIn, client: WebClient
) -> None:
    slack.api.scopes = frozenset({"channels:read"})
    client.conversations_members(channel=CHANNEL)
    kinds = "public_channel,private_channel"
    calls: list[tuple[str, Callable[..., object], dict[str, str]]] = [
        ("users:read", client.users_info, {"user": "U0YOU"}),
        ("users:read.email", client.users_lookupByEmail, {"email": "x@y.example"}),
        ("groups:read", client.users_conversations, {"user": "U0YOU", "types": kinds}),
    ]
    for needed, method, arguments in calls:
        with pytest.raises(SlackApiError) as error:
            method(**arguments)
        reply = error.value.response
        assert (reply["error"], reply["needed"]) == ("missing_scope", needed)
        assert reply["provided"] == "channels:read"


def refused(method: Callable[..., object], **arguments: str) -> str:
    with pytest.raises(SlackApiError) as error:
        method(**arguments)
    return str(error.value.response["error"])
