"""Files as Drive lists them, and which of them we can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from loaders.document import Permission, PermissionKind

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

EXPORTS: Mapping[str, tuple[str, str]] = {
    GOOGLE + "spreadsheet": ("text/csv", ".csv"),
    GOOGLE + "presentation": ("application/pdf", ".pdf"),
}
"""Google types that are read by export: as what, and with which loader."""

DOWNLOADS: Mapping[str, str] = {
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
}
"""Other types, downloaded: the loader's suffix."""
BY_NAME = frozenset({".csv", ".docx", ".htm", ".html", ".markdown", ".md", ".pdf", ".txt"})
"""Uploads often carry a vague type: then the name's suffix decides."""
VAGUE_TYPES = frozenset({"text/plain", "application/octet-stream"})


@dataclass(frozen=True, kw_only=True)
class DriveFile:
    """What Drive says of a file, without its content."""

    id: str
    name: str
    mime_type: str
    url: str = ""
    modified_at: datetime | None = None
    version: str = ""
    owner: str = ""
    status: str = ""
    """The file property `status`, e.g. `superseded`, when somebody set it."""
    parents: tuple[str, ...] = ()
    size: int = 0
    """Bytes; 0 for Google's own types."""
    drive_id: str = ""
    trashed: bool = False
    target_id: str = ""
    """What a shortcut points to."""
    locked: bool = False
    """Its readers may not download, print or copy it."""

    @property
    def is_container(self) -> bool:
        """Folders and shortcuts: they hold documents without being one."""
        return self.mime_type in {FOLDER, SHORTCUT}

    @property
    def is_document(self) -> bool:
        """One of the types that we read."""
        return self.mime_type == DOCUMENT or self.mime_type in EXPORTS or bool(self.suffix)

    @property
    def suffix(self) -> str:
        """Which file loader reads its download; empty when none does."""
        if self.mime_type in VAGUE_TYPES:
            named = PurePath(self.name).suffix.lower()
            plain = ".txt" if self.mime_type == "text/plain" else ""
            return named if named in BY_NAME else plain
        return DOWNLOADS.get(self.mime_type, "")


def read_file(resource: Mapping[str, Any]) -> DriveFile:
    """A Drive v3 file resource → DriveFile; absent fields stay empty."""
    owners = resource.get("owners") or [{}]
    shortcut = resource.get("shortcutDetails") or {}
    return DriveFile(
        id=str(resource["id"]),
        name=str(resource.get("name") or resource["id"]),
        mime_type=str(resource.get("mimeType") or ""),
        url=_lasting_url(str(resource.get("webViewLink") or "")),
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


def read_permission(resource: Mapping[str, Any]) -> Permission | None:
    """A Drive v3 permission → who may read; None for an account that no longer exists, and for a
    view: who sees that a file is there, or what was published of it, may not read the file."""
    kind = resource.get("type")
    kinds: Mapping[Any, tuple[PermissionKind, str]] = {
        "user": ("user", "emailAddress"),
        "group": ("group", "emailAddress"),
        "domain": ("domain", "domain"),
        "anyone": ("anyone", ""),
    }
    if resource.get("deleted") or resource.get("view") or kind not in kinds:
        return None
    name, field = kinds[kind]
    value = str(resource.get(field) or "") if field else ""
    if field and not value:
        return None
    return Permission(kind=name, value=value, expires_at=_time(resource.get("expirationTime")))


def _is_locked(resource: Mapping[str, Any]) -> bool:
    restrictions = resource.get("downloadRestrictions") or {}
    effective = restrictions.get("effectiveDownloadRestrictionWithContext") or {}
    return any(
        (
            resource.get("copyRequiresWriterPermission"),
            effective.get("restrictedForReaders"),
            effective.get("restrictedForWriters"),
        )
    )


def _lasting_url(link: str) -> str:
    """Without marks of who asked; old links keep the resource key that opens them."""
    address, _, query = link.partition("?")
    keys = [part for part in query.split("&") if part.startswith("resourcekey=")]
    return f"{address}?{keys[0]}" if keys else address


def _time(text: Any) -> datetime | None:
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None
