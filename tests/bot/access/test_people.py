"""Who somebody is and where, as Slack tells it, and for how long that is believed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.access.directory import (
    FAILED_SECONDS,
    FRESH_SECONDS,
    JUST_JOINED_SECONDS,
    REFUSED_SECONDS,
    STALE_SECONDS,
    Channels,
    People,
    TtlCache,
    kind_of,
)
from bot.slack.client import SlackClient, SlackUnsure
from index.permissions.acts import Kind, Visitor
from index.permissions.rules import Person
from playground.slack.tidewater import BOT_USER_ID, TEAM_ID, Channel, SlackUser
from playground.slack.web_api.people_methods import user_json
from playground.slack_stand_in import SlackStandIn
from tests.bot.crowd import FORMER, GUEST, MEMBER, PARTNER, PRIVATE, PUBLIC, gather

OURS = frozenset({"T1", "E1"})


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        ({"id": "U1", "team_id": "T1"}, "member"),
        ({"id": "U1", "team_id": "T1", "is_restricted": True}, "guest"),
        ({"id": "U1", "team_id": "T1", "is_ultra_restricted": True}, "guest"),
        ({"id": "U1", "team_id": "T2"}, "external"),
        ({"id": "U1", "team_id": "T2", "is_stranger": True}, "external"),
        ({"id": "U1", "team_id": "T2", "enterprise_user": {"enterprise_id": "E2"}}, "external"),
        ({"id": "U1", "team_id": "T2", "enterprise_user": {"enterprise_id": "E1"}}, "member"),
        ({"id": "U1", "team_id": "E1", "enterprise_user": {"teams": ["T1", "T2"]}}, "member"),
        (
            {
                "id": "U1",
                "team_id": "T2",
                "is_stranger": True,
                "enterprise_user": {"enterprise_id": "E1"},
            },
            "member",
        ),
        (
            {
                "id": "U1",
                "team_id": "T2",
                "is_restricted": True,
                "enterprise_user": {"enterprise_id": "E1"},
            },
            "guest",
        ),
        ({"id": "U1", "team_id": "T1", "deleted": True}, "former"),
        ({"id": "U1", "team_id": "T1", "is_bot": True}, "bot"),
        ({"id": "USLACKBOT", "team_id": "T1"}, "bot"),
        ({"id": "U1"}, "unknown"),
        ({"id": "U1", "team_id": None, "enterprise_user": None}, "unknown"),
    ],
)
def test_a_users_kind_is_read_from_slacks_object(user: dict[str, Any], kind: Kind) -> None:
    assert kind_of(user, OURS) == kind


@pytest.fixture
def crowded() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as slack:
        gather(slack)
        yield slack


def member(user: str) -> Visitor:
    return Visitor(kind="member", person=Person(slack_user=user))


def external(user: str) -> Visitor:
    return Visitor(kind="external", person=Person(slack_user=user))


def web_of(slack: SlackStandIn) -> SlackClient:
    return SlackClient(
        WebClient(token=slack.bot_token, base_url=slack.api_url), sleep=lambda _: None
    )


def people_of(slack: SlackStandIn) -> People:
    return People(web_of(slack), frozenset({TEAM_ID}))


def test_people_are_told_apart_over_the_wire(crowded: SlackStandIn) -> None:
    people = people_of(crowded)
    standings = {user: people.member(user).kind for user in (MEMBER, GUEST, PARTNER, FORMER)}
    assert standings == {MEMBER: "member", GUEST: "guest", PARTNER: "external", FORMER: "former"}
    assert people.member("U0NOBODY").kind == "unknown"
    assert people.member("").kind == "unknown"
    assert people.member(BOT_USER_ID).kind == "bot"


def test_an_address_leads_to_its_person_and_one_of_nobodys_to_none(crowded: SlackStandIn) -> None:
    people = people_of(crowded)
    known = people.member_by_email(" May@Tidewater.example ")
    assert (known.person.slack_user, known.kind) == (MEMBER, "member")
    assert people.member_by_email("former@tidewater.example").kind == "unknown"
    assert people.member_by_email("nobody@tidewater.example").kind == "unknown"
    for look_alike in (
        "",
        "m\u0430y@tidewater.example",
        "may@\uff54idewater.example",
        "ma\u028f@c.example",
    ):
        assert people.member_by_email(look_alike).kind == "unknown"
    crowded.faults.add("users.lookupByEmail", status=503, count=50)
    assert people.member_by_email("\u212aate@tidewater.example").kind == "unknown", (
        "nobody is asked"
    )


def test_an_account_with_two_addresses_is_read_by_the_one_in_its_profile(
    crowded: SlackStandIn,
) -> None:
    """Slack finds it by an older address, too: permissions name the present one."""

    class Renamed(SlackUser):
        email = "may.newname@tidewater.example"

    class Web:
        def call(self, method: str, **arguments: Any) -> Any:
            return {"user": user_json(Renamed(id=MEMBER, handle="may", name="May", title=""))}

    people = People(Web(), frozenset({TEAM_ID}))  # type: ignore[arg-type]
    by_address = people.member_by_email("may@tidewater.example").person
    assert by_address == people.person(MEMBER)
    assert by_address.email == "may.newname@tidewater.example"


def test_members_are_read_to_the_last_page_and_once(crowded: SlackStandIn) -> None:
    many = {f"U{number:05}" for number in range(2_500)}
    crowded.workspace.add_channel(Channel(id="C0MANY", name="many", members={BOT_USER_ID, *many}))
    channels = Channels(web_of(crowded))
    assert channels.has("C0MANY", external("U02499"))
    assert channels.has("C0MANY", external("U00000"))
    assert crowded.api.calls.count("conversations.members") == 3


def test_what_somebody_is_in_is_read_to_the_last_page_and_once(crowded: SlackStandIn) -> None:
    for number in range(1_500):
        name = f"C1{number:05}"
        crowded.workspace.add_channel(Channel(id=name, name=name, members={MEMBER}))
    channels = Channels(web_of(crowded))
    assert channels.has("C101499", member(MEMBER))
    assert channels.has(PRIVATE, member(MEMBER))
    assert crowded.api.calls.count("users.conversations") == 2


@pytest.mark.parametrize("user", [MEMBER, GUEST, PARTNER])
def test_a_private_channel_needs_its_scope_and_the_bot_in_it(
    crowded: SlackStandIn, user: str
) -> None:
    def holds(channel: str) -> bool:
        channels = Channels(web_of(crowded))
        return channels.has(channel, external(user) if user == PARTNER else member(user))

    assert holds(PRIVATE)
    crowded.api.scopes -= {"groups:read"}
    assert not holds(PRIVATE)
    assert holds(PUBLIC)
    crowded.api.scopes |= {"groups:read"}
    crowded.workspace.channels[PRIVATE].members.discard(BOT_USER_ID)
    assert not holds(PRIVATE)
    assert not holds("C0NOWHERE")


def test_of_somebody_unknown_nothing_is_known(crowded: SlackStandIn) -> None:
    channels = Channels(web_of(crowded))
    assert not channels.has(PUBLIC, member("U0NOBODY"))
    assert not channels.has(PUBLIC, external("U0NOBODY"))


def test_only_what_slack_calls_public_is(crowded: SlackStandIn) -> None:
    channels = Channels(web_of(crowded))
    assert channels.is_public(PUBLIC)
    assert not channels.is_public(PRIVATE)
    assert not channels.is_public("C0NOWHERE")


class Source:
    """What Slack would say, and how often it was asked."""

    def __init__(self, value: str | None = "first") -> None:
        self.value = value
        self.asked = 0
        self.down = False
        self.now = 1_000.0

    def memory(self) -> TtlCache[str]:
        return TtlCache(self.look_up, lambda: self.now)

    def look_up(self, key: str, patience: float) -> str | None:
        self.asked += 1
        if self.down:
            raise SlackUnsure("out")
        return self.value


def test_an_answer_is_believed_for_some_minutes() -> None:
    source = Source()
    memory = source.memory()
    memory.get("key")
    source.value, source.now = "second", source.now + FRESH_SECONDS - 1
    assert (memory.get("key"), source.asked) == ("first", 1)
    source.now += 2
    assert (memory.get("key"), source.asked) == ("second", 2)


def test_a_newer_answer_can_be_asked_for() -> None:
    source = Source()
    memory = source.memory()
    memory.get("key")
    source.value, source.now = "second", source.now + JUST_JOINED_SECONDS + 1
    assert memory.get("key", within=JUST_JOINED_SECONDS) == "second"


def test_a_refusal_is_not_believed_as_long() -> None:
    source = Source(None)
    memory = source.memory()
    assert memory.get("key") is None
    source.value = "known after all"
    assert memory.get("key") is None
    source.now += REFUSED_SECONDS + 1
    assert memory.get("key") == "known after all"


def test_while_slack_is_out_the_last_answer_serves_for_a_short_while_and_then_nothing() -> None:
    source = Source()
    memory = source.memory()
    memory.get("key")
    source.down, source.now = True, source.now + STALE_SECONDS - 1
    assert memory.get("key") == "first"
    source.now += 2
    with pytest.raises(SlackUnsure):
        memory.get("key")


def test_nothing_is_known_of_whom_slack_never_told() -> None:
    source = Source()
    source.down = True
    memory = source.memory()
    for _ in range(3):
        with pytest.raises(SlackUnsure):
            memory.get("key")
    assert source.asked == 1, "nobody waits again so soon"
    source.down, source.now = False, source.now + FAILED_SECONDS + 1
    assert memory.get("key") == "first"


def test_however_many_ask_at_once_slack_is_asked_once() -> None:
    going, found, asked = threading.Event(), [], []

    def look_up(key: str, patience: float) -> str:
        asked.append(key)
        going.wait(10)
        return "found"

    memory: TtlCache[str] = TtlCache(look_up)
    threads = [threading.Thread(target=lambda: found.append(memory.get("key"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    going.set()
    for thread in threads:
        thread.join()
    assert (found, asked) == (["found"] * 8, ["key"])
