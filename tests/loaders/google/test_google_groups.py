"""Who is in Google groups, by the real client against a directory that pages and refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from config.errors import PermissionsUnknown
from config.settings import Settings
from loaders.google.permissions import Members, open_groups
from playground.google_stand_in import ACCOUNT, GoogleFault, GoogleStandIn

ADMIN = "admin@tidewater.example"
SEC, ALL, EMPTY = (f"{name}@tidewater.example" for name in ("sec", "all", "empty"))
MANY = [f"p{number}@tidewater.example" for number in range(450)]
GROUPS = {
    SEC: ["Ines@Tidewater.example", "left@tidewater.example"],
    ALL: [SEC, *MANY, ALL],
    EMPTY: [],
}


@pytest.fixture
def google() -> Iterator[GoogleStandIn]:
    running = GoogleStandIn(
        [],
        groups=GROUPS,
        groups_admins=[ADMIN, ACCOUNT],
        delegates=[ADMIN, "dana@tidewater.example"],
    )
    with running:
        running.directory.suspended.add("left@tidewater.example")
        yield running


def members(
    google: GoogleStandIn, folder: Path, *groups: str, admin: str = ADMIN
) -> Mapping[str, Members | str]:
    settings = Settings(
        google_credentials=google.write_credentials(folder / "key.json"),
        google_api_url=google.url,
        google_groups_admin=admin,
    )
    return open_groups(settings)(groups)


@pytest.mark.parametrize("admin", [ADMIN, ACCOUNT])
def test_members_of_groups_in_groups_are_read_page_by_page(
    google: GoogleStandIn, tmp_path: Path, admin: str
) -> None:
    found = members(google, tmp_path, SEC, ALL, EMPTY, admin=admin)
    assert found == {
        SEC: {"ines@tidewater.example"},
        ALL: {"ines@tidewater.example", *MANY},
        EMPTY: frozenset(),
    }
    assert google.requests["batch"] == 3, "all groups at once, a page further at each call"


def test_a_group_that_is_not_there_says_so(google: GoogleStandIn, tmp_path: Path) -> None:
    found = members(google, tmp_path, SEC, "nope@tidewater.example")
    assert found[SEC] == {"ines@tidewater.example"}
    assert found["nope@tidewater.example"] == "the directory knows no such group"


@pytest.mark.parametrize("admin", ["dana@tidewater.example", "stranger@tidewater.example"])
def test_whoever_may_not_read_groups_is_told_what_to_grant(
    google: GoogleStandIn, tmp_path: Path, admin: str
) -> None:
    said = members(google, tmp_path, SEC, admin=admin)[SEC]
    assert isinstance(said, str)
    assert "GOOGLE_GROUPS_ADMIN" in said


def test_an_outage_is_no_answer(google: GoogleStandIn, tmp_path: Path) -> None:
    google.faults.add(GoogleFault(method="batch", status=503, times=None))
    with pytest.raises(PermissionsUnknown):
        members(google, tmp_path, SEC)


def test_a_group_that_can_t_be_told_now_is_left_out(google: GoogleStandIn, tmp_path: Path) -> None:
    google.faults.add(GoogleFault(method="members.list", file=SEC, status=500, times=None))
    assert members(google, tmp_path, SEC, EMPTY) == {EMPTY: frozenset()}
