"""The local Google over real HTTP, as Google's own client library sees it."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httplib2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.auth.exceptions import RefreshError
from google.oauth2.service_account import Credentials
from google_auth_httplib2 import AuthorizedHttp
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

from playground.google.memory_drive import DOCUMENT, FOLDER, SHEET, SHORTCUT
from playground.google_stand_in import GoogleFault, GoogleStandIn, StoredFile

READ = "https://www.googleapis.com/auth/drive.readonly"
ALL_DRIVES = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
NOW = datetime(2026, 5, 4, tzinfo=UTC)


class Client:
    """Docs and Drive by googleapiclient, with the stand-in's own key."""

    def __init__(self, google: GoogleStandIn, folder: Path, scope: str = READ, **more: Any) -> None:
        key = google.write_credentials(folder / "key.json")
        self.credentials = Credentials.from_service_account_file(str(key), scopes=[scope], **more)  # type: ignore[no-untyped-call]
        self.http = AuthorizedHttp(self.credentials, http=httplib2.Http(timeout=60))
        options = {"static_discovery": True, "cache_discovery": False, "http": self.http}
        self.docs: Any = build("docs", "v1", client_options={"api_endpoint": google.url}, **options)
        endpoint = f"{google.url}/drive/v3/"
        self.drive: Any = build("drive", "v3", client_options={"api_endpoint": endpoint}, **options)

    def names(self, **params: Any) -> list[str]:
        listed = self.drive.files().list(fields="*", **params).execute()
        return [file["name"] for file in listed["files"]]

    def changes(self, token: str, **params: Any) -> dict[str, bool]:
        page = self.drive.changes().list(pageToken=token, **ALL_DRIVES, **params).execute()
        return {change["fileId"]: change["removed"] for change in page["changes"]}

    def start(self) -> str:
        return str(self.drive.changes().getStartPageToken().execute()["startPageToken"])


@pytest.fixture(scope="module")
def demo() -> Iterator[GoogleStandIn]:
    with GoogleStandIn() as google:
        yield google


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(google: GoogleStandIn, **options: Any) -> Client:
        made.append(Client(google, tmp_path, **options))
        return made[-1]

    yield make
    for client in made:
        client.http.close()


def files() -> list[StoredFile]:
    return [
        StoredFile(id="top", name="Top", mime_type=FOLDER),
        StoredFile(id="sub", name="Sub", mime_type=FOLDER, parents=("top",)),
        StoredFile(id="a", name="A", parents=("top",), content="# A\n\nwords", modified=NOW),
        StoredFile(id="b", name="B", parents=("sub",), content="# B"),
        StoredFile(id="s", name="S", mime_type=SHEET, parents=("top",), content="x,y\n1,2\n"),
        StoredFile(id="t", name="T", mime_type="text/plain", parents=("top",), content=b"plain"),
        StoredFile(id="k", name="K", mime_type=SHORTCUT, parents=("top",), shortcut_to="b"),
        StoredFile(id="d", name="D", parents=("top",), drive_id="0AD", owner="Team"),
    ]


def reason_of(error: HttpError) -> str:
    return str(json.loads(error.content)["error"]["errors"][0]["reason"])


def refused(request: Any) -> HttpError:
    with pytest.raises(HttpError) as caught:
        request.execute()
    return caught.value


def test_a_demo_folder_is_a_drive_folder_and_a_document_has_its_front_matter(
    demo: GoogleStandIn, connect: Callable[..., Client]
) -> None:
    client = connect(demo)
    top = client.drive.files().list(q="'demo' in parents", fields="files(id,mimeType)").execute()
    assert [file["id"] for file in top["files"]] == [
        "demo-platform",
        "demo-privacy",
        "demo-security",
    ]
    fields = "name,owners(displayName),modifiedTime,webViewLink,properties/status,parents"
    file = client.drive.files().get(fileId="key-rotation-standard-2024", fields=fields).execute()
    assert file == {
        "name": "Key Rotation Standard 2024",
        "owners": [{"displayName": "Security Engineering"}],
        "modifiedTime": file["modifiedTime"],
        "webViewLink": f"{demo.url}/document/d/key-rotation-standard-2024/edit",
        "properties": {"status": "superseded"},
        "parents": ["demo-security"],
    }
    document = client.docs.documents().get(
        documentId="key-rotation-standard-2024", includeTabsContent=True
    )
    assert document.execute()["tabs"][0]["tabProperties"]["tabId"] == "t.0"


