"""Which groups somebody is in: from the domain file, the directory and Slack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.connection import open_user_groups
from config.domain import Domain
from config.errors import PermissionsUnknown
from config.settings import Settings
from index.permissions.groups import (
    FRESH_SECONDS,
    REST_SECONDS,
    SERVED_SECONDS,
    CachedMembers,
    Groups,
    Members,
    no_directory,
)
from index.permissions.rules import EVERYONE, Person, identities
from loaders.google.permissions import open_groups
from playground.google_stand_in import GoogleFault, GoogleStandIn
from playground.slack_stand_in import SlackStandIn
from tests.loaders.google.source import Clock

ADMIN = "admin@tidewater.example"
SEC, LEGAL, OTHER = (f"{name}@tidewater.example" for name in ("sec", "legal", "other"))
INES = Person(email="Ines@tidewater.example", slack_user="U0INES")
DANA = Person(email="dana@tidewater.example", slack_user="U0DANA")
DOWN = GoogleFault(method="batch", status=503, times=None)


def domain(**groups: list[str]) -> Domain:
    return Domain.model_validate(
        {
            "domain": "security",
            "title": "Security",
            "sources": {"google_drive": {"folders": ["top"]}},
            "access": {"audience": "asker", "groups": groups},
        }
    )


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[GoogleStandIn, SlackStandIn]]:
    groups = {SEC: ["ines@tidewater.example"], OTHER: ["ines@tidewater.example"]}
    with (
        GoogleStandIn([], groups=groups, groups_admins=[ADMIN], delegates=[ADMIN]) as google,
        SlackStandIn() as slack,
    ):
        yield google, slack


class Town:
    """Groups as the product wires them, by a clock of their own."""

    def __init__(self, google: GoogleStandIn, slack: SlackStandIn, folder: Path) -> None:
        self.google, self.slack, self.clock = google, slack, Clock()
        google.faults.clear()
        self.before = google.requests["members.list"]
        settings = Settings(
            _env_file=None,
            google_credentials=google.write_credentials(folder / "key.json"),
            google_api_url=google.url,
            google_groups_admin=ADMIN,
            slack_bot_token=slack.bot_token,
            slack_api_url=slack.api_url,
        )
        self.groups = Groups(
            shared_groups=lambda name: frozenset({SEC, LEGAL}),
            directory=CachedMembers(open_groups(settings), clock=self.clock),
            slack=CachedMembers(open_user_groups(settings), clock=self.clock),
        )

    def of(self, person: Person, **groups: list[str]) -> set[str]:
        """The groups that they are in."""
        return set(self.groups(domain(**groups), person) - identities(person.email))

    def asked(self) -> int:
        return self.google.requests["members.list"] - self.before


@pytest.fixture
def town(servers: tuple[GoogleStandIn, SlackStandIn], tmp_path: Path) -> Town:
    return Town(*servers, tmp_path)


def test_a_member_is_known_by_their_groups_and_asked_for_once(town: Town) -> None:
    for _ in range(3):
        assert town.of(INES) == {SEC}
        assert town.of(DANA) == set()
    assert town.asked() == 2, "the two groups that documents are shared with, and no other"
    assert town.groups(domain(), Person()) == EVERYONE
    town.clock.now += FRESH_SECONDS
    town.google.directory.groups[SEC].remove("ines@tidewater.example")
    try:
        assert town.of(INES) == set()
    finally:
        town.google.directory.groups[SEC].append("ines@tidewater.example")


def test_the_domain_file_comes_first(town: Town) -> None:
    written = {SEC: ["Dana@tidewater.example"], LEGAL: ["ines@tidewater.example"]}
    assert town.of(INES, **written) == {LEGAL}
    assert town.of(DANA, **written) == {SEC}
    assert town.asked() == 0
    assert town.of(INES, **{OTHER: ["ines@tidewater.example"]}) == {SEC}, "opens nothing here"


def test_a_slack_user_group_stands_for_its_members(town: Town) -> None:
    group = next(iter(town.slack.workspace.groups.values()))
    inside = Person(email="x@elsewhere.example", slack_user=group.members[0])
    written = {LEGAL: [group.id], SEC: ["dana@tidewater.example"]}
    assert town.of(inside, **written) == {LEGAL}
    assert town.of(Person(email="x@elsewhere.example"), **written) == set()
    assert town.of(Person(email="x@elsewhere.example", slack_user="U0NOBODY"), **written) == set()
    by_name = Person(email=f"{group.members[0]}@tidewater.example")
    assert town.of(by_name, **written) == set()


def test_a_group_that_opens_nothing_is_named_once(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        assert town.of(INES, **{SEC: ["S0NOSUCH"]}) == set()
        town.clock.now += FRESH_SECONDS
    closed = {
        "S0NOSUCH": "Slack refuses to list it (no_such_subteam)",
        LEGAL: "the directory knows no such group",
    }
    assert sorted(caplog.messages) == [
        f"group {name} grants no access: {closed[name]}" for name in closed
    ]
    assert town.groups.closed(domain(**{SEC: ["S0NOSUCH"]}), {SEC, LEGAL}) == closed


def test_while_the_directory_is_away_known_members_count_for_a_while(town: Town) -> None:
    town.google.faults.add(DOWN)
    with pytest.raises(PermissionsUnknown):
        town.of(INES)
    town.google.faults.clear()
    town.clock.now += REST_SECONDS
    assert town.of(INES) == {SEC}
    town.google.faults.add(DOWN)
    town.clock.now += SERVED_SECONDS - 60.0
    assert town.of(INES) == {SEC}
    town.clock.now += 60.0
    with pytest.raises(PermissionsUnknown):
        town.of(INES)


def test_without_a_source_a_group_is_closed_and_the_reason_is_kept() -> None:
    never: dict[str, Any] = {"directory": CachedMembers(no_directory("nobody granted it"))}
    groups = Groups(
        shared_groups=lambda name: frozenset({SEC}),
        slack=CachedMembers(open_user_groups(Settings(_env_file=None))),
        **never,
    )
    assert groups(domain(), INES) == identities(INES.email)
    assert groups.closed(domain(), {SEC}) == {SEC: "nobody granted it"}
    assert groups.closed(domain(**{SEC: ["S0SECENG"]}), {SEC}) == {
        "S0SECENG": "SLACK_BOT_TOKEN is not set"
    }


def test_an_outage_of_slack_ends_in_a_word_and_not_in_a_refusal() -> None:
    def away(groups: Collection[str]) -> Mapping[str, Members | str]:
        raise PermissionsUnknown("Slack is away")

    groups = Groups(
        shared_groups=lambda name: frozenset({SEC}),
        directory=CachedMembers(no_directory("")),
        slack=CachedMembers(away),
    )
    with pytest.raises(PermissionsUnknown, match="Slack is away"):
        groups(domain(**{SEC: ["S0SECENG"]}), INES)
