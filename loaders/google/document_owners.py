"""Whose document is it? Asked of Drive when somebody has to be told, never when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loaders.google.drive.drive_calls import DriveCalls
from loaders.google.google_errors import GoogleRefused

OwnerRole = Literal["owner", "editor", "manager"]
"""`editor`: who edited it last. `manager`: of the shared drive that holds it."""
FIELDS = "id,name,webViewLink,trashed,driveId,owners(emailAddress),lastModifyingUser(emailAddress)"
MANAGERS = ("organizer", "fileOrganizer")
PERMISSION_FIELDS = "nextPageToken,permissions(type,role,emailAddress,deleted)"


@dataclass(frozen=True, kw_only=True)
class OwnersFound:
    people: tuple[tuple[str, OwnerRole], ...] = ()
    """Addresses in lower case, whoever should be asked first."""
    title: str = ""
    """As the document is called now."""
    url: str = ""
    gone: bool = False
    """Deleted, in the trash, or no longer shared with us: Google doesn't tell the first from the
    last."""
    later: bool = False
    """Google did not answer properly."""


def owners_of(document: str, calls: DriveCalls) -> OwnersFound:
    """Owners; on a shared drive, where a file has none, whoever edited it last, then the managers.

    Raises ConfigError when the credentials themselves are refused."""
    request = calls.client.files.get(fileId=document, fields=FIELDS, supportsAllDrives=True)
    try:
        file = calls.client.call(request)
    except GoogleRefused as refused:
        return OwnersFound(gone=refused.no_access and not refused.of_account, later=_later(refused))
    people: dict[str, OwnerRole] = {}
    for email, role in _named(file):
        people.setdefault(email, role)
    if not any(role == "owner" for role in people.values()):
        for email in _managers(document, calls):
            people.setdefault(email, "manager")
    return OwnersFound(
        people=tuple(people.items()),
        title=str(file.get("name") or ""),
        url=str(file.get("webViewLink") or "").partition("?")[0],
        gone=bool(file.get("trashed")),
    )


def _later(refused: GoogleRefused) -> bool:
    return refused.of_account or not refused.no_access


def _named(file: Mapping[str, Any]) -> Iterator[tuple[str, OwnerRole]]:
    for owner in file.get("owners") or ():
        if email := _address(owner):
            yield email, "owner"
    if email := _address(file.get("lastModifyingUser") or {}):
        yield email, "editor"


def _managers(document: str, calls: DriveCalls) -> list[str]:
    """None where Drive won't say: whoever only reads a file isn't told."""
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
    return [email for each in people if (email := _address(each))]


def _address(told: Mapping[str, Any]) -> str:
    return str(told.get("emailAddress") or "").strip().lower()