def test_only_a_key_that_it_wrote_opens_it(
    demo: GoogleStandIn, connect: Callable[..., Client], tmp_path: Path
) -> None:
    stranger = json.loads(demo.write_credentials(tmp_path / "other.json").read_text())
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    stranger["private_key"] = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    ).decode()
    credentials = Credentials.from_service_account_info(stranger, scopes=[READ])  # type: ignore[no-untyped-call]
    client = connect(demo)
    client.http.credentials = credentials
    with pytest.raises(RefreshError, match="invalid_grant"):
        client.drive.files().list().execute()
    assert (tmp_path / "key.json").stat().st_mode & 0o077 == 0


def test_without_a_token_or_scope_or_delegation_it_refuses(
    demo: GoogleStandIn, connect: Callable[..., Client]
) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{demo.url}/drive/v3/files")  # noqa: S310 - the stand-in's URL
    assert caught.value.code == 401
    caught.value.close()
    narrow = connect(demo, scope="https://www.googleapis.com/auth/documents.readonly")
    narrow.docs.documents().get(documentId="dpia-procedure").execute()
    assert refused(narrow.drive.files().list()).resp.status == 403
    with pytest.raises(RefreshError, match="unauthorized_client"):
        connect(demo, subject="boss@tidewater.example").drive.files().list().execute()


def test_expired_tokens_are_renewed(connect: Callable[..., Client]) -> None:
    with GoogleStandIn(files(), delegates=["boss@tidewater.example"]) as google:
        client = connect(google, subject="boss@tidewater.example")
        client.start()
        google.expire_tokens()
        client.start()
        assert google.requests["token"] == 2


def test_queries_fields_and_pages_work_as_in_drive(connect: Callable[..., Client]) -> None:
    with GoogleStandIn(files(), page_limit=2) as google:
        client = connect(google)
        google.drive.trash("t")
        query = "('top' in parents or 'sub' in parents) and trashed = false"
        client.names(q=query)
        listing, found, pages = client.drive.files(), [], 0
        request = listing.list(q=query, pageSize=1000, **ALL_DRIVES)
        while request is not None:
            page = request.execute()
            assert set(page["files"][0]) == {"kind", "id", "name", "mimeType"}
            found += [file["id"] for file in page["files"]]
            request, pages = listing.list_next(request, page), pages + 1
        assert (found, pages) == (["sub", "a", "b", "s", "k", "d"], 3)
        assert client.names(q="mimeType != 'text/plain' and name contains 'S'") == ["Sub", "S"]
        assert client.names(q="not trashed = false") == ["T"]
        page = listing.list(q="trashed=false", fields="files(id)").execute()
        assert list(page) == ["files"], "no nextPageToken unless it is asked for"
        for wrong in ({"q": "nonsense"}, {"q": "name = x'"}, {"pageSize": 0}, {"pageToken": "?"}):
            assert refused(listing.list(**wrong)).resp.status == 400
        assert refused(listing.list(fields="files(id")).resp.status == 400


def test_shared_drive_items_hide_from_callers_who_do_not_expect_them(
    connect: Callable[..., Client],
) -> None:
    with GoogleStandIn(files()) as google:
        client = connect(google)
        assert "D" not in client.names()
        assert "D" in client.names(**ALL_DRIVES)
        assert client.names(corpora="drive", driveId="0AD", **ALL_DRIVES) == ["D"]
        assert refused(client.drive.files().get(fileId="d")).resp.status == 404
        fields = "owners,permissions,driveId"
        got = client.drive.files().get(fileId="d", fields=fields, supportsAllDrives=True).execute()
        assert got == {"driveId": "0AD"}
        assert refused(client.drive.files().list(corpora="drive")).resp.status == 400


