"""The handful of questions that we ask Drive, each paged to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loaders.document import Permission
from loaders.google.drive.drive_files import (
    FILE_FIELDS,
    PERMISSION_FIELDS,
    DriveFile,
    read_file,
    read_permission,
)
from loaders.google.google_client import GoogleClient
from loaders.google.google_errors import GoogleRefused

EVERYWHERE = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
PAGE = 1000
PERMISSIONS_PAGE = 100


@dataclass(frozen=True)
class DriveChange:
    """The last change of a file since the token: `file` is None when it is deleted or access to
    it is lost."""

    id: str
    file: DriveFile | None


@dataclass(frozen=True)
class Changes:
    changes: tuple[DriveChange, ...]
    next_token: str
    drives_changed: bool = field(default=False)
    """Membership or settings of a shared drive changed."""


@dataclass(frozen=True)
class DriveCalls:
    """Every method raises GoogleRefused."""

    client: GoogleClient
    account: str
    """E-mail of the service account, or of the user it reads as."""

    def file(self, file_id: str) -> DriveFile:
        return read_file(self.client.call(self.file_request(file_id)))

    def file_request(self, file_id: str) -> Any:
        return self.client.files.get(fileId=file_id, fields=FILE_FIELDS, supportsAllDrives=True)

    def children(self, folder: DriveFile) -> list[DriveFile]:
        """What lies directly in a folder, without the trash."""
        if not folder.drive_id:
            return self._children(folder, corpora="user")
        try:
            return self._children(folder, corpora="drive", driveId=folder.drive_id)
        except GoogleRefused as refused:
            if not refused.no_access:
                raise
            # The folder is shared with us, the drive around it is not.
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
        """Who may read the file, in a stable order.

        A plain reader may not ask. Then the only reader that we know of is our own account: so a
        domain that answers each asker from what they may read shows such a file to nobody."""
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
        """Where the change feed stands now: the account's own, or a shared drive's."""
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
        found: dict[str, DriveChange] = {}
        next_token, drives_changed = token, False
        for page in self.client.pages(changes, request):
            next_token = str(page.get("newStartPageToken") or next_token)
            for each in page.get("changes") or []:
                drives_changed |= each.get("changeType") == "drive"
                if file_id := each.get("fileId"):
                    gone = each.get("removed") or not each.get("file")
                    file = None if gone else read_file(each["file"])
                    found[str(file_id)] = DriveChange(str(file_id), file)
        return Changes(tuple(found.values()), next_token, drives_changed)


def read_readers(pages: Sequence[Mapping[str, Any]]) -> tuple[Permission, ...]:
    """All pages of `permissions.list` → who may read the file, in a stable order."""
    resources = [each for page in pages for each in page.get("permissions") or []]
    found = {permission for each in resources if (permission := read_permission(each))}
    return tuple(sorted(found, key=lambda each: (each.kind, each.value, str(each.expires_at))))
