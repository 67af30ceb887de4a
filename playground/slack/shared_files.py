"""Files that people shared, for whoever shows a token with the scope, as Slack's host has it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from playground.slack.web_api.call import Call, Method
from playground.slack.workspace import Json, SlackError

SCOPE = "files:read"
SIGN_IN = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>"


@dataclass
class SharedFiles:
    """Thread-safe."""

    may_read: Callable[[str], bool]
    """Whether an `Authorization` header opens files."""
    downloads: list[str] = field(default_factory=list)
    """Ids in the order in which they were asked for, refused or not; for tests."""
    _files: dict[str, tuple[Json, bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, site: str, file_id: str, name: str, data: bytes, media_type: str) -> Json:
        """The file object, as a message has it."""
        address = f"{site}files-pri/T0TIDEWATER-{file_id}/{name}"
        told: Json = {
            "id": file_id, "name": name, "title": name, "mimetype": media_type,
            "filetype": name.rpartition(".")[2], "mode": "hosted", "size": len(data),
            "is_external": False, "url_private": address,
            "url_private_download": address.replace("/files-pri/", "/files-pri/download/"),
        }  # fmt: skip
        with self._lock:
            self._files[file_id] = told, data
        return dict(told)

    @staticmethod
    def elsewhere(told: Json) -> Json:
        """The same as an event tells of it in a channel shared with another workspace."""
        return {"id": told["id"], "mode": "file_access", "file_access": "check_file_info"}

    def methods(self) -> dict[str, Method]:
        return {"files.info": self._info}

    async def serve(self, request: Request) -> Response:
        """Without the right to it, the page to sign in at: with 200, as Slack has it."""
        file_id = str(request.path_params["place"]).rpartition("-")[2]
        with self._lock:
            self.downloads.append(file_id)
            known = self._files.get(file_id)
        if not self.may_read(request.headers.get("authorization", "")):
            return HTMLResponse(SIGN_IN)
        if known is None:
            return HTMLResponse("<html>not found</html>", 404)
        return Response(known[1], media_type=known[0]["mimetype"])

    def _info(self, call: Call) -> Json:
        call.demand(SCOPE)
        with self._lock:
            known = self._files.get(call.text("file"))
        if known is None:
            raise SlackError("file_not_found")
        return {"file": dict(known[0]), "comments": []}
