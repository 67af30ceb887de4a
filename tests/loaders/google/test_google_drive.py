"""Drive through the real client, against the local Google over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from config.errors import ConfigError, LoadError
from config.settings import Settings
from loaders.document import Permission
from loaders.google.drive.source import open_drive
from loaders.sources.google_drive import GoogleDriveSource
from playground.google.memory_drive import SHEET, SHORTCUT, SLIDES
from playground.google_stand_in import ACCOUNT, GoogleStandIn, StoredFile
from tests.loaders.google.source import BEFORE, LATER, Index, document, folder, opened
from tests.loaders.sheets.books import book, cells, sheet

FILES = (
    folder("top"),
    folder("sub", "top"),
    folder("deep", "sub"),
    folder("elsewhere"),
    document("a", "top", owner="Team A", properties={"status": "current"}),
    document("b", "sub"),
    document("c", "deep"),
    document("outside", "elsewhere"),
)

BOOK = book({"Beds": sheet([cells("Site", "Beds"), cells("Oslo", 12)])})


@pytest.fixture
def google() -> Iterator[GoogleStandIn]:
    with GoogleStandIn(FILES, page_limit=2) as running:
        yield running


@pytest.fixture
def index(google: GoogleStandIn, tmp_path: Path) -> Iterator[Index]:
    with opened(google, tmp_path) as drive:
        yield Index(drive)


def ids(plan_part: object) -> list[str]:
    assert isinstance(plan_part, tuple)
    return sorted(each if isinstance(each, str) else each.id for each in plan_part)


def test_the_first_run_loads_every_document_of_every_subfolder_once(
    google: GoogleStandIn, index: Index
) -> None:
    index.run()
    assert sorted(index.loads) == ["a", "b", "c"]
    loaded = index.documents["a"]
    assert (loaded.title, loaded.owner, loaded.status) == ("Document a", "Team A", "current")
    assert loaded.url == f"{google.url}/document/d/a/edit"
    assert (loaded.modified_at, loaded.source) == (BEFORE, "google_drive")
    assert loaded.permissions == (Permission(kind="domain", value="tidewater.example"),)
    assert [block.text for block in loaded.blocks] == ["A", "Part", "The words of a."]
    part = next(block for block in loaded.blocks if block.text == "Part")
    assert "#heading=h." in part.url


def test_an_unchanged_source_costs_one_request(google: GoogleStandIn, index: Index) -> None:
    index.run()
    before = google.requests
    plan = index.run()
    assert google.requests - before == Counter({"changes.list": 1})
    assert (plan.changed, plan.removed, ids(plan.unchanged)) == ((), (), ["a", "b", "c"])


def test_one_changed_document_is_the_only_one_read(google: GoogleStandIn, index: Index) -> None:
    index.run()
    before = google.requests
    google.drive.edit("b", "# B\n\nOther words.", modified=LATER)
    google.drive.edit("outside", "# not ours", modified=LATER)
    index.run()
    assert index.loads[3:] == ["b"]
    assert (google.requests - before)["documents.get"] == 1
    assert "Other words." in [block.text for block in index.documents["b"].blocks]


def test_a_rename_keeps_the_identity(google: GoogleStandIn, index: Index) -> None:
    index.run()
    google.drive.rename("a", "Better title")
    index.run()
    assert index.documents["a"].title == "Better title"
    assert len(index.documents) == 3


@pytest.mark.parametrize("loss", ["delete", "trash", "revoke", "move"])
def test_whatever_takes_a_document_away_removes_it_at_the_next_run(
    google: GoogleStandIn, index: Index, loss: str
) -> None:
    index.run()
    if loss == "move":
        google.drive.move("b", "elsewhere")
    else:
        getattr(google.drive, loss)("b")
    plan = index.run()
    assert plan.removed == ("b",)
    assert sorted(index.documents) == ["a", "c"]
    if loss in {"trash", "revoke"}:
        google.drive.restore("b")
        index.run()
        assert sorted(index.documents) == ["a", "b", "c"]


@pytest.mark.parametrize("loss", ["trash", "revoke", "move"])
def test_a_folder_takes_all_its_documents_along(
    google: GoogleStandIn, index: Index, loss: str
) -> None:
    index.run()
    if loss == "move":
        google.drive.move("sub", "elsewhere")
    else:
        getattr(google.drive, loss)("sub")
    plan = index.run()
    assert (ids(plan.removed), sorted(index.documents)) == (["b", "c"], ["a"])
    google.drive.move("sub", "top")
    google.drive.restore("sub")
    index.run()
    assert sorted(index.documents) == ["a", "b", "c"]


def test_new_documents_and_folders_are_found(google: GoogleStandIn, index: Index) -> None:
    index.run()
    google.drive.put(document("d", "deep"))
    google.drive.move("outside", "top")
    index.run()
    google.drive.put(folder("new", "sub"))
    google.drive.put(document("e", "new"))
    index.run()
    google.drive.put(document("f", "new"))
    index.run()
    assert sorted(index.documents) == ["a", "b", "c", "d", "e", "f", "outside"]
    assert max(Counter(index.loads).values()) == 1


def test_a_run_that_was_not_published_is_done_again(google: GoogleStandIn, index: Index) -> None:
    index.run()
    google.drive.edit("a", "# A\n\nNew.", modified=LATER)
    google.drive.delete("b")
    kept = dict(index.documents)
    assert ids(index.run(publish=False).changed) == ["a"]
    index.documents = kept
    plan = index.run()
    assert (ids(plan.changed), plan.removed) == (["a"], ("b",))


@pytest.mark.parametrize("cursor", ["", "nonsense", "[]", '{"cursor": 1}'])
def test_without_a_usable_cursor_it_lists_and_reads_only_what_differs(
    google: GoogleStandIn, index: Index, cursor: str
) -> None:
    index.run()
    google.drive.edit("c", "# C\n\nNew.", modified=LATER)
    google.drive.delete("b")
    index.cursor = cursor
    plan = index.run()
    assert (ids(plan.changed), ids(plan.unchanged), plan.removed) == (["c"], ["a"], ("b",))


def test_a_token_that_google_rejects_means_a_listing(index: Index, tmp_path: Path) -> None:
    index.run()
    google_of_old = index.cursor
    with GoogleStandIn(FILES[:-2]) as other, opened(other, tmp_path) as drive:
        # Another Drive's tokens, under the name that this one's cursor carries.
        again = Index(drive, documents=dict(index.documents))
        again.run()
        host = again.cursor.split('"source":"')[1].split('"')[0]
        old = google_of_old.split('"source":"')[1].split('"')[0]
        again.cursor = google_of_old.replace(old, host)
        plan = again.run()
    assert plan.complete
    assert ids(plan.unchanged) == ["a", "b"]


def test_other_configured_folders_mean_a_listing(google: GoogleStandIn, index: Index) -> None:
    index.run()
    index.source = GoogleDriveSource(folders=["deep"], documents=["outside"])
    plan = index.run()
    assert ids(plan.changed) == ["outside"]
    assert ids(plan.removed) == ["a", "b"]
    google.drive.edit("outside", "# O\n\nNew.", modified=LATER)
    assert ids(index.run().changed) == ["outside"]


def test_documents_that_failed_or_are_wanted_again_are_loaded_though_nothing_changed(
    index: Index,
) -> None:
    index.run()
    del index.documents["a"]
    plan = index.run(reload=["c"])
    assert (ids(plan.changed), ids(plan.unchanged)) == (["a", "c"], ["b"])


def test_new_readers_of_a_document_or_its_folder_arrive(
    google: GoogleStandIn, index: Index
) -> None:
    index.run()
    ines = {"id": "1", "type": "user", "role": "reader", "emailAddress": "ines@tidewater.example"}
    until = "2027-01-01T00:00:00.000Z"
    group = {"id": "2", "type": "group", "emailAddress": "sec@x.org", "expirationTime": until}
    gone = {"id": "3", "type": "user", "emailAddress": "x@x.org", "deleted": True}
    anyone = {"id": "4", "type": "anyone", "role": "reader"}
    google.drive.share("a", ines, group, gone, anyone)
    index.run()
    assert index.documents["a"].permissions == (
        Permission(kind="anyone"),
        Permission(kind="group", value="sec@x.org", expires_at=datetime(2027, 1, 1, tzinfo=UTC)),
        Permission(kind="user", value="ines@tidewater.example"),
    )
    # Sharing a folder changes who may read what is inside, while those files stay as they are.
    inherited = google.drive["b"]
    google.drive.inherit("b", ines)
    assert google.drive["b"].version == inherited.version
    google.drive.share("sub", ines)
    index.run()
    assert index.documents["b"].permissions == (
        Permission(kind="user", value="ines@tidewater.example"),
    )


def test_readers_that_drive_does_not_tell_are_nobody(google: GoogleStandIn, index: Index) -> None:
    google.drive.put(document("closed", "top", can_list_permissions=False))
    index.run()
    assert index.documents["closed"].permissions == (Permission(kind="user", value=ACCOUNT),)
    before = google.requests
    index.run()
    assert (google.requests - before)["documents.get"] == 0


def test_shortcuts_are_followed_once_and_dangling_ones_are_told(
    google: GoogleStandIn, index: Index
) -> None:
    def shortcut(file_id: str, target: str) -> StoredFile:
        return StoredFile(
            id=file_id, name=file_id, mime_type=SHORTCUT, parents=("top",), shortcut_to=target
        )

    google.drive.put(document("lost", "nowhere", revoked=True))
    google.drive.put(shortcut("s1", "outside"))
    google.drive.put(shortcut("s2", "outside"))
    google.drive.put(shortcut("s3", "a"))
    google.drive.put(shortcut("loop", "top"))
    google.drive.put(shortcut("s4", "lost"))
    plan = index.run()
    assert sorted(index.loads) == ["a", "b", "c", "outside"]
    assert [line.split(":")[0] for line in plan.skipped] == ["s4"]
    google.drive.edit("outside", "# O\n\nNew.", modified=LATER)
    assert ids(index.run().changed) == ["outside"]
    google.drive.delete("s1")
    google.drive.delete("s2")
    assert ids(index.run().removed) == ["outside"]


def test_shared_drives_have_their_own_feed(tmp_path: Path) -> None:
    files = (
        folder("top", drive_id="0AD"),
        document("x", "top", drive_id="0AD"),
        document("y", "top", drive_id="0AD"),
        document("single", "nowhere"),
    )
    with GoogleStandIn(files, page_limit=1) as google, opened(google, tmp_path) as drive:
        index = Index(drive, GoogleDriveSource(folders=["top"], documents=["single"]))
        index.run()
        assert sorted(index.loads) == ["single", "x", "y"]
        google.drive.edit("x", "# X\n\nNew.", modified=LATER)
        google.drive.delete("y")
        google.drive.edit("single", "# S\n\nNew.", modified=LATER)
        plan = index.run()
    assert (ids(plan.changed), plan.removed) == (["single", "x"], ("y",))


def test_sheets_slides_and_uploads_become_documents_too(
    google: GoogleStandIn, index: Index
) -> None:
    def upload(
        file_id: str, name: str, mime_type: str, content: str | bytes | Mapping[str, str]
    ) -> None:
        google.drive.put(
            StoredFile(
                id=file_id,
                name=name,
                mime_type=mime_type,
                parents=("top",),
                content=content,
                modified=BEFORE,
            )
        )

    upload("sheet", "Numbers", SHEET, {"EU": "name,limit\nEU,10\n", "US": "name,limit\nUS,20\n"})
    upload("book", "Beds.xlsx", "application/octet-stream", BOOK)
    upload("md", "notes.md", "text/plain", "---\nid: other\n---\n# Notes\n\nWords.\n")
    upload("html", "page", "text/html", "<h1>Page</h1><p>Text</p>")
    upload("photo", "photo.png", "image/png", "…")
    plan = index.run()
    assert {"sheet", "md", "html"} <= index.documents.keys()
    tables = [block for block in index.documents["sheet"].blocks if block.table]
    rows = [[cell.text for cell in block.table.rows[1]] for block in tables if block.table]
    assert rows == [["EU", "10"], ["US", "20"]]
    assert [block.heading_path for block in tables] == [("EU",), ("US",)]
    assert not index.documents["sheet"].warnings
    assert [block.text for block in index.documents["book"].blocks] == [
        "Beds",
        "Site | Beds\nOslo | 12",
    ]
    notes = index.documents["md"]
    assert (notes.id, notes.title, notes.blocks[0].text) == ("md", "notes.md", "Notes")
    assert plan.skipped == ("photo.png: no loader reads image/png",)


def test_a_sheet_over_the_limit_of_exports_is_read_in_part_with_a_warning(
    google: GoogleStandIn, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.google.file_content.EXPORT_LIMIT", 1_000)
    sheets = {"EU": "name,limit\nEU,10\n", "US": "name,limit\nUS,20\n" * 20}
    google.drive.put(
        StoredFile(id="long", name="Long", mime_type=SHEET, parents=("top",), content=sheets)
    )
    index.run()
    document = index.documents["long"]
    assert [block.text for block in document.blocks] == ["name | limit\nEU | 10"]
    assert document.warnings == (
        "it is over the 10 MB that Google exports: only its first sheet is read",
    )


def test_one_bad_document_is_named_and_the_rest_goes_on(
    google: GoogleStandIn, index: Index
) -> None:
    google.drive.put(document("bad", "top", content={"title": "No body"}))
    google.drive.put(
        StoredFile(
            id="huge", name="Huge", mime_type=SHEET, parents=("top",), content=b"x" * 11_000_000
        )
    )
    google.drive.put(
        StoredFile(id="deck", name="Deck", mime_type=SLIDES, parents=("top",), content=b"no PDF")
    )
    plan = index.run()
    assert sorted(index.loads) == ["a", "b", "c"]
    told = {}
    for file in plan.changed:
        if file.id not in index.documents:
            with pytest.raises(LoadError) as caught:
                index.drive.load(file)
            told[file.id] = str(caught.value)
    assert sorted(told) == ["bad", "deck", "huge"]
    assert all(file_id in message for file_id, message in told.items())
    assert "10 MB" in told["huge"]


def test_access_lost_between_listing_and_loading_is_named_with_the_remedy(
    google: GoogleStandIn, index: Index
) -> None:
    plan = index.drive.sync(index.source, cursor="", indexed={})
    google.drive.revoke("a")
    file = next(file for file in plan.changed if file.id == "a")
    with pytest.raises(LoadError, match=rf"a \(Document a\): .*share it with {ACCOUNT}"):
        index.drive.load(file)


def test_a_folder_that_is_not_shared_is_told_and_the_others_are_read(index: Index) -> None:
    index.source = GoogleDriveSource(folders=["missing", "deep"], documents=["gone"])
    plan = index.run()
    assert sorted(index.documents) == ["c"]
    assert [error.document for error in plan.failed] == ["folder missing", "document gone"]
    assert plan.complete
    assert all(ACCOUNT in error.remedy for error in plan.failed)


def test_a_folder_that_is_unshared_altogether_empties_the_index(
    google: GoogleStandIn, index: Index
) -> None:
    index.run()
    google.drive.revoke("top")
    plan = index.run()
    assert (ids(plan.removed), index.documents) == (["a", "b", "c"], {})
    assert [error.document for error in plan.failed] == ["folder top"]


def test_check_tells_folder_by_folder_what_can_be_read_and_whom_to_share_with(
    google: GoogleStandIn, index: Index
) -> None:
    google.drive.put(folder("empty", "top"))
    google.drive.put(document("closed", "sub", can_list_permissions=False))
    google.drive.move("b", "elsewhere")
    photo = StoredFile(id="p", name="p.png", mime_type="image/png", parents=("top",), content=b"x")
    google.drive.put(photo)
    google.drive.put(document("hidden", "elsewhere", can_list_permissions=False))
    source = GoogleDriveSource(folders=["top", "missing"], documents=["outside", "hidden", "p"])
    reports = {report.id: report for report in index.drive.check(source)}
    assert reports["top"].documents == {"Google Docs": 1}
    assert reports["top"].unsupported == {"image/png": 1}
    assert reports["top"].readable
    assert not reports["missing"].readable
    assert reports["missing"].remedy == f"share it with {ACCOUNT}"
    assert "does not tell who may read" in reports["hidden"].problem
    assert "does not tell who may read" in reports["sub"].problem
    assert reports["sub"].in_the_way("asker")
    assert not reports["sub"].in_the_way("channel"), "who reads it is asked for askers alone"
    assert "editor" in reports["sub"].remedy
    assert "nothing" in reports["empty"].problem
    assert (reports["outside"].kind, reports["outside"].readable) == ("document", True)
    assert (reports["p"].readable, "image/png" in reports["p"].problem) == (False, True)
    assert set(reports) == {"top", "sub", "deep", "empty", "missing", "outside", "hidden", "p"}


def test_a_missing_or_broken_key_is_told_before_any_call(tmp_path: Path) -> None:
    broken = tmp_path / "key.json"
    broken.write_text('{"private_key": "-----BEGIN secret')
    for path in (None, tmp_path / "no.json", broken, tmp_path):
        with pytest.raises(ConfigError, match="GOOGLE_APPLICATION_CREDENTIALS") as caught:
            open_drive(Settings(google_credentials=path))
        assert "secret" not in str(caught.value)


def test_refused_credentials_stop_the_run(google: GoogleStandIn, tmp_path: Path) -> None:
    with opened(google, tmp_path, delegate="boss@tidewater.example") as drive:
        with pytest.raises(ConfigError, match="unauthorized_client"):
            drive.sync(GoogleDriveSource(folders=["top"]), cursor="", indexed={})
        assert drive.account == "boss@tidewater.example"


def test_it_reads_as_the_user_who_delegated(tmp_path: Path) -> None:
    boss = "boss@tidewater.example"
    with (
        GoogleStandIn(FILES, delegates=[boss]) as google,
        opened(google, tmp_path, delegate=boss) as drive,
    ):
        assert (
            len(drive.sync(GoogleDriveSource(folders=["top"]), cursor="", indexed={}).changed) == 3
        )
