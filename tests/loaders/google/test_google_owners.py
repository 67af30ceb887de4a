"""Whose a document is, and the one comment on it, by the real client against the local Google."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.errors import ConfigError
from config.settings import Settings
from loaders.google.drive.source import open_drive
from loaders.google.errors import GoogleRefused
from loaders.google.owners import GoogleOwners, save_once
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleFault, GoogleStandIn, StoredFile

INES, DANA = "ines@tidewater.example", "dana@tidewater.example"


def permission(role: str, email: str, **more: Any) -> dict[str, Any]:
    return {"id": email, "type": "user", "role": role, "emailAddress": email, **more}


MANAGERS = (
    permission("reader", "reader@tidewater.example"),
    permission("fileOrganizer", DANA),
    permission("organizer", INES),
    permission("organizer", "left@tidewater.example", deleted=True),
)
FILES = (
    StoredFile(id="mine", name="Mine", owner="Ines", owner_email="Ines@Tidewater.example",
               last_editor=DANA),
    StoredFile(id="shared", name="Shared", drive_id="D", last_editor=DANA, permissions=MANAGERS),
    StoredFile(id="managed", name="Managed", drive_id="D", permissions=MANAGERS),
    StoredFile(id="closed", name="Closed", drive_id="D", can_list_permissions=False),
    StoredFile(id="read", name="Read", account_role="reader"),
    *(StoredFile(id=f"guide{number}", name="Guide") for number in range(4)),
    StoredFile(id="it's", name="Reviews", mime_type=FOLDER, drive_id="D", account_role="writer"),
)  # fmt: skip


@pytest.fixture
def google() -> Iterator[GoogleStandIn]:
    with GoogleStandIn(FILES, page_limit=2) as running:
        yield running


def desk(google: GoogleStandIn, folder: Path, *, comments: bool = True) -> GoogleOwners:
    settings = Settings(
        google_credentials=google.write_credentials(folder / "key.json"),
        google_api_url=google.url,
        google_comments=comments,
    )
    return GoogleOwners(settings, sleep=lambda seconds: None)


def said(google: GoogleStandIn, document: str) -> list[str]:
    return [one["content"] for one in google.comments.of(document)]


def test_who_is_asked_first(google: GoogleStandIn, tmp_path: Path) -> None:
    asked = desk(google, tmp_path)
    assert asked.owners("mine").people == ((INES, "owner"), (DANA, "editor"))
    assert asked.owners("shared").people == ((DANA, "editor"), (INES, "manager"))
    assert asked.owners("managed").people == ((INES, "manager"), (DANA, "manager"))
    assert asked.owners("closed").people == ()
    assert asked.owners("mine").title == "Mine"


def test_gone_and_not_answering_are_told_apart(google: GoogleStandIn, tmp_path: Path) -> None:
    asked = desk(google, tmp_path)
    assert asked.owners("nothing").deleted
    google.drive.trash("mine")
    assert asked.owners("mine").deleted
    google.faults.add(GoogleFault(method="files.get", status=503, times=None))
    away = asked.owners("shared")
    assert (away.later, away.deleted) == (True, False)


@pytest.mark.parametrize("kind", ["drop", "truncate", "garble"])
def test_a_comment_whose_reply_was_lost_is_not_made_again(
    google: GoogleStandIn, tmp_path: Path, kind: Any
) -> None:
    asked = desk(google, tmp_path)
    for number in range(3):  # so that ours is on a later page
        asked.comment("guide0", mark=f"[m{number}]", content=f"x [m{number}]", quoted="")
    google.faults.add(GoogleFault(kind=kind, method="comments.create", times=2))
    for _ in range(2):
        made = asked.comment("guide0", mark="[m9]", content="words [m9]", quoted="Ages")
        assert made.outcome == "made"
        assert made.id
    assert said(google, "guide0").count("words [m9]") == 1
    # Of its own accord the HTTP client would have sent it again.
    assert google.requests["comments.create"] == 3 + 1


def test_what_became_of_it_is_told(google: GoogleStandIn, tmp_path: Path) -> None:
    asked = desk(google, tmp_path)
    words: dict[str, str] = {"mark": "[m]", "content": "w [m]", "quoted": ""}
    assert asked.comment("nothing", **words).outcome == "gone"
    refused = asked.comment("read", **words)
    assert (refused.outcome, refused.why) == (
        "refused",
        "my account is no commenter there",
    )
    google.faults.add(GoogleFault(method="comments.create", status=500, times=None))
    assert asked.comment("guide2", **words).outcome == "later"


def test_without_leave_nothing_is_written(google: GoogleStandIn, tmp_path: Path) -> None:
    asked = desk(google, tmp_path, comments=False)
    words: dict[str, str] = {"mark": "[m]", "content": "w [m]", "quoted": ""}
    assert asked.comment("guide3", **words).outcome == "off"
    assert asked.comment("nothing", **words).outcome == "gone"
    assert google.requests["comments.create"] == 0


def test_the_reading_token_can_write_nothing(google: GoogleStandIn, tmp_path: Path) -> None:
    settings = desk(google, tmp_path).settings
    client = open_drive(settings).calls.client
    request = client.comments.create(fileId="guide3", body={"content": "no"}, fields="id")
    with pytest.raises(GoogleRefused, match="insufficientPermissions"):
        client.call(request)
    refused = save_once(client, "it's", mark="m", title="t", markdown="x")
    assert refused.why == "the credentials' scopes don't reach Drive"


@pytest.mark.parametrize("kind", ["drop", "truncate", "garble"])
def test_a_document_whose_reply_was_lost_is_not_saved_again(
    google: GoogleStandIn, tmp_path: Path, kind: Any
) -> None:
    asked = desk(google, tmp_path, comments=False)
    google.faults.add(GoogleFault(kind=kind, method="files.create", times=2))
    text = "# Night\n\nÄ “quote”\r\n--boundary\n"
    for _ in range(2):
        saved = asked.save("it's", mark="m1", title="Night's end", markdown=text)
        assert saved.why == ""
    assert asked.save("it's", mark="m2", title="Night", markdown="# Other").url != saved.url
    files = [one for one in google.drive.all_visible() if one.parents == ("it's",)]
    assert [(one.name, one.app_properties) for one in files] == [
        ("Night's end", {"oncallMark": "m1"}),
        ("Night", {"oncallMark": "m2"}),
    ]
    assert files[0].content == text
    assert files[0].id in saved.url


def test_a_folder_that_is_not_there_is_no_error(google: GoogleStandIn, tmp_path: Path) -> None:
    saved = desk(google, tmp_path).save("nowhere", mark="m", title="t", markdown="x")
    assert saved.url == ""
    assert "share the folder of `runbooks.timeline_folder` with my account" in saved.why


def test_a_key_that_is_missing_is_named_when_it_is_needed() -> None:
    with pytest.raises(ConfigError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        GoogleOwners(Settings(google_comments=True)).owners("mine")
