"""The real slack_sdk client against the stand-in's Web API."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import RemoteDisconnected
from urllib.error import URLError

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.slack_faults import POST_BURST, RateLimits
from playground.slack.tidewater import Channel
from playground.slack_stand_in import SlackStandIn

CHANNEL = "C0SECURITY"


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        yield stand_in


@pytest.fixture
def client(slack: SlackStandIn) -> Iterator[WebClient]:
    slack.faults.clear()
    yield WebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    slack.faults.clear()


def refusal(error: pytest.ExceptionInfo[SlackApiError]) -> str:
    return str(error.value.response["error"])


def test_the_token_says_who_the_app_is(client: WebClient, slack: SlackStandIn) -> None:
    answer = client.auth_test()
    assert answer["url"] == slack.url
    assert answer["user_id"] == slack.bot_user_id
    assert answer["team_id"] == slack.team_id
    assert "chat:write" in answer.headers["x-oauth-scopes"]


@pytest.mark.parametrize(
    ("token", "expected"), [("", "not_authed"), ("xoxb-stolen", "invalid_auth")]
)
def test_strangers_are_refused(slack: SlackStandIn, token: str, expected: str) -> None:
    with pytest.raises(SlackApiError) as error:
        WebClient(token or None, base_url=slack.api_url).conversations_list()
    assert refusal(error) == expected


def test_each_token_opens_only_its_own_methods(client: WebClient, slack: SlackStandIn) -> None:
    with pytest.raises(SlackApiError) as error:
        client.apps_connections_open(app_token=slack.bot_token)
    assert refusal(error) == "not_allowed_token_type"
    with pytest.raises(SlackApiError) as error:
        WebClient(slack.app_token, base_url=slack.api_url).conversations_list()
    assert refusal(error) == "not_allowed_token_type"


def test_secrets_are_not_in_the_api_object_s_repr(slack: SlackStandIn) -> None:
    assert slack.bot_token not in repr(slack.api)
    assert slack.app_token not in repr(slack.api)


def test_a_reply_counts_at_the_head_of_its_thread(client: WebClient, slack: SlackStandIn) -> None:
    ts = slack.post_as_user(CHANNEL, "who owns Lockbox?")
    reply = client.chat_postMessage(channel=CHANNEL, thread_ts=ts, text="SecEng")
    thread = client.conversations_replies(channel=CHANNEL, ts=ts)["messages"]
    assert [message["ts"] for message in thread] == [ts, reply["ts"]]
    assert thread[0]["reply_count"] == 1
    assert thread[0]["reply_users"] == [slack.bot_user_id]


def test_a_reply_to_a_reply_joins_the_same_thread(client: WebClient, slack: SlackStandIn) -> None:
    ts = slack.post_as_user(CHANNEL, "first")
    reply = slack.post_as_user(CHANNEL, "second", ts)
    deeper = client.chat_postMessage(channel=CHANNEL, thread_ts=reply, text="third")
    assert deeper["message"]["thread_ts"] == ts


def test_long_threads_come_in_pages_that_start_with_their_head(
    client: WebClient, slack: SlackStandIn
) -> None:
    ts = slack.post_as_user(CHANNEL, "head")
    replies = [slack.post_as_user(CHANNEL, str(number), ts) for number in range(5)]
    seen: list[str] = []
    for page in client.conversations_replies(channel=CHANNEL, ts=ts, limit=2):
        messages = page["messages"]
        assert messages[0]["ts"] == ts
        seen += [message["ts"] for message in messages[1:]]
    assert seen == replies


def test_history_is_newest_first_without_replies(client: WebClient, slack: SlackStandIn) -> None:
    first = slack.post_as_user("C0GENERAL", "one")
    slack.post_as_user("C0GENERAL", "hidden in a thread", first)
    second = slack.post_as_user("C0GENERAL", "two")
    page = client.conversations_history(channel="C0GENERAL", limit=2)
    assert [message["ts"] for message in page["messages"]] == [second, first]
    later = client.conversations_history(channel="C0GENERAL", oldest=first)
    assert [message["ts"] for message in later["messages"]] == [second]


def test_metadata_is_kept_and_shown_only_on_request(client: WebClient) -> None:
    metadata = {"event_type": "answer", "event_payload": {"question": "Ev1"}}
    posted = client.chat_postMessage(channel=CHANNEL, text="…", metadata=metadata)
    ts = posted["ts"]
    plain = client.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
    full = client.conversations_history(channel=CHANNEL, limit=1, include_all_metadata=True)
    assert plain["ts"] == ts
    assert "metadata" not in plain
    assert full["messages"][0]["metadata"] == metadata


def test_metadata_needs_its_two_fields(client: WebClient) -> None:
    with pytest.raises(SlackApiError) as error:
        client.chat_postMessage(channel=CHANNEL, text="…", metadata={"event_type": "answer"})
    assert refusal(error) == "invalid_metadata_schema"


def test_stray_markup_is_escaped_and_entities_are_kept(client: WebClient) -> None:
    text = "a < b &amp; c & d <https://x.example|link> <@U0INES>"
    message = client.chat_postMessage(channel=CHANNEL, text=text)["message"]
    expected = "a &lt; b &amp; c &amp; d <https://x.example|link> <@U0INES>"
    assert message["text"] == expected


def test_text_replaces_blocks_on_update(client: WebClient, slack: SlackStandIn) -> None:
    blocks = [{"type": "markdown", "text": "**draft**"}]
    ts = client.chat_postMessage(channel=CHANNEL, text="draft", blocks=blocks)["ts"]
    client.chat_update(channel=CHANNEL, ts=ts, text="final")
    message = slack.thread(CHANNEL, ts)[0]
    assert message["text"] == "final"
    assert "blocks" not in message
    assert message["edited"]["user"] == slack.bot_user_id


def test_an_app_changes_only_its_own_messages(client: WebClient, slack: SlackStandIn) -> None:
    ts = slack.post_as_user(CHANNEL, "mine")
    with pytest.raises(SlackApiError) as error:
        client.chat_update(channel=CHANNEL, ts=ts, text="yours")
    assert refusal(error) == "cant_update_message"
    with pytest.raises(SlackApiError) as error:
        client.chat_delete(channel=CHANNEL, ts=ts)
    assert refusal(error) == "cant_delete_message"


def test_a_deleted_head_leaves_a_tombstone(client: WebClient, slack: SlackStandIn) -> None:
    ts = client.chat_postMessage(channel=CHANNEL, text="head")["ts"]
    slack.post_as_user(CHANNEL, "reply", ts)
    client.chat_delete(channel=CHANNEL, ts=ts)
    assert slack.thread(CHANNEL, ts)[0]["subtype"] == "tombstone"


def test_ephemeral_messages_are_in_no_history(client: WebClient, slack: SlackStandIn) -> None:
    client.chat_postEphemeral(channel=CHANNEL, user="U0YOU", text="psst")
    assert slack.ephemerals("U0YOU")[-1]["text"] == "psst"
    assert "psst" not in {message["text"] for message in slack.messages(CHANNEL)}


@pytest.mark.parametrize(
    ("channel", "expected"), [("C0NOWHERE", "channel_not_found"), ("C0QUIET", "not_in_channel")]
)
def test_posting_needs_a_channel_that_the_app_is_in(
    client: WebClient, channel: str, expected: str
) -> None:
    with pytest.raises(SlackApiError) as error:
        client.chat_postMessage(channel=channel, text="hello")
    assert refusal(error) == expected


def test_a_person_s_id_leads_to_their_direct_messages(client: WebClient) -> None:
    opened = client.conversations_open(users="U0INES")["channel"]["id"]
    posted = client.chat_postMessage(channel="U0INES", text="hello")
    assert posted["channel"] == opened


def test_people_groups_and_channels_can_be_looked_up(client: WebClient) -> None:
    found = client.users_lookupByEmail(email="ines.okafor@tidewater.example")
    assert found["user"]["id"] == "U0INES"
    members = client.usergroups_users_list(usergroup="S0SECENG")["users"]
    assert members == ["U0INES"]
    listed = client.conversations_list(types="public_channel,private_channel", limit=3)
    names = [channel["id"] for page in listed for channel in page["channels"]]
    assert {"C0SECURITY", "C0PRIVACY", "C0PLATFORM"} <= set(names)
    assert client.users_list()["members"]
    assert client.bots_info(bot="B0COPILOT")["bot"]["name"] == "Copilot"


def test_a_channel_is_looked_up_by_its_id_alone_and_listed_by_scopes(client: WebClient) -> None:
    with pytest.raises(SlackApiError) as error:
        client.conversations_info(channel="#help-security")
    assert refusal(error) == "channel_not_found"
    with pytest.raises(SlackApiError) as error:
        client.conversations_list(types="im")
    assert refusal(error) == "missing_scope"


def test_a_revoked_token_is_refused_as_that(client: WebClient, slack: SlackStandIn) -> None:
    slack.api.revoked.add("xoxb-once")
    with pytest.raises(SlackApiError) as error:
        client.auth_test(token="xoxb-once")
    assert refusal(error) == "token_revoked"


def test_an_archived_channel_says_so_and_is_left_out_on_request(
    client: WebClient, slack: SlackStandIn
) -> None:
    slack.workspace.add_channel(Channel(id="C0OLD", name="old", archived=True))
    assert client.conversations_info(channel="C0OLD")["channel"]["is_archived"]
    listed = client.conversations_list(exclude_archived=True)["channels"]
    assert "C0OLD" not in {channel["id"] for channel in listed}


def test_reactions_count_each_person_once(client: WebClient, slack: SlackStandIn) -> None:
    ts = slack.post_as_user(CHANNEL, "ship it?")
    client.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")
    with pytest.raises(SlackApiError) as error:
        client.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")
    assert refusal(error) == "already_reacted"
    client.reactions_remove(channel=CHANNEL, timestamp=ts, name="eyes")
    message = client.reactions_get(channel=CHANNEL, timestamp=ts)["message"]
    assert message["reactions"] == []


def test_text_limits(client: WebClient) -> None:
    with pytest.raises(SlackApiError) as error:
        client.chat_postMessage(channel=CHANNEL, text="x" * 40_001)
    assert refusal(error) == "msg_too_long"
    ts = client.chat_postMessage(channel=CHANNEL, text="short")["ts"]
    with pytest.raises(SlackApiError) as error:
        client.chat_update(channel=CHANNEL, ts=ts, text="x" * 4_001)
    assert refusal(error) == "msg_too_long"


def test_refused_blocks_are_named(client: WebClient) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}]
    with pytest.raises(SlackApiError) as error:
        client.chat_postMessage(channel=CHANNEL, text="long", blocks=blocks)
    assert refusal(error) == "invalid_blocks"
    messages = error.value.response["response_metadata"]["messages"]
    assert messages == [
        "[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    ]


def test_form_bodies_are_read_like_json_ones(client: WebClient) -> None:
    blocks = '[{"type": "markdown", "text": "hi"}]'
    params = {"channel": CHANNEL, "text": "hi", "blocks": blocks}
    answer = client.api_call("chat.postMessage", params=params)
    assert answer["message"]["blocks"][0]["text"] == "hi"


def test_an_unknown_method_is_said_to_be_unknown(client: WebClient) -> None:
    with pytest.raises(SlackApiError) as error:
        client.api_call("chat.shout")
    assert refusal(error) == "unknown_method"


def test_faults_happen_as_often_as_ordered(client: WebClient, slack: SlackStandIn) -> None:
    slack.faults.add("chat.postMessage", error="internal_error", count=2)
    for _ in range(2):
        with pytest.raises(SlackApiError) as error:
            client.chat_postMessage(channel=CHANNEL, text="hello")
        assert refusal(error) == "internal_error"
    assert client.chat_postMessage(channel=CHANNEL, text="hello")["ok"]


def test_a_fault_may_hit_every_third_call_only(client: WebClient, slack: SlackStandIn) -> None:
    slack.faults.add("api.test", error="internal_error", count=9, every=3)
    failed = []
    for _ in range(6):
        try:
            client.api_test()
            failed.append(False)
        except SlackApiError:
            failed.append(True)
    slack.faults.clear()
    assert failed == [False, False, True, False, False, True]


def test_a_rate_limit_fault_says_when_to_come_back(client: WebClient, slack: SlackStandIn) -> None:
    slack.faults.add("auth.test", status=429, retry_after=7)
    with pytest.raises(SlackApiError) as error:
        client.auth_test()
    assert error.value.response.status_code == 429
    assert error.value.response.headers["retry-after"] == "7"


def test_a_dropped_call_was_not_carried_out(client: WebClient, slack: SlackStandIn) -> None:
    before = len(slack.messages(CHANNEL))
    slack.faults.add("chat.postMessage", drop=True)
    with pytest.raises((RemoteDisconnected, ConnectionError, URLError)):
        client.chat_postMessage(channel=CHANNEL, text="lost")
    assert len(slack.messages(CHANNEL)) == before


def test_a_dropped_response_was_carried_out(client: WebClient, slack: SlackStandIn) -> None:
    before = len(slack.messages(CHANNEL))
    slack.faults.add("chat.postMessage", drop_response=True)
    with pytest.raises((RemoteDisconnected, ConnectionError, URLError)):
        client.chat_postMessage(channel=CHANNEL, text="posted, but who knows")
    assert len(slack.messages(CHANNEL)) == before + 1


def test_posts_to_one_channel_are_paced_after_a_burst() -> None:
    now = [0.0]
    limits = RateLimits(clock=lambda: now[0])
    waits = [limits.wait("chat.postMessage", "C1") for _ in range(POST_BURST + 1)]
    assert waits == [0] * POST_BURST + [1]
    assert limits.wait("chat.postMessage", "C2") == 0
    now[0] += 1.0
    assert limits.wait("chat.postMessage", "C1") == 0


def test_updates_are_limited_over_all_channels() -> None:
    limits = RateLimits(clock=lambda: 0.0)
    assert sum(limits.wait("chat.update", f"C{n}") == 0 for n in range(60)) == 50


def test_limits_are_enforced_over_http() -> None:
    with SlackStandIn() as slack:
        client = WebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        answers: list[SlackApiError] = []
        for number in range(POST_BURST + 5):
            try:
                client.chat_postMessage(channel=CHANNEL, text=str(number))
            except SlackApiError as error:
                answers.append(error)
    refused = answers[0].response
    assert refused["error"] == "ratelimited"
    assert int(refused.headers["retry-after"]) >= 1


def test_a_taken_port_leads_to_the_next_free_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        wished = taken.getsockname()[1]
        with SlackStandIn(port=wished) as slack:
            assert slack.port > wished
            assert WebClient(slack.bot_token, base_url=slack.api_url).api_test()["ok"]
