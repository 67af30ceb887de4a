"""Drive v3 as its callers see it: parameters in, resources out, refusals by reason."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from secrets import token_urlsafe
from typing import Any

from playground.google.drive_query import BadQuery, parse_fields, parse_query, select
from playground.google.google_faults import ApiError
from playground.google.memory_drive import (
    DOCUMENT,
    FOLDER,
    SHEET,
    SHORTCUT,
    SLIDES,
    MemoryDrive,
    StoredFile,
)

Params = Mapping[str, str]
Json = dict[str, Any]

DEFAULT_FILE = "kind,id,name,mimeType"
POSITIONS = 10_000_000
"""A change token is the Drive's origin times this, plus a position in its log."""


@dataclass(frozen=True)
class DriveApi:
    drive: MemoryDrive
    base_url: str
    page_limit: int = 1000
    """Pages may be shorter than asked for, as Drive reserves the right to."""

    def list_files(self, params: Params) -> Json:
        fields = _fields(params, f"kind,incompleteSearch,nextPageToken,files({DEFAULT_FILE})")
        drive_id = params.get("driveId", "")
        everywhere = _flag(params, "includeItemsFromAllDrives")
        if everywhere and not _flag(params, "supportsAllDrives"):
            raise ApiError(
                403,
                "teamDrivesIncludeItemsFromAllDrivesRequiresSupport",
                "The includeItemsFromAllDrives parameter requires supportsAllDrives.",
            )
        if (params.get("corpora") == "drive") is not bool(drive_id):
            raise ApiError(400, "invalid", "corpora=drive and driveId go together")
        try:
            test = parse_query(params.get("q", ""))
        except BadQuery as error:
            raise ApiError(400, "invalid", str(error)) from error
        found = [
            file
            for file in self.drive.all_visible()
            if test(file) and (everywhere or not file.drive_id) and drive_id in {"", file.drive_id}
        ]
        page, token = self._page(found, params, default=100)
        result: Json = {
            "kind": "drive#fileList",
            "incompleteSearch": False,
            "files": [self.resource(file) for file in page],
        }
        if token:
            result["nextPageToken"] = token
        return shown(result, fields)

    def get_file(self, file_id: str, params: Params) -> Json:
        return shown(self.resource(self.find(file_id, params)), _fields(params, DEFAULT_FILE))

    def create_file(self, params: Params, media_type: str, body: bytes) -> Json:
        """A multipart upload of Markdown becomes a Google Doc. `media_type`: of the request, with
        its boundary."""
        if params.get("uploadType") != "multipart":
            raise ApiError(400, "badRequest", "Only uploadType=multipart is served here.")
        about, content = _parts(media_type, body)
        parents = about.get("parents") or []
        if len(parents) != 1:
            raise ApiError(403, "multipleParentsNotSupported" if parents else "forbidden")
        folder = self.find(str(parents[0]), params)
        if folder.mime_type != FOLDER:
            raise ApiError(403, "parentNotAFolder")
        if folder.account_role != "writer":
            raise ApiError(403, "insufficientFilePermissions")
        if not folder.drive_id:  # a service account owns no files since 2025
            message = "Service Accounts do not have storage quota. Leverage shared drives."
            raise ApiError(403, "storageQuotaExceeded", message)
        file = StoredFile(
            id=token_urlsafe(24),
            name=str(about.get("name") or "Untitled"),
            parents=(folder.id,),
            drive_id=folder.drive_id,
            content=content,
            modified=datetime.now(UTC),
            app_properties=about.get("appProperties") or {},
        )
        return shown(self.resource(self.drive.put(file)), _fields(params, DEFAULT_FILE))

    def find(self, file_id: str, params: Params | None = None) -> StoredFile:
        """The file, or 404. Items of a shared drive hide from callers who don't expect them."""
        file = self.drive.visible(file_id)
        hidden = file and file.drive_id and params is not None
        if file is None or (hidden and not _flag(params or {}, "supportsAllDrives")):
            raise ApiError(404, "notFound", f"File not found: {file_id}.")
        return file

    def start_token(self, params: Params) -> Json:
        token = str(self.drive.origin * POSITIONS + self.drive.position())
        result = {"kind": "drive#startPageToken", "startPageToken": token}
        return shown(result, _fields(params, "*"))

    def list_changes(self, params: Params) -> Json:
        since = self._position(params.get("pageToken", ""))
        everywhere = _flag(params, "includeItemsFromAllDrives")
        with_removed = params.get("includeRemoved", "true") == "true"
        wanted = params.get("driveId", "")
        changes = [
            (at, change)
            for at, file_id in self.drive.changed_since(since)
            if (change := self._change(file_id, everywhere, wanted)) is not None
            and (with_removed or not change["removed"])
        ]
        size = self._size(params, 100)
        page, rest = changes[:size], changes[size:]
        result: Json = {"kind": "drive#changeList", "changes": [change for _, change in page]}
        if rest:
            result["nextPageToken"] = self._token(rest[0][0])
        else:
            result["newStartPageToken"] = self._token(self.drive.position())
        default = "kind,nextPageToken,newStartPageToken,changes(kind,type,changeType,time,removed,"
        return shown(result, _fields(params, f"{default}fileId,file({DEFAULT_FILE}))"))

    def list_permissions(self, file_id: str, params: Params) -> Json:
        file = self.find(file_id, params)
        if not file.can_list_permissions:
            raise ApiError(403, "insufficientFilePermissions")
        page, token = self._page(file.permissions, params, default=100)
        result: Json = {"kind": "drive#permissionList", "permissions": [dict(p) for p in page]}
        if token:
            result["nextPageToken"] = token
        default = "kind,nextPageToken,permissions(id,type,kind,role)"
        return shown(result, _fields(params, default))

    def list_drives(self, params: Params) -> Json:
        ids = sorted({file.drive_id for file in self.drive.all_visible() if file.drive_id})
        page, token = self._page(ids, params, default=10)
        drives = [{"kind": "drive#drive", "id": each, "name": each} for each in page]
        result: Json = {"kind": "drive#driveList", "drives": drives}
        if token:
            result["nextPageToken"] = token
        return shown(result, _fields(params, "*"))

    def resource(self, file: StoredFile) -> Json:
        """Every field that the stand-in knows of a file."""
        is_folder, is_google = file.mime_type == FOLDER, file.mime_type.startswith(GOOGLE)
        fields: Json = {
            "kind": "drive#file",
            "id": file.id,
            "name": file.name,
            "mimeType": file.mime_type,
            "parents": list(file.parents),
            "trashed": file.trashed,
            "modifiedTime": rfc3339(file.modified),
            "version": str(file.version),
            "webViewLink": self.view_link(file),
            "shared": True,
            "properties": dict(file.properties),
            "capabilities": {"canListChildren": is_folder, "canDownload": not is_folder},
            "copyRequiresWriterPermission": file.locked,
            "downloadRestrictions": {
                "itemDownloadRestriction": _restricted(file.locked),
                "effectiveDownloadRestrictionWithContext": _restricted(file.locked),
            },
        }
        if not is_google:
            fields["size"] = str(len(file.as_bytes()))
        if file.shortcut_to:
            target = self.drive.visible(file.shortcut_to)
            kind = target.mime_type if target else DOCUMENT
            fields["shortcutDetails"] = {"targetId": file.shortcut_to, "targetMimeType": kind}
        if file.drive_id:
            fields["driveId"] = file.drive_id
        elif file.can_list_permissions:
            fields["permissions"] = [dict(each) for each in file.permissions]
        if file.owner and not file.drive_id:
            fields["owners"] = [_user(file.owner, file.owner_email)]
        if file.last_editor:
            fields["lastModifyingUser"] = _user(file.last_editor, file.last_editor)
        return fields

    def view_link(self, file: StoredFile) -> str:
        kind = PAGES.get(file.mime_type)
        if file.mime_type == FOLDER:
            return f"{self.base_url}/drive/folders/{file.id}"
        ending = f"/{kind}/d/{file.id}/edit" if kind else f"/file/d/{file.id}/view"
        return self.base_url + ending

    def _change(self, file_id: str, everywhere: bool, drive_id: str) -> Json | None:
        file = self.drive.visible(file_id)
        home = self.drive.home(file_id)
        if (home and not everywhere) or drive_id not in {"", home}:
            return None
        change: Json = {
            "kind": "drive#change",
            "type": "file",
            "changeType": "file",
            "time": rfc3339(datetime(2026, 1, 1, tzinfo=UTC)),
            "removed": file is None,
            "fileId": file_id,
        }
        if file is not None:
            change["file"] = self.resource(file)
        return change

    def _token(self, position: int) -> str:
        return str(self.drive.origin * POSITIONS + position)

    def _position(self, token: str) -> int:
        origin, position = divmod(int(token), POSITIONS) if token.isdigit() else (-1, 0)
        if origin != self.drive.origin or position > self.drive.position():
            raise ApiError(400, "invalid", "Invalid Value")
        return position

    def _size(self, params: Params, default: int) -> int:
        asked = params.get("pageSize", str(default))
        if not asked.isdigit() or not 1 <= int(asked) <= 1000:
            raise ApiError(400, "invalid", "Invalid value for pageSize: 1 to 1000")
        return min(int(asked), self.page_limit)

    def _page(
        self, items: Sequence[Any], params: Params, default: int
    ) -> tuple[Sequence[Any], str]:
        """One page of a listing, and the token of the next or an empty string."""
        return paged(items, self._size(params, default), params.get("pageToken", ""))


