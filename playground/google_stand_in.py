"""A local Google: Docs v1, Drive v3 and the token endpoint over real HTTP, for demo and tests.

    with GoogleStandIn() as google:
        google.write_credentials(path)   # GOOGLE_APPLICATION_CREDENTIALS
        google.url                       # GOOGLE_API_URL

It serves a folder of Markdown documents as Google Docs, takes edits while it runs, fails on
demand, and shows every document as a page that citations can open."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from playground.google.directory import Directory
from playground.google.doc_pictures import DocPictures
from playground.google.drive_api import DriveApi
from playground.google.file_comments import FileComments
from playground.google.file_content import Contents
from playground.google.google_faults import GoogleFault, GoogleFaults
from playground.google.google_routes import Handler, Service
from playground.google.google_tokens import ACCOUNT, Tokens
from playground.google.memory_drive import MemoryDrive, StoredFile, read_folder
from playground.google.reader import Reader

__all__ = ["ACCOUNT", "DEMO_FOLDER", "GoogleFault", "GoogleStandIn", "StoredFile"]

DEMO_FOLDER = Path(__file__).parent / "demo"
PORTS_TO_TRY = 20


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that hangs up is no news."""


class GoogleStandIn:
    """Serves from `__enter__` to `__exit__` on 127.0.0.1."""

    def __init__(
        self,
        files: Path | Iterable[StoredFile] = DEMO_FOLDER,
        *,
        port: int = 0,
        page_limit: int = 1000,
        token_lifetime: float = 3600.0,
        delegates: Collection[str] = (),
        groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
        groups_admins: Collection[str] = (),
        pictures: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """`files`: a folder of Markdown documents, or the files themselves. `port`: 0 takes any
        free one; a port that is taken gives way to the next free one. `groups`: address → members'
        addresses, which `groups_admins` may read. `pictures`: by the name in `picture:name`."""
        given = read_folder(files) if isinstance(files, Path) else files
        self.drive = MemoryDrive(given)
        self.faults = GoogleFaults()
        self._server = _bind(port)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        tokens = Tokens(f"{self.url}/token", lifetime=token_lifetime, delegates=delegates)
        api = DriveApi(self.drive, self.url, page_limit)
        self.pictures = DocPictures(self.url, dict(pictures))
        contents = Contents(api, self.pictures)
        self.comments = FileComments(api, ACCOUNT)
        reader = Reader(api, contents, self.comments)
        self.directory = Directory(
            {name: list(members) for name, members in groups.items()}, groups_admins
        )
        self._service = Service(
            api,
            contents,
            self.directory,
            tokens,
            self.faults,
            reader.page,
            self.pictures,
            self.comments,
        )
        self._server.RequestHandlerClass = type("Handler", (Handler,), {"service": self._service})
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> GoogleStandIn:
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._service.stopping.set()
        self._server.shutdown()
        self._thread.join()
        with self._service.lock:
            connections = list(self._service.connections)
        for connection in connections:
            _hang_up(connection)
        self._server.server_close()

    @property
    def requests(self) -> Counter[str]:
        """API requests so far, by method, e.g. `documents.get`; failed ones too."""
        with self._service.lock:
            return Counter(self._service.requests)

    def write_credentials(self, path: Path) -> Path:
        """A service account key file whose tokens this server accepts."""
        return self._service.tokens.write_credentials(path)

    def expire_tokens(self) -> None:
        """Every token issued so far is refused from now on."""
        self._service.tokens.expire_all()


def _bind(port: int) -> _Server:
    last = port + PORTS_TO_TRY if port else port
    for candidate in range(port, last + 1):
        try:
            return _Server(("127.0.0.1", candidate), Handler)
        except OSError:
            if candidate == last:
                raise
    raise AssertionError("unreachable")


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
