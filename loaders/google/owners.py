"""Reads the owners of documents from Drive, writes comments for them, and saves new documents.

Comments and new documents are all that this program writes at Google. Reading and writing use
separate tokens.

Drive's guide *Manage comments and replies* (November 2026): every comments method needs `fields`;
Google's editors ignore an `anchor` set through the API. So comments have no anchor: they name the
place and quote it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from config.errors import ConfigError
from config.settings import Settings
from loaders.google.client import GoogleClient
from loaders.google.drive.calls import DriveCalls
from loaders.google.drive.source import open_drive
from loaders.google.errors import GoogleRefused
from loaders.google.services import WRITE, read_credentials

CommentOutcome = Literal["made", "off", "refused", "gone", "later"]
"""`off`: comments are disabled. `later`: Google did not respond properly; retry later."""
PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Commented:
    outcome: CommentOutcome
    id: str = ""
    why: str = ""
    """The reason when Google refused; else empty."""


def comment_once(
    client: GoogleClient, document: str, *, mark: str, content: str, quoted: str
) -> Commented:
    """Writes a comment unless one with its mark exists.

    An earlier attempt may have succeeded although its reply was lost or the process crashed.
    `mark`: unique text within `content`. `quoted`: text of the place that the comment is about."""
    body: dict[str, Any] = {"content": content}
    if quoted:
        body["quotedFileContent"] = {"mimeType": "text/plain", "value": quoted}
    request = client.comments.create(fileId=document, body=body, fields="id")
    try:
        comment = client.call_unless(lambda: _marked(client, document, mark), request)
    except GoogleRefused as refused:
        return _refused(refused)
    except ConfigError as error:
        return Commented(outcome="refused", why=error.problem)
    return Commented(outcome="made", id=str(comment.get("id") or ""))


def _refused(refused: GoogleRefused) -> Commented:
    if refused.temporary or refused.status == 0:
        return Commented(outcome="later", why=refused.in_words())
    if refused.status in (404, 410):
        return Commented(outcome="gone", why=refused.in_words())
    if refused.reason == "insufficientFilePermissions":
        return Commented(outcome="refused", why="my account is no commenter there")
    return Commented(outcome="refused", why=refused.in_words())


def _marked(client: GoogleClient, document: str, mark: str) -> Any:
    comments = client.comments
    request = comments.list(
        fileId=document, fields="nextPageToken,comments(id,content)", pageSize=PAGE
    )
    for page in client.pages(comments, request):
        for comment in page.get("comments") or ():
            if mark in str(comment.get("content") or ""):
                return comment
    return None


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A saved document; or, without a URL, the reason and its remedy."""

    url: str = ""
    why: str = ""


MARK = "oncallMark"
_SAVING: Mapping[str, str] = {
    "notFound": "Google finds no such folder: share the folder of `runbooks.timeline_folder` with "
    "my account as Contributor, or correct its id",
    "insufficientFilePermissions": "my account may only read that folder: make it a Contributor",
    "storageQuotaExceeded": "Google lets my account store on shared drives only: take a folder on "
    "one, with my account as Contributor",
}
"""Reason → what to do."""


def save_once(client: GoogleClient, folder: str, *, mark: str, title: str, markdown: str) -> Saved:
    """Saves Markdown as a Google Doc, unless the folder has one with its mark.

    `mark`: letters, digits and hyphens. Drive converts `text/markdown` (its guide *Upload file
    data*, November 2026)."""
    from googleapiclient.http import MediaInMemoryUpload

    body = {
        "name": title, "mimeType": DOCUMENT, "parents": [folder], "appProperties": {MARK: mark},
    }  # fmt: skip
    media = MediaInMemoryUpload(markdown.encode(), mimetype="text/markdown")
    request = client.files.create(
        body=body, media_body=media, fields=_SAVED, supportsAllDrives=True
    )
    try:
        file = client.call_unless(lambda: _saved(client, folder, mark), request)
    except GoogleRefused as refused:
        return Saved(why=_SAVING.get(refused.reason, refused.in_words()))
    except ConfigError as error:
        return Saved(why=error.problem)
    return Saved(url=str(file.get("webViewLink") or ""))


DOCUMENT = "application/vnd.google-apps.document"
_SAVED = "webViewLink"


def _saved(client: GoogleClient, folder: str, mark: str) -> Any:
    has_mark = f"appProperties has {{ key='{MARK}' and value='{mark}' }}"
    safe = folder.replace("\\", "\\\\").replace("'", "\\'")
    request = client.files.list(
        q=f"{has_mark} and '{safe}' in parents and trashed = false",
        fields=f"files({_SAVED})",
        supportsAllDrives=True,
        includeItemsFromAllDrives=True,
    )
    return next(iter(client.call(request).get("files") or ()), None)