def _parts(media_type: str, body: bytes) -> tuple[Json, str]:
    """The file's fields and its Markdown. Raises ApiError."""
    request = message_from_bytes(f"Content-Type: {media_type}\r\n\r\n".encode() + body)
    if request.get_content_type() != "multipart/related" or not request.is_multipart():
        raise ApiError(400, "badContent", "Unsupported content with type: multipart is needed")
    parts = [one for one in request.walk() if not one.is_multipart()]
    if len(parts) != 2:
        raise ApiError(400, "badContent", "Two parts are needed: fields and content")
    fields, content = (one.get_payload(decode=True) for one in parts)
    assert isinstance(fields, bytes)  # noqa: S101 - no part is a multipart
    assert isinstance(content, bytes)  # noqa: S101
    try:
        about = json.loads(fields)
    except ValueError as error:
        raise ApiError(400, "parseError", "Parse Error") from error
    if parts[1].get_content_type() != "text/markdown" or about.get("mimeType") != DOCUMENT:
        raise ApiError(400, "invalidConversion", "Only Markdown to a Google Doc is served here.")
    return about, content.decode()


def paged(items: Sequence[Any], size: int, token: str) -> tuple[Sequence[Any], str]:
    """The page that a token names, the first without one, and the token of the next."""
    start = _offset(token) if token else 0
    end = start + size
    following = base64.urlsafe_b64encode(f"at {end}".encode()).decode()
    return items[start:end], following if end < len(items) else ""


