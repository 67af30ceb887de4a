"""Drive v3's comments: kept beside the files, with the rules that Drive has for them."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import Any

from playground.google.drive_api import DriveApi, Params, paged, rfc3339, shown
from playground.google.google_faults import ApiError

Json = dict[str, Any]
MAY_COMMENT = frozenset({"commenter", "writer"})


@dataclass
class FileComments:
    """Thread-safe."""

    api: DriveApi
    author: str
    """Display name of whoever writes."""
    _of: dict[str, list[Json]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def of(self, file_id: str) -> list[Json]:
        """All that stand on a file, oldest first."""
        with self._lock:
            return [dict(each) for each in self._of.get(file_id, ())]

    def create(self, file_id: str, params: Params, body: bytes) -> Json:
        fields = _fields(params)
        file = self.api.find(file_id, {"supportsAllDrives": "true"})
        if file.account_role not in MAY_COMMENT:
            raise ApiError(403, "insufficientFilePermissions")
        told = _read(body)
        content = str(told.get("content") or "")
        if not content.strip():
            raise ApiError(400, "required", "Comment content is required.")
        now = rfc3339(datetime.now(UTC))
        comment: Json = {
            "kind": "drive#comment",
            "id": f"AAAB{next(self._numbers):07d}",
            "createdTime": now,
            "modifiedTime": now,
            "author": {"kind": "drive#user", "displayName": self.author, "me": True},
            "content": content,
            "htmlContent": escape(content).replace("\n", "<br>"),
            "deleted": False,
            "resolved": False,
            "replies": [],
        }
        comment |= {name: told[name] for name in ("anchor", "quotedFileContent") if name in told}
        with self._lock:
            self._of.setdefault(file_id, []).append(comment)
        return shown(comment, fields)

    def list(self, file_id: str, params: Params) -> Json:
        """The newest first, as Drive lists them."""
        fields = _fields(params)
        self.api.find(file_id, {"supportsAllDrives": "true"})
        size = params.get("pageSize", "20")
        if not size.isdigit() or int(size) < 1:
            raise ApiError(400, "invalid", "Invalid value for pageSize: 1 to 100")
        at_most = min(int(size), 100, self.api.page_limit)
        page, token = paged(self.of(file_id)[::-1], at_most, params.get("pageToken", ""))
        result: Json = {"kind": "drive#commentList", "comments": page}
        return shown(result | ({"nextPageToken": token} if token else {}), fields)

    def get(self, file_id: str, comment_id: str, params: Params) -> Json:
        fields = _fields(params)
        self.api.find(file_id, {"supportsAllDrives": "true"})
        for comment in self.of(file_id):
            if comment["id"] == comment_id:
                return shown(comment, fields)
        raise ApiError(404, "notFound", f"Comment not found: {comment_id}.")


def _fields(params: Params) -> str:
    if not params.get("fields"):
        message = "The 'fields' parameter is required for this method."
        raise ApiError(400, "required", message)
    return params["fields"]


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(body or b"{}")
    except ValueError as error:
        raise ApiError(400, "parseError", "Parse Error") from error
    return told if isinstance(told, dict) else {}
