"""Drive requests, which read all pages, and Drive's file metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Protocol

from loaders.document import Permission
from loaders.google.client import GoogleClient
from loaders.google.errors import GoogleRefused

GOOGLE = "application/vnd.google-apps."
DOCUMENT = GOOGLE + "document"
FOLDER = GOOGLE + "folder"
SHORTCUT = GOOGLE + "shortcut"

FILE_FIELDS = (
    "id,name,mimeType,parents,trashed,modifiedTime,version,webViewLink,size,driveId,properties,"
    "owners(displayName,emailAddress),shortcutDetails(targetId,targetMimeType),"
    "copyRequiresWriterPermission,downloadRestrictions(effectiveDownloadRestrictionWithContext)"
)
PERMISSION_FIELDS = "id,type,emailAddress,domain,expirationTime,deleted,view"

_OFFICE = "application/vnd.openxmlformats-officedocument."
EXPORTS: Mapping[str, tuple[str, str]] = {
    GOOGLE + "spreadsheet": (_OFFICE + "spreadsheetml.sheet", ".xlsx"),
    GOOGLE + "presentation": (_OFFICE + "presentationml.presentation", ".pptx"),
}
"""Google types that are exported → (media type, suffix of the loader)."""
SMALL_EXPORTS: Mapping[str, tuple[str, str, str]] = {
    GOOGLE + "spreadsheet": ("text/csv", ".csv", "only its first sheet is read"),
    GOOGLE + "presentation": ("application/pdf", ".pdf", "it is read as PDF, without notes"),
}
"""What is exported of one that is over Google's limit otherwise, and what a reader misses."""

DOWNLOADS: Mapping[str, str] = {
    "application/pdf": ".pdf",
    "application/vnd.ms-excel.sheet.macroEnabled.12": ".xlsm",
    _OFFICE + "presentationml.presentation": ".pptx",
    _OFFICE + "spreadsheetml.sheet": ".xlsx",
    "application/vnd.ms-word.document.macroEnabled.12": ".docm",
    "application/vnd.ms-word.template.macroEnabled.12": ".dotm",
    _OFFICE + "wordprocessingml.document": ".docx",
    _OFFICE + "wordprocessingml.template": ".dotx",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/tab-separated-values": ".tsv",
    "text/x-markdown": ".md",
}
"""Types that are downloaded → suffix of the loader."""
BY_NAME = frozenset({*DOWNLOADS.values(), ".htm", ".markdown", ".mdx", ".txt"})
"""Suffixes that decide for VAGUE_TYPES, which uploads often have."""
VAGUE_TYPES = frozenset({"text/plain", "application/octet-stream"})


class DrivePlaces(Protocol):
    """What of Drive a domain reads: ids of folders with all below them, and of documents."""

    @property
    def folders(self) -> Sequence[str]: ...

    @property
    def documents(self) -> Sequence[str]: ...


@dataclass(frozen=True, kw_only=True)
class DriveFile:
    id: str
    name: str
    mime_type: str
    url: str = ""
    modified_at: datetime | None = None
    version: str = ""
    owner: str = ""
    status: str = ""
    """The file property `status`, e.g. `superseded`; empty when not set."""
    parents: tuple[str, ...] = ()
    size: int = 0
    """Bytes; 0 for Google's own types."""
    drive_id: str = ""
    trashed: bool = False
    target_id: str = ""
    """Id of a shortcut's target."""
    locked: bool = False
    """Downloading, printing or copying is restricted."""

    @property
    def is_container(self) -> bool:
        return self.mime_type in {FOLDER, SHORTCUT}

    @property
    def is_document(self) -> bool:
        """Whether a loader reads its type."""
        return self.mime_type == DOCUMENT or self.mime_type in EXPORTS or bool(self.suffix)

    @property
    def suffix(self) -> str:
        """Suffix of the loader for its download; empty when there is none."""
        if self.mime_type in VAGUE_TYPES:
            suffix = PurePath(self.name).suffix.lower()
            plain = ".txt" if self.mime_type == "text/plain" else ""
            return suffix if suffix in BY_NAME else plain
        return DOWNLOADS.get(self.mime_type, "")


def read_file(resource: Mapping[str, Any]) -> DriveFile:
    """A Drive v3 file resource → DriveFile; absent fields stay empty."""
    owners = resource.get("owners") or [{}]
    shortcut = resource.get("shortcutDetails") or {}
    return DriveFile(
        id=str(resource["id"]),
        name=str(resource.get("name") or resource["id"]),
        mime_type=str(resource.get("mimeType") or ""),
        url=_permanent_url(str(resource.get("webViewLink") or "")),
        modified_at=_time(resource.get("modifiedTime")),
        version=str(resource.get("version") or ""),
        owner=str(owners[0].get("displayName") or owners[0].get("emailAddress") or ""),
        status=str((resource.get("properties") or {}).get("status") or ""),
        parents=tuple(resource.get("parents") or ()),
        size=int(resource.get("size") or 0),
        drive_id=str(resource.get("driveId") or ""),
        trashed=bool(resource.get("trashed")),
        target_id=str(shortcut.get("targetId") or ""),
        locked=_is_locked(resource),
    )


_VALUE_FIELDS: Mapping[Any, str] = {
    "user": "emailAddress", "group": "emailAddress", "domain": "domain", "anyone": "",
}  # fmt: skip
"""Kind of a permission → its field with the reader."""