def test_contents_come_by_export_or_download_but_not_by_the_wrong_one(
    connect: Callable[..., Client],
) -> None:
    with GoogleStandIn(files()) as google:
        files_api = connect(google).drive.files()
        assert files_api.export(fileId="s", mimeType="text/csv").execute() == b"x,y\n1,2\n"
        assert b"words" in files_api.export(fileId="a", mimeType="text/html").execute()
        assert files_api.get_media(fileId="t").execute() == b"plain"
        wrong = {
            "fileNotDownloadable": files_api.get_media(fileId="a"),
            "fileNotExportable": files_api.export(fileId="t", mimeType="text/html"),
        }
        for reason, request in wrong.items():
            assert reason_of(refused(request)) == reason
        google.drive.edit("s", "x" * (10 * 1024 * 1024 + 1), modified=NOW)
        error = refused(files_api.export(fileId="s", mimeType="text/csv"))
        assert reason_of(error) == "exportSizeLimitExceeded"


def test_the_change_feed_tells_edits_and_losses_once_and_ends_with_a_new_token(
    connect: Callable[..., Client],
) -> None:
    with GoogleStandIn(files(), page_limit=2) as google:
        client, drive = connect(google), google.drive
        start = client.start()
        assert client.changes(start) == {}
        drive.edit("a", "# A\n\nmore", modified=NOW)
        drive.rename("a", "A2")
        drive.trash("t")
        drive.delete("s")
        drive.revoke("d")
        token, seen, removed = start, [], []
        for page_number in (1, 2):
            page = client.drive.changes().list(pageToken=token, **ALL_DRIVES).execute()
            seen += [change["fileId"] for change in page["changes"]]
            removed += [change["fileId"] for change in page["changes"] if change["removed"]]
            assert ("newStartPageToken" in page) is (page_number == 2)
            token = page.get("nextPageToken") or page["newStartPageToken"]
        assert (seen, removed) == (["a", "t", "s", "d"], ["s", "d"])
        assert client.changes(token) == {}
        assert "d" not in client.changes(start, includeRemoved=False)
        assert refused(client.drive.changes().list(pageToken="7")).resp.status == 400


def test_a_token_from_other_documents_is_refused_but_survives_a_restart(
    connect: Callable[..., Client],
) -> None:
    with GoogleStandIn(files()) as first:
        token = connect(first).start()
    with GoogleStandIn(files()) as again:
        assert connect(again).changes(token) == {}
    with GoogleStandIn(files()[:-1]) as other:
        assert refused(connect(other).drive.changes().list(pageToken=token)).resp.status == 400


def test_a_revoked_folder_takes_its_files_along_and_trash_is_inherited(
    connect: Callable[..., Client],
) -> None:
    with GoogleStandIn(files()) as google:
        client = connect(google)
        google.drive.revoke("sub")
        assert refused(client.docs.documents().get(documentId="b")).resp.status == 404
        google.drive.restore("sub")
        google.drive.trash("sub")
        assert client.names(q="trashed = true") == ["Sub", "B"]


def test_permissions_are_paged_and_closed_to_plain_readers(
    connect: Callable[..., Client],
) -> None:
    people = [{"id": str(n), "type": "user", "role": "reader"} for n in range(5)]
    with GoogleStandIn(files(), page_limit=2) as google:
        client = connect(google)
        google.drive.share("a", *people)
        listing, ids = client.drive.permissions(), []
        request = listing.list(fileId="a")
        while request is not None:
            page = request.execute()
            ids += [permission["id"] for permission in page["permissions"]]
            request = listing.list_next(request, page)
        assert ids == ["0", "1", "2", "3", "4"]
        google.drive.put(StoredFile(id="z", name="Z", can_list_permissions=False))
        assert reason_of(refused(listing.list(fileId="z"))) == "insufficientFilePermissions"