OwnerRole = Literal["owner", "editor", "manager"]
"""`editor`: the last editor. `manager`: a manager of the shared drive that holds it."""
FIELDS = "id,name,webViewLink,trashed,driveId,owners(emailAddress),lastModifyingUser(emailAddress)"
MANAGERS = ("organizer", "fileOrganizer")
PERMISSION_FIELDS = "nextPageToken,permissions(type,role,emailAddress,deleted)"


@dataclass(frozen=True, kw_only=True)
class OwnersFound:
    people: tuple[tuple[str, OwnerRole], ...] = ()
    """Addresses in lower case, in the order in which to notify them."""
    title: str = ""
    """The document's current title."""
    url: str = ""
    deleted: bool = False
    """Deleted, in the trash, or no longer shared.

    Google doesn't distinguish the first from the last."""
    later: bool = False
    """Google did not respond properly; retry later."""


def owners_of(document: str, calls: DriveCalls) -> OwnersFound:
    """Returns the owners, then the last editor.

    Files on shared drives have no owner: there the drive's managers follow the last editor.
    Raises ConfigError when Google rejects the credentials."""
    request = calls.client.files.get(fileId=document, fields=FIELDS, supportsAllDrives=True)
    try:
        file = calls.client.call(request)
    except GoogleRefused as refused:
        is_deleted = refused.no_access and not refused.of_account
        return OwnersFound(deleted=is_deleted, later=not is_deleted)
    people: dict[str, OwnerRole] = dict.fromkeys(_addresses(file.get("owners") or ()), "owner")
    has_owner = bool(people)
    for email in _addresses([file.get("lastModifyingUser") or {}]):
        people.setdefault(email, "editor")
    if not has_owner:
        for email in _managers(document, calls):
            people.setdefault(email, "manager")
    return OwnersFound(
        people=tuple(people.items()),
        title=str(file.get("name") or ""),
        url=str(file.get("webViewLink") or "").partition("?")[0],
        deleted=bool(file.get("trashed")),
    )


def _managers(document: str, calls: DriveCalls) -> list[str]:
    """The managers' addresses; empty when Drive refuses, as it does to plain readers."""
    permissions = calls.client.permissions
    request = permissions.list(
        fileId=document, fields=PERMISSION_FIELDS, pageSize=100, supportsAllDrives=True
    )
    try:
        pages = list(calls.client.pages(permissions, request))
    except GoogleRefused:
        return []
    people = [
        each
        for page in pages
        for each in page.get("permissions") or ()
        if each.get("type") == "user" and each.get("role") in MANAGERS and not each.get("deleted")
    ]
    people.sort(key=lambda each: MANAGERS.index(each["role"]))
    return _addresses(people)


def _addresses(people: Iterable[Mapping[str, Any]]) -> list[str]:
    emails = (str(person.get("emailAddress") or "").strip().lower() for person in people)
    return [email for email in emails if email]


ATTEMPTS = 4
TIMEOUT = 20.0
"""Seconds. Nobody waits for the result, and callers retry later."""


@dataclass(frozen=True)
class GoogleOwners:
    """Implements `bot.feature.DocumentOwners`. Thread-safe. Opens its clients on first use."""

    settings: Settings
    attempts: int = ATTEMPTS
    sleep: Callable[[float], None] = time.sleep

    @property
    def comments_are_on(self) -> bool:
        return self.settings.google_comments

    def owners(self, document: str) -> OwnersFound:
        return owners_of(document, self._reading)

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        if not self.comments_are_on:
            return Commented(outcome="gone" if self.owners(document).deleted else "off")
        return comment_once(self._writing, document, mark=mark, content=content, quoted=quoted)

    def save(self, folder: str, *, mark: str, title: str, markdown: str) -> Saved:
        return save_once(self._writing, folder, mark=mark, title=title, markdown=markdown)

    @cached_property
    def _reading(self) -> DriveCalls:
        drive = open_drive(self.settings, attempts=self.attempts, timeout=TIMEOUT, sleep=self.sleep)
        return drive.calls

    @cached_property
    def _writing(self) -> GoogleClient:
        """The client that writes. It ignores GOOGLE_DELEGATE and acts as the service account.

        Otherwise comments and documents would carry the name of a person who didn't write them."""
        api_url = self.settings.google_api_url or ""
        key = self.settings.google_credentials
        credentials = read_credentials(key, scope=WRITE, api_url=api_url)
        return GoogleClient(
            credentials,
            api_url=api_url,
            attempts=self.attempts,
            timeout=TIMEOUT,
            writes=True,
            sleep=self.sleep,
        )
