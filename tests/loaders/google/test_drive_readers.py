"""Who may read documents now: asked of Drive in batches, and never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.errors import PermissionsUnknown
from loaders.document import Permission
from loaders.google.drive.source import GoogleDrive
from loaders.google.permissions import current_readers
from playground.google_stand_in import ACCOUNT, GoogleFault, GoogleStandIn
from tests.loaders.google.source import TOP, document, folder, opened

INES = {"id": "1", "type": "user", "role": "reader", "emailAddress": "ines@tidewater.example"}
GONE = {"id": "2", "type": "user", "role": "reader", "deleted": True}
GLIMPSE = {**INES, "id": "3", "view": "metadata"}
ONLY_INES = (Permission(kind="user", value="ines@tidewater.example"),)
ONLY_US = (Permission(kind="user", value=ACCOUNT),)


@pytest.fixture
def google() -> Iterator[GoogleStandIn]:
    with GoogleStandIn([folder("top")], page_limit=2) as running:
        yield running


@pytest.fixture
def drive(google: GoogleStandIn, tmp_path: Path) -> Iterator[GoogleDrive]:
    with opened(google, tmp_path) as reached:
        yield reached


def put(google: GoogleStandIn, file_id: str, *permissions: dict[str, Any], **more: Any) -> None:
    google.drive.put(document(file_id, permissions=permissions, **more))


def test_what_became_of_a_document_is_told(google: GoogleStandIn, drive: GoogleDrive) -> None:
    for name in ("open", "trashed", "revoked", "deleted"):
        put(google, name, INES)
    put(google, "nobody left", GONE)
    put(google, "seen from outside", GLIMPSE)
    put(google, "locked", INES, locked=True)
    put(google, "hidden", INES, can_list_permissions=False)
    put(google, "shared", INES, drive_id="shared-drive")
    google.drive.trash("trashed")
    google.drive.revoke("revoked")
    google.drive.delete("deleted")
    asked = [
        "open", "shared", "trashed", "revoked", "deleted", "nobody left", "seen from outside",
        "locked", "hidden", "never there",
    ]  # fmt: skip
    found = current_readers(asked, drive.calls)
    assert found.keys() == set(asked)
    assert found.pop("open") == found.pop("shared") == ONLY_INES
    assert found.pop("hidden") == ONLY_US
    assert set(found.values()) == {()}


def test_many_documents_are_asked_in_one_call(google: GoogleStandIn, drive: GoogleDrive) -> None:
    ids = [f"d{number}" for number in range(50)]
    for each in ids:
        put(google, each, INES)
    assert set(current_readers(ids, drive.calls).values()) == {ONLY_INES}
    assert google.requests["batch"] == 1
    assert google.requests["permissions.list"] == 50
    put(google, "one more", INES)
    assert len(current_readers([*ids, "one more"], drive.calls)) == 51
    assert google.requests["batch"] == 3, "Drive takes 100 requests in a batch, and no more"


def test_a_long_list_of_readers_is_read_to_its_end(
    google: GoogleStandIn, drive: GoogleDrive
) -> None:
    many = [{**INES, "id": str(n), "emailAddress": f"p{n}@tidewater.example"} for n in range(7)]
    put(google, "long", *many)
    put(google, "short", INES)
    found = current_readers(["long", "short"], drive.calls)
    assert {each.value for each in found["long"]} == {one["emailAddress"] for one in many}
    assert found["short"] == ONLY_INES
    assert google.requests["batch"] == 4


@pytest.mark.parametrize(
    "fault",
    [
        GoogleFault(method="batch", status=503, times=2),
        GoogleFault(method="batch", status=429, reason="rateLimitExceeded", retry_after=1),
        GoogleFault(method="batch", kind="drop"),
        GoogleFault(method="batch", kind="truncate"),
        GoogleFault(method="batch", kind="garble"),
        GoogleFault(method="permissions.list", status=429, reason="rateLimitExceeded"),
        GoogleFault(method="files.get", status=500),
        GoogleFault(method="permissions.list", kind="garble"),
    ],
    ids=lambda fault: f"{fault.method} {fault.kind} {fault.status}",
)
def test_a_stumble_is_tried_again(
    google: GoogleStandIn, drive: GoogleDrive, fault: GoogleFault
) -> None:
    put(google, "a", INES)
    put(google, "b", INES)
    google.faults.add(fault)
    assert current_readers(["a", "b"], drive.calls) == {"a": ONLY_INES, "b": ONLY_INES}
    assert google.faults.struck()


def test_what_drive_does_not_tell_is_left_out(google: GoogleStandIn, drive: GoogleDrive) -> None:
    for name in ("a", "b", "c"):
        put(google, name, INES)
    google.faults.add(
        GoogleFault(method="permissions.list", file="b", status=500, times=None),
        GoogleFault(
            method="files.get", file="c", status=403, reason="dailyLimitExceeded", times=None
        ),
    )
    assert current_readers(["a", "b", "c"], drive.calls) == {"a": ONLY_INES}


@pytest.mark.parametrize(
    "fault",
    [
        GoogleFault(method="batch", status=503, times=None),
        GoogleFault(method="batch", status=403, reason="accessNotConfigured", times=None),
        GoogleFault(method="files.get", status=403, reason="dailyLimitExceeded", times=None),
        GoogleFault(method="permissions.list", status=500, times=None),
    ],
    ids=lambda fault: f"{fault.method} {fault.status}",
)
def test_an_outage_is_no_answer(
    google: GoogleStandIn, drive: GoogleDrive, fault: GoogleFault
) -> None:
    put(google, "a", INES)
    google.faults.add(fault)
    with pytest.raises(PermissionsUnknown, match="I can't check who may read"):
        current_readers(["a"], drive.calls)


def test_a_refused_key_is_no_answer(google: GoogleStandIn, tmp_path: Path) -> None:
    put(google, "a", INES)
    with (
        opened(google, tmp_path, delegate="nobody@tidewater.example") as drive,
        pytest.raises(PermissionsUnknown),
    ):
        current_readers(["a"], drive.calls)


def test_an_expired_token_is_renewed(google: GoogleStandIn, drive: GoogleDrive) -> None:
    put(google, "a", INES)
    for _ in range(2):
        assert current_readers(["a"], drive.calls) == {"a": ONLY_INES}
        google.expire_tokens()


def test_a_locked_document_is_not_read_and_is_named(
    google: GoogleStandIn, drive: GoogleDrive
) -> None:
    put(google, "open", INES)
    put(google, "locked", INES, locked=True)
    plan = drive.sync(TOP, cursor="", indexed={})
    assert [file.id for file in plan.changed] == ["open"]
    reason = "Document locked: it is not read: its readers may not download, print or copy it"
    assert plan.skipped == (reason,)

    known = {file.id: drive.load(file) for file in plan.changed}
    put(google, "open", INES, locked=True)
    later = drive.sync(TOP, cursor=plan.cursor, indexed=known)
    assert (later.changed, later.removed) == ((), ("open",))
    assert later.skipped == (reason.replace("locked:", "open:"),)
    again = drive.sync(TOP, cursor="", indexed=known)
    assert (again.changed, again.removed) == ((), ("open",))