def test_faults_strike_by_method_file_and_count(connect: Callable[..., Client]) -> None:
    with GoogleStandIn(files()) as google:
        client = connect(google)
        start = client.start

        google.faults.add(GoogleFault(method="changes", status=403, reason="userRateLimitExceeded"))
        assert reason_of(refused(client.drive.changes().getStartPageToken())) == (
            "userRateLimitExceeded"
        )
        start()
        limited = GoogleFault(
            method="documents.get", file="a", status=429, reason="rateLimitExceeded", retry_after=3
        )
        google.faults.add(limited)
        client.docs.documents().get(documentId="b").execute()
        error = refused(client.docs.documents().get(documentId="a"))
        assert (error.resp.status, error.resp["retry-after"]) == (429, "3")
        assert json.loads(error.content)["error"]["status"] == "RESOURCE_EXHAUSTED"
        google.faults.clear()
        google.faults.add(GoogleFault(status=503, every=3, times=None, method="changes"))
        outcomes = []
        for _ in range(6):
            try:
                outcomes.append(bool(start()))
            except HttpError:
                outcomes.append(False)
        assert outcomes == [True, True, False, True, True, False]
        assert google.faults.struck() == 2


def test_bodies_break_off_and_connections_drop(connect: Callable[..., Client]) -> None:
    with GoogleStandIn(files()) as google:
        client = connect(google)
        request = client.drive.files().list
        google.faults.add(GoogleFault(kind="truncate"))
        with pytest.raises(http.client.IncompleteRead):
            request().execute()
        google.faults.add(GoogleFault(kind="garble"))
        assert not isinstance(request().execute(), dict), "googleapiclient hands bad JSON through"
        google.faults.add(GoogleFault(kind="drop", times=2))  # httplib2 itself tries once more
        with pytest.raises((http.client.HTTPException, OSError)):
            request().execute()
        google.faults.clear()
        google.faults.add(GoogleFault(kind="slow", seconds=0.05))
        assert request().execute()["files"]


def test_a_taken_port_gives_way_to_the_next_free_one() -> None:
    with GoogleStandIn([]) as first:
        wished = int(first.url.rsplit(":", 1)[1])
        with GoogleStandIn([], port=wished) as second:
            assert second.url != first.url


def test_it_stops_at_once_though_callers_keep_their_connections_open() -> None:
    before = threading.active_count()
    with GoogleStandIn([]) as google:
        connection = http.client.HTTPConnection("127.0.0.1", int(google.url.rsplit(":", 1)[1]))
        connection.request("GET", "/v1/documents/x")
        connection.getresponse().read()
        google.faults.add(GoogleFault(kind="slow", seconds=60))
    connection.close()
    deadline = time.monotonic() + 120
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before  # one of an earlier test may end meanwhile


def page(google: GoogleStandIn, path: str) -> str:
    with urllib.request.urlopen(google.url + path) as answer:  # noqa: S310 - the stand-in's URL
        return str(answer.read().decode())


def test_the_reader_page_shows_every_heading_under_its_anchor(demo: GoogleStandIn) -> None:
    html = page(demo, "/document/d/on-call-duty-guide/edit?tab=t.0")
    assert html.count("<section") == 3
    assert html.count("hidden>") == 2 * 2, "two other tabs, in the page and in the outline"
    assert 'id="h.' in html
    assert "http-equiv" not in html
    assert "https://" not in html.split("<main>")[0], "nothing is loaded from outside"


def test_the_reader_page_escapes_what_authors_write() -> None:
    evil = StoredFile(
        id="evil",
        name="<script>alert(1)</script>",
        content="# x\n\n`<img src=x onerror=alert(1)>` [go](javascript:alert(1)) $title",
        owner='"><b>',
    )
    with GoogleStandIn([evil]) as google:
        html = page(google, "/document/d/evil/edit")
    assert "<script>alert" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "$title" in html


def test_folders_and_missing_documents_have_pages(demo: GoogleStandIn) -> None:
    assert "Key Rotation Standard" in page(demo, "/drive/folders/demo-security")
    assert "Security" in page(demo, "/")
    with pytest.raises(urllib.error.HTTPError) as caught:
        page(demo, "/document/d/missing/edit")
    assert caught.value.code == 404
    caught.value.close()


def test_a_saved_response_is_served_as_it_is(connect: Callable[..., Client]) -> None:
    saved = {"title": "Saved", "body": {"content": []}}
    with GoogleStandIn([StoredFile(id="x", name="X", mime_type=DOCUMENT, content=saved)]) as google:
        assert connect(google).docs.documents().get(documentId="x").execute() == saved