GOOGLE = "application/vnd.google-apps."
PAGES = {DOCUMENT: "document", SHEET: "spreadsheets", SLIDES: "presentation", SHORTCUT: "file"}


def _fields(params: Params, default: str) -> str:
    return params.get("fields") or default


def shown(result: Json, fields: str) -> Json:
    """What the `fields` of a request leave of an answer."""
    try:
        shown = select(result, parse_fields(fields))
    except BadQuery as error:
        raise ApiError(400, "invalidParameter", str(error)) from error
    assert isinstance(shown, dict)  # noqa: S101 - a dict selects to a dict
    return shown


def _user(name: str, email: str) -> Json:
    address = email or "-".join(name.lower().replace(",", "").split()) + "@tidewater.example"
    return {"kind": "drive#user", "displayName": name, "me": False, "emailAddress": address}


def _restricted(for_readers: bool) -> Json:
    return {"restrictedForReaders": for_readers, "restrictedForWriters": False}


def _flag(params: Params, name: str) -> bool:
    return params.get(name, "false").lower() == "true"


def _offset(token: str) -> int:
    try:
        mark, _, offset = base64.b64decode(token, altchars=b"-_", validate=True).partition(b" ")
        if mark == b"at":
            return int(offset)
    except ValueError as error:
        raise ApiError(400, "invalid", "Invalid Value") from error
    raise ApiError(400, "invalid", "Invalid Value")


def rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