def read_permission(resource: Mapping[str, Any]) -> Permission | None:
    """A Drive v3 permission → a reader. None for a deleted account and for a `view` permission.

    A `view` grants sight of the file's metadata or its published version, not of the file."""
    kind: Any = resource.get("type")
    if resource.get("deleted") or resource.get("view") or kind not in _VALUE_FIELDS:
        return None
    value = str(resource.get(_VALUE_FIELDS[kind]) or "")
    if not value and kind != "anyone":
        return None
    return Permission(kind=kind, value=value, expires_at=_time(resource.get("expirationTime")))


def _is_locked(resource: Mapping[str, Any]) -> bool:
    restrictions = resource.get("downloadRestrictions") or {}
    effective = restrictions.get("effectiveDownloadRestrictionWithContext") or {}
    return bool(
        resource.get("copyRequiresWriterPermission")
        or effective.get("restrictedForReaders")
        or effective.get("restrictedForWriters")
    )


def _permanent_url(link: str) -> str:
    """The link without query parameters, except the `resourcekey` that old links need."""
    address, _, query = link.partition("?")
    keys = [part for part in query.split("&") if part.startswith("resourcekey=")]
    return f"{address}?{keys[0]}" if keys else address


def _time(text: Any) -> datetime | None:
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None


EVERYWHERE = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
PAGE = 1000
PERMISSIONS_PAGE = 100


@dataclass(frozen=True)
class DriveChange:
    """The last change of a file since the token.

    `file` is None when it is deleted or no longer accessible."""

    id: str
    file: DriveFile | None


@dataclass(frozen=True)
class Changes:
    changes: tuple[DriveChange, ...]
    next_token: str
    drives_changed: bool
    """Membership or settings of a shared drive changed."""


@dataclass(frozen=True)
class DriveCalls:
    """Every method raises GoogleRefused."""

    client: GoogleClient
    account: str
    """E-mail of the service account, or of the user it impersonates."""

    def file(self, file_id: str) -> DriveFile:
        return read_file(self.client.call(self.file_request(file_id)))

    def file_request(self, file_id: str) -> Any:
        return self.client.files.get(fileId=file_id, fields=FILE_FIELDS, supportsAllDrives=True)

    def children(self, folder: DriveFile) -> list[DriveFile]:
        """Lists a folder's direct children, without trashed files."""
        if not folder.drive_id:
            return self._children(folder, corpora="user")
        try:
            return self._children(folder, corpora="drive", driveId=folder.drive_id)
        except GoogleRefused as refused:
            if not refused.no_access:
                raise
            # The folder is shared with the account, its drive is not.
            return self._children(folder, corpora="allDrives")

    def _children(self, folder: DriveFile, **where: str) -> list[DriveFile]:
        files = self.client.files
        quoted = folder.id.replace("\\", "\\\\").replace("'", "\\'")
        request = files.list(
            q=f"'{quoted}' in parents and trashed = false",
            fields=f"nextPageToken,files({FILE_FIELDS})",
            pageSize=PAGE,
            **where,
            **EVERYWHERE,
        )
        pages = self.client.pages(files, request)
        return [read_file(each) for page in pages for each in page.get("files") or []]

    def permissions(self, file_id: str) -> tuple[Permission, ...]:
        """Lists who may read the file, in a stable order.

        Drive doesn't show this list to plain readers. Then the account itself is the only known
        reader, and a domain that checks each asker's permissions shows the file to nobody."""
        request = self.permission_request(file_id)
        try:
            return read_readers(list(self.client.pages(self.client.permissions, request)))
        except GoogleRefused as refused:
            if refused.may_not_ask:
                return self.only_us
            raise

    def permission_request(self, file_id: str) -> Any:
        return self.client.permissions.list(
            fileId=file_id,
            fields=f"nextPageToken,permissions({PERMISSION_FIELDS})",
            pageSize=PERMISSIONS_PAGE,
            supportsAllDrives=True,
        )

    @property
    def only_us(self) -> tuple[Permission, ...]:
        return (Permission(kind="user", value=self.account),)

    def start_token(self, drive_id: str = "") -> str:
        """The current position of the change feed, of the account or of a shared drive."""
        request = self.client.changes.getStartPageToken(
            supportsAllDrives=True, **({"driveId": drive_id} if drive_id else {})
        )
        return str(self.client.call(request)["startPageToken"])

    def changes(self, token: str, drive_id: str = "") -> Changes:
        changes = self.client.changes
        kinds = f"changes(changeType,fileId,removed,file({FILE_FIELDS}))"
        request = changes.list(
            pageToken=token,
            fields=f"nextPageToken,newStartPageToken,{kinds}",
            pageSize=PAGE,
            **EVERYWHERE,
            **({"driveId": drive_id} if drive_id else {}),
        )
        by_id: dict[str, DriveChange] = {}
        next_token, drives_changed = token, False
        for page in self.client.pages(changes, request):
            next_token = str(page.get("newStartPageToken") or next_token)
            for each in page.get("changes") or []:
                drives_changed |= each.get("changeType") == "drive"
                if file_id := each.get("fileId"):
                    is_removed = each.get("removed") or not each.get("file")
                    file = None if is_removed else read_file(each["file"])
                    by_id[str(file_id)] = DriveChange(str(file_id), file)
        return Changes(tuple(by_id.values()), next_token, drives_changed)


def read_readers(pages: Sequence[Mapping[str, Any]]) -> tuple[Permission, ...]:
    """All pages of `permissions.list` → the file's readers, in a stable order."""
    resources = [each for page in pages for each in page.get("permissions") or []]
    permissions = {permission for each in resources if (permission := read_permission(each))}
    return tuple(
        sorted(permissions, key=lambda each: (each.kind, each.value, str(each.expires_at)))
    )
