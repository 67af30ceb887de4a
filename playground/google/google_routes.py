"""The wire: routes of Docs, Drive and the token endpoint, with faults, over HTTP/1.1."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from playground.google.directory import Directory
from playground.google.doc_pictures import PLACE, DocPictures
from playground.google.drive_api import DriveApi, Params
from playground.google.file_comments import FileComments
from playground.google.file_content import Contents
from playground.google.google_batch import LIMITS, Answered, answer_batch
from playground.google.google_faults import ApiError, GoogleFault, GoogleFaults
from playground.google.google_tokens import (
    DRIVE_SCOPES,
    GROUP_SCOPES,
    READ_SCOPES,
    WRITE_SCOPES,
    TokenError,
    Tokens,
)

JSON = "application/json; charset=UTF-8"
Body = tuple[str, bytes]
"""Media type and content."""

ROUTES: tuple[tuple[str, str], ...] = (
    (r"/v1/documents/(?P<id>[^/:]+)", "documents.get"),
    (r"/drive/v3/files", "files.list"),
    (r"/drive/v3/files/(?P<id>[^/]+)/export", "files.export"),
    (r"/drive/v3/files/(?P<id>[^/]+)/permissions", "permissions.list"),
    (r"/drive/v3/files/(?P<id>[^/]+)/comments", "comments.list"),
    (r"/drive/v3/files/(?P<id>[^/]+)/comments/(?P<comment>[^/]+)", "comments.get"),
    (r"/drive/v3/files/(?P<id>[^/]+)", "files.get"),
    (r"/drive/v3/changes/startPageToken", "changes.getStartPageToken"),
    (r"/drive/v3/changes", "changes.list"),
    (r"/drive/v3/drives", "drives.list"),
    (r"/admin/directory/v1/groups/(?P<id>[^/]+)/members", "members.list"),
)
POSTED = re.compile(r"/drive/v3/files/(?P<id>[^/]+)/comments|/upload/drive/v3/files")
"""The methods that write: comments.create and files.create."""
SCOPES = {
    "documents.get": READ_SCOPES,
    "members.list": GROUP_SCOPES,
    "comments.create": WRITE_SCOPES,
    "files.create": WRITE_SCOPES,
}
"""Method → scopes that reach it; all others are Drive's."""
PAGE = re.compile(r"/(?:document|spreadsheets|presentation|file|drive)/(?:u/\d+/)?.*|/")


def _params(query: str) -> dict[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))


def _route(address: str) -> tuple[str, str, Params] | None:
    """Method, id and parameters of an API request."""
    parts = urlsplit(address)
    for pattern, method in ROUTES:
        if match := re.fullmatch(pattern, parts.path):
            named = match.groupdict()
            more = {"comment": unquote(named["comment"])} if "comment" in named else {}
            return method, unquote(named.get("id", "")), _params(parts.query) | more
    return None


