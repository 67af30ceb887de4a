"""Comments of the local Google, by Google's own client: what it takes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httplib2
import pytest
from google.oauth2.service_account import Credentials
from google_auth_httplib2 import AuthorizedHttp
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

from playground.google_stand_in import ACCOUNT, GoogleStandIn, StoredFile

READ, WRITE = (f"https://www.googleapis.com/auth/drive{end}" for end in (".readonly", ""))
FILES = (
    StoredFile(id="guide", name="Guide", content="# Guide\n\n## Ages\n\nOld.\n"),
    StoredFile(id="read", name="Read", account_role="reader"),
)


@pytest.fixture(scope="module")
def google() -> Iterator[GoogleStandIn]:
    with GoogleStandIn(FILES) as running:
        yield running


@pytest.fixture
def connect(google: GoogleStandIn, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Scope → comments, as a service account's client has them."""
    connections: list[Any] = []

    def made(scope: str = WRITE) -> Any:
        api, http = comments(google, tmp_path, scope)
        connections.append(http)
        return api

    yield made
    for each in connections:
        each.close()


def comments(google: GoogleStandIn, folder: Path, scope: str) -> tuple[Any, Any]:
    key = google.write_credentials(folder / "key.json")
    credentials = Credentials.from_service_account_file(str(key), scopes=[scope])  # type: ignore[no-untyped-call]
    http = AuthorizedHttp(credentials, http=httplib2.Http(timeout=60))
    options: Any = {"api_endpoint": f"{google.url}/drive/v3/"}
    drive = build(
        "drive", "v3", client_options=options, http=http, static_discovery=True,
        cache_discovery=False,
    )  # fmt: skip
    return drive.comments(), http


def refusal(request: Any) -> tuple[int, str]:
    with pytest.raises(HttpError) as caught:
        request.execute()
    return caught.value.resp.status, str(caught.value.error_details[0]["reason"])


def test_a_comment_is_made_listed_newest_first_and_read(
    connect: Callable[..., Any],
) -> None:
    api = connect()
    quoted = {"mimeType": "text/plain", "value": "Ages"}
    body = {"content": "Sixty <days>", "quotedFileContent": quoted}
    made = api.create(fileId="guide", body=body, fields="*").execute()
    assert made["author"]["displayName"] == ACCOUNT
    assert made["htmlContent"] == "Sixty &lt;days&gt;"
    for number in range(4):
        api.create(fileId="guide", body={"content": f"More {number}"}, fields="id").execute()
    request = api.list(fileId="guide", fields="nextPageToken,comments(id,content)", pageSize=2)
    found: list[str] = []
    while request is not None:
        page = request.execute()
        assert len(page["comments"]) <= 2
        found += [one["content"] for one in page["comments"]]
        request = api.list_next(request, page)
    assert found == ["More 3", "More 2", "More 1", "More 0", "Sixty <days>"]
    one = api.get(fileId="guide", commentId=made["id"], fields="content,quotedFileContent")
    assert one.execute() == body


def test_what_drive_refuses_is_refused(connect: Callable[..., Any]) -> None:
    api, hello = connect(), {"content": "hello"}
    assert refusal(api.create(fileId="guide", body=hello)) == (400, "required")
    assert refusal(api.list(fileId="guide")) == (400, "required")
    assert refusal(api.create(fileId="guide", body={"content": " "}, fields="id"))[0] == 400
    assert refusal(api.create(fileId="gone", body=hello, fields="id")) == (404, "notFound")
    assert refusal(api.get(fileId="guide", commentId="AAAA", fields="id")) == (404, "notFound")
    assert refusal(api.create(fileId="read", body=hello, fields="id")) == (
        403,
        "insufficientFilePermissions",
    )
    api.create(fileId="guide", body=hello, fields="id").execute()
    reading = connect(READ)
    assert refusal(reading.create(fileId="guide", body=hello, fields="id")) == (
        403,
        "insufficientPermissions",
    )
    assert reading.list(fileId="guide", fields="comments(id)").execute()["comments"]
