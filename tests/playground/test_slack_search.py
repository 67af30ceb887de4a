"""Real-time Search, by the real slack_sdk client: in whose name, in which places, within limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.tidewater import BOT_USER_ID
from playground.slack_stand_in import SlackStandIn
from tests.bot.crowd import GUEST, PARTNER, PUBLIC, gather

CHANNEL = "C0SECURITY"


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        gather(stand_in)
        yield stand_in


@pytest.fixture
def client(slack: SlackStandIn) -> WebClient:
    return WebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])


def token(slack: SlackStandIn, user: str = "U0YOU", channel: str = CHANNEL) -> str:
    return slack.workspace.action_tokens.issue(user, channel)


def search(client: WebClient, **arguments: Any) -> list[dict[str, Any]]:
    reply = client.api_call("assistant.search.context", json=arguments)
    return list(reply["results"]["messages"])


def refusal(client: WebClient, **arguments: Any) -> str:
    with pytest.raises(SlackApiError) as error:
        search(client, **arguments)
    return str(error.value.response["error"])


def test_public_channels_are_searched_also_those_without_the_app(
    slack: SlackStandIn, client: WebClient
) -> None:
    head = slack.post_as_user(CHANNEL, "how old may a signing key get?", user="U0INES")
    reply = slack.post_as_user(CHANNEL, "a signing key lives 60 days", head, user="U0DANA")
    quiet = slack.post_as_user("C0QUIET", "our signing key is old", user="U0DANA")
    slack.post_as_user("C0VAULT", "the signing key of the vault", user="U0MAY")
    slack.post_as_user("D0YOU", "my signing key is lost")
    found = search(client, query="old signing key", action_token=token(slack))
    assert {one["message_ts"] for one in found} == {head, reply, quiet}
    told = next(one for one in found if one["message_ts"] == reply)
    assert told["permalink"].endswith(f"?thread_ts={head}&cid={CHANNEL}")
    assert told["channel_name"] == "help-security"
    assert told["author_user_id"] == "U0DANA"


def test_what_hardly_fits_and_what_apps_say_is_left_out(
    slack: SlackStandIn, client: WebClient
) -> None:
    slack.post_as_user(CHANNEL, "the key to lunch is the kitchen")
    slack.post_as_app(CHANNEL, "alert: signing key too old")
    query = {"query": "how old may a signing key get in Singapore"}
    assert search(client, **query, action_token=token(slack)) == []
    assert len(search(client, **query, action_token=token(slack), include_bots=True)) == 1


def test_time_limits_and_pages(slack: SlackStandIn, client: WebClient) -> None:
    posted = [slack.post_as_user(CHANNEL, f"signing key number {n}") for n in range(3)]
    asked = {"query": "signing key", "action_token": token(slack)}
    assert len(search(client, **asked, before=1)) == 0
    assert len(search(client, **asked, after=float(posted[1]))) == 1
    page = client.api_call("assistant.search.context", json={**asked, "limit": 2})
    rest = search(client, **asked, limit=2, cursor=page["response_metadata"]["next_cursor"])
    assert len(page["results"]["messages"]) + len(rest) == 3


def test_refusals_are_slacks(slack: SlackStandIn, client: WebClient) -> None:
    asked = {"query": "signing key", "action_token": token(slack)}
    assert refusal(client, query="signing key") == "invalid_action_token"
    assert refusal(client, **{**asked, "action_token": "1.2.abc"}) == "invalid_action_token"
    assert refusal(client, **{**asked, "query": " "}) == "missing_query"
    assert refusal(client, **{**asked, "query": "x" * 5_000}) == "query_too_long"
    assert refusal(client, **asked, limit=21) == "invalid_arguments"
    assert refusal(client, **asked, channel_types="private_channel") == "missing_scope"
    assert refusal(client, **{**asked, "action_token": token(slack, GUEST)}) == "no_permission"
    slack.api.scopes -= {"search:read.public"}
    assert refusal(client, **asked) == "missing_scope"


def test_a_token_dies_of_age(slack: SlackStandIn, client: WebClient) -> None:
    slack.workspace.action_tokens.lifetime = -1.0
    asked = {"query": "signing key", "action_token": token(slack)}
    assert refusal(client, **asked) == "invalid_action_token"


def test_a_channel_shared_with_others_sees_itself_alone(
    slack: SlackStandIn, client: WebClient
) -> None:
    assert PARTNER in slack.workspace.channels[PUBLIC].members
    slack.post_as_user(CHANNEL, "the signing key is old")
    here = slack.post_as_user(PUBLIC, "is a signing key tea?", user="U0MAY")
    found = search(client, query="signing key", action_token=token(slack, "U0MAY", PUBLIC))
    assert [one["message_ts"] for one in found] == [here]


def test_a_token_comes_with_what_is_said_to_the_app(slack: SlackStandIn) -> None:
    from playground.slack.event_payloads import events
    from playground.slack.workspace import WorkspaceChange

    def tokens(channel: str, text: str) -> list[bool]:
        ts = slack.post_as_user(channel, text)
        change = WorkspaceChange(
            kind="posted", channel=channel, message=slack.workspace.message(channel, ts)
        )
        return ["action_token" in event for event in events(change, slack.workspace)]

    assert tokens("D0YOU", "hello") == [True]
    assert tokens(CHANNEL, f"<@{BOT_USER_ID}> hello") == [True, True]
    assert tokens(CHANNEL, "hello all") == [False]


def test_the_workspace_says_whether_it_searches_by_meaning(
    slack: SlackStandIn, client: WebClient
) -> None:
    assert client.api_call("assistant.search.info")["is_ai_search_enabled"] is False


def test_an_agents_prompts_are_not_set_by_the_older_way(
    slack: SlackStandIn, client: WebClient
) -> None:
    prompts = [{"title": "Keys", "message": "how old may a key get?"}]
    client.assistant_threads_setSuggestedPrompts(
        channel_id="D0YOU", thread_ts="1.0", prompts=prompts
    )
    assert slack.workspace.prompts == {}
    client.assistant_threads_setSuggestedPrompts(channel_id="D0YOU", prompts=prompts)
    assert slack.workspace.prompts["D0YOU"]["prompts"] == prompts
