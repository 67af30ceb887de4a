"""Who may read a document: every kind of permission against everyone who may ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from enrichment.chunk import DocumentCard
from index.permissions.rules import (
    EVERYONE,
    all_may_read,
    identities,
    may_read,
    readers_of,
    visible_to,
)
from index.search import SearchQuery
from loaders.document import Permission
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)

ASKERS = {
    "member": identities("Ines@Tidewater.example") | {"security@tidewater.example"},
    "colleague": identities("bob@tidewater.example"),
    "stranger": identities("eve@elsewhere.example"),
    "nobody": EVERYONE,
    "channel": None,
}
"""The channel is None: its domain is searched whatever single permissions say."""

PERMISSIONS = {
    "no permission": (),
    "user": (Permission(kind="user", value="ines@tidewater.example"),),
    "group": (Permission(kind="group", value="Security@tidewater.example"),),
    "domain": (Permission(kind="domain", value="tidewater.example"),),
    "anyone": (Permission(kind="anyone"),),
    "expired user": (Permission(kind="user", value="ines@tidewater.example", expires_at=BEFORE),),
    "expired anyone": (Permission(kind="anyone", expires_at=NOW),),
    "user for a while": (
        Permission(kind="user", value="ines@tidewater.example", expires_at=AFTER),
    ),
    "expired user, but the domain": (
        Permission(kind="user", value="ines@tidewater.example", expires_at=BEFORE),
        Permission(kind="domain", value="tidewater.example"),
    ),
    "a user without a name": (Permission(kind="user", value=""),),
}

TABLE = {
    # permission: member, colleague, stranger, nobody, channel
    "no permission": (False, False, False, False, True),
    "user": (True, False, False, False, True),
    "group": (True, False, False, False, True),
    "domain": (True, True, False, False, True),
    "anyone": (True, True, True, True, True),
    "expired user": (False, False, False, False, True),
    "expired anyone": (False, False, False, False, True),
    "user for a while": (True, False, False, False, True),
    "expired user, but the domain": (True, True, False, False, True),
    "a user without a name": (False, False, False, False, True),
}


def card(permission: str) -> DocumentCard:
    return DocumentCard(
        id=permission, title=permission, url="u", summary="", permissions=PERMISSIONS[permission]
    )


@pytest.mark.parametrize("permission", TABLE)
@pytest.mark.parametrize("asker", ASKERS)
def test_a_document_opens_for_whom_its_permissions_name(permission: str, asker: str) -> None:
    expected = dict(zip(ASKERS, TABLE[permission], strict=True))
    assert may_read(card(permission), ASKERS[asker], NOW) == expected[asker]


def test_the_table_is_complete() -> None:
    assert TABLE.keys() == PERMISSIONS.keys()


def test_a_permission_expires_at_its_moment_in_any_time_zone() -> None:
    def until(moment: datetime) -> DocumentCard:
        permission = Permission(kind="anyone", expires_at=moment)
        return DocumentCard(id="a", title="A", url="u", summary="", permissions=(permission,))

    singapore = timezone(timedelta(hours=8))
    assert may_read(until(AFTER.astimezone(singapore)), EVERYONE, NOW)
    assert not may_read(until(BEFORE.astimezone(singapore)), EVERYONE, NOW)
    # A database without time zones gives UTC back without saying so.
    assert may_read(until(AFTER.replace(tzinfo=None)), EVERYONE, NOW)
    assert not may_read(until(BEFORE.replace(tzinfo=None)), EVERYONE, NOW)


@pytest.mark.parametrize(
    ("email", "known"),
    [
        ("Ines@Tidewater.example ", {"ines@tidewater.example", "tidewater.example"}),
        ("", set()),
        ("  ", set()),
        # No address, and nothing that a permission could mean by it.
        ("tidewater.example", set()),
        ("@tidewater.example", set()),
        ("ines@", set()),
        # What Google would hand out to nobody, and what could be taken for somebody else.
        ("ines@sec-team@tidewater.example", set()),
        ("k\u0131m@tidewater.example", set()),
        ("\u212aim@tidewater.example", set()),
        ("ine\u017f@tidewater.example", set()),
        ("in es@tidewater.example", set()),
        ("ines\x00@tidewater.example", set()),
        ("ines\n@tidewater.example", set()),
    ],
)
def test_a_person_is_known_by_address_and_domain(email: str, known: set[str]) -> None:
    assert identities(email) == known


def test_open_to_all_is_what_nobody_in_particular_may_read() -> None:
    known = snapshot(ROTATION, LAPTOPS, permissions={"laptops": PERMISSIONS["domain"]})
    assert all_may_read(known, {"key-rotation"})
    assert all_may_read(known, set())
    assert not all_may_read(known, {"key-rotation", "laptops"})
    assert not all_may_read(known, {"no such document"})
    for closed in ("expired anyone", "no permission"):
        known = snapshot(LAPTOPS, permissions={"laptops": PERMISSIONS[closed]})
        assert not all_may_read(known, {"laptops"})


def test_a_channel_s_domain_is_searched_without_asking_who_it_is() -> None:
    def unwanted() -> frozenset[str]:
        raise AssertionError("looked up in vain")

    assert readers_of("channel", unwanted) is None
    assert readers_of("asker", lambda: identities("bob@tidewater.example")) == {
        "bob@tidewater.example",
        "tidewater.example",
    }


def test_a_generation_as_somebody_reads_it_holds_nothing_else() -> None:
    whole = snapshot(ROTATION, LAPTOPS, permissions={"laptops": PERMISSIONS["user"]})
    query = SearchQuery(variants=("how long until a screen locks or a key expires",), limit=50)
    colleague = visible_to(whole, identities("bob@tidewater.example"))
    assert set(colleague.documents) == {"key-rotation"}
    assert {hit.chunk.document_id for hit in colleague.search(query)} == {"key-rotation"}
    assert colleague.chunks("laptops") == ()
    assert colleague.chunks("key-rotation") == whole.chunks("key-rotation")
    member = visible_to(whole, identities("ines@tidewater.example"))
    assert set(member.documents) == {"key-rotation", "laptops"}
    assert member.search(query)[0].chunk.document_id == "laptops"


def test_a_channel_reads_the_generation_itself() -> None:
    whole = snapshot(ROTATION, LAPTOPS)
    assert visible_to(whole, None) is whole