@dataclass
class Service:
    """Everything that a request may touch."""

    api: DriveApi
    contents: Contents
    directory: Directory
    tokens: Tokens
    faults: GoogleFaults
    page: Callable[[str, Params], tuple[int, Body]]
    """Path and query of a reader page → status and HTML."""
    pictures: DocPictures
    comments: FileComments
    requests: Counter[str] = field(default_factory=Counter)
    """API requests that arrived, by method."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    connections: set[socket.socket] = field(default_factory=set)
    stopping: threading.Event = field(default_factory=threading.Event)

    def call(
        self, method: str, file_id: str, params: Params, asker: str, content: bytes = b""
    ) -> Body:
        """Content of a successful answer. Raises ApiError."""
        if method == "files.export":
            return self.contents.export(file_id, params)
        if method == "files.get" and params.get("alt") == "media":
            return self.contents.media(file_id, params)
        answers: Mapping[str, Callable[[], dict[str, Any]]] = {
            "documents.get": lambda: self.contents.document(file_id, params),
            "files.list": lambda: self.api.list_files(params),
            "files.get": lambda: self.api.get_file(file_id, params),
            "permissions.list": lambda: self.api.list_permissions(file_id, params),
            "changes.getStartPageToken": lambda: self.api.start_token(params),
            "changes.list": lambda: self.api.list_changes(params),
            "drives.list": lambda: self.api.list_drives(params),
            "comments.list": lambda: self.comments.list(file_id, params),
            "comments.get": lambda: self.comments.get(file_id, params.get("comment", ""), params),
            "comments.create": lambda: self.comments.create(file_id, params, content),
            "files.create": lambda: self.api.create_file(
                params, params.get("Content-Type", ""), content
            ),
            "members.list": lambda: self.directory.list_members(file_id, params, asker),
        }
        return JSON, json.dumps(answers[method](), ensure_ascii=False).encode()

    def answered(
        self,
        method: str,
        file_id: str,
        params: Params,
        authorization: str,
        content: bytes = b"",
    ) -> tuple[int, Body, Mapping[str, str], GoogleFault | None]:
        """Status, body, further headers, and what is to go wrong on the way."""
        self.count(method)
        fault = self.faults.next_for(method, file_id)
        try:
            asker = self.tokens.check(authorization, SCOPES.get(method, DRIVE_SCOPES))
            if fault and fault.kind == "error":
                raise ApiError(fault.status, fault.reason, retry_after=fault.retry_after)
            return 200, self.call(method, file_id, params, asker, content), {}, fault
        except ApiError as error:
            worded = error.docs_body() if method == "documents.get" else error.drive_body()
            headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            return error.status, (JSON, json.dumps(worded).encode()), headers, None

    def count(self, method: str) -> None:
        with self.lock:
            self.requests[method] += 1


class Handler(BaseHTTPRequestHandler):
    """One connection. The server class hands it the Service."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1  # head and body in one packet: in two, a kept-alive caller waits 40 ms between
    disable_nagle_algorithm = True
    service: Service

    def setup(self) -> None:
        super().setup()
        with self.service.lock:
            self.service.connections.add(self.connection)
        if self.service.stopping.is_set():
            self._hang_up()

    def finish(self) -> None:
        with self.service.lock:
            self.service.connections.discard(self.connection)
        try:
            super().finish()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Quiet: requests are counted instead."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if found := _route(self.path):
            status, body, headers, fault = self.service.answered(
                *found, self.headers.get("Authorization", "")
            )
            self._send_damaged(body, fault) if fault else self._send(status, body, headers)
        elif address.path.startswith(PLACE):
            self._send_picture(address.path)
        elif PAGE.fullmatch(address.path):
            status, body = self.service.page(unquote(address.path), _params(address.query))
            self._send(status, body)
        else:
            self._send(404, (JSON, json.dumps({"error": {"code": 404}}).encode()))

    def _send_picture(self, path: str) -> None:
        self.service.count("picture")
        fault = self.service.faults.next_for("picture", "")
        status, body = self.service.pictures.serve(path)
        if fault and fault.kind == "error":
            self._send(fault.status, ("text/html", b"<html>Try again later.</html>"))
        elif fault:
            self._send_damaged(body, fault)
        else:
            self._send(status, body)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        if path in LIMITS:
            self._answer_batch(path, content)
        elif path == "/token":
            self._answer_token(content)
        elif posted := POSTED.fullmatch(path):
            file_id = unquote(posted["id"] or "")
            params = _params(urlsplit(self.path).query)
            params["Content-Type"] = self.headers.get("Content-Type", "")
            authorization = self.headers.get("Authorization", "")
            method = "comments.create" if file_id else "files.create"
            status, body, headers, fault = self.service.answered(
                method, file_id, params, authorization, content
            )
            self._send_damaged(body, fault) if fault else self._send(status, body, headers)
        else:
            self._send(404, (JSON, b'{"error": {"code": 404}}'))

    def _answer_token(self, content: bytes) -> None:
        self.service.count("token")
        form = dict(parse_qsl(content.decode()))
        fault = self.service.faults.next_for("token", "")
        try:
            if fault and fault.kind == "error":
                raise ApiError(fault.status, fault.reason)
            granted = self.service.tokens.issue(form.get("assertion", ""))
        except TokenError as error:
            self._send(400, (JSON, json.dumps(error.body).encode()))
        except ApiError as error:
            self._send(error.status, (JSON, json.dumps({"error": error.reason}).encode()))
        else:
            self._send(200, (JSON, json.dumps(granted).encode()))

    def _answer_batch(self, path: str, content: bytes) -> None:
        service, outer = self.service, self.headers.get("Authorization", "")
        service.count("batch")
        fault = service.faults.next_for("batch", "")

        def answer(address: str, authorization: str) -> Answered:
            found = _route(address)
            if not found:
                return 404, b'{"error": {"code": 404}}', {}
            status, (_, body), headers, damage = service.answered(*found, authorization or outer)
            cut = damage is not None and damage.kind in ("garble", "truncate")
            return status, body[: len(body) // 2] if cut else body, headers

        try:
            if fault and fault.kind == "error":
                raise ApiError(fault.status, fault.reason, retry_after=fault.retry_after)
            body = answer_batch(path, self.headers.get("Content-Type", ""), content, answer)
        except ApiError as error:
            self._send(error.status, (JSON, json.dumps(error.drive_body()).encode()))
        else:
            self._send_damaged(body, fault) if fault else self._send(200, body)

    def _send_damaged(self, body: Body, fault: GoogleFault) -> None:
        media_type, content = body
        if fault.kind == "slow":
            self.service.stopping.wait(fault.seconds)
            self._send(200, body)
        elif fault.kind == "garble":
            self._send(200, (media_type, content[: len(content) // 2]))
        elif fault.kind == "truncate":
            self._send(200, body, cut=True)
        else:
            self._hang_up()

    def _send(
        self,
        status: int,
        body: Body,
        headers: Mapping[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        media_type, content = body
        try:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if cut else content)
        except OSError:
            self.close_connection = True
        if cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        try:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
