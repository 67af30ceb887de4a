"""The API over scripted agents, and clients that come to it from here and from elsewhere."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.app import build_api
from api.auth.server import server_of
from api.auth.tokens import LiveTokens, create_token
from config.domain import Domain
from enrichment.chunk import DocumentCard, Entity
from index.permissions.acts import Act, Kind, Visitor
from index.permissions.rules import Person
from loaders.document import Permission
from telemetry.health import add_health
from tests.bot.fakes import EVERYWHERE_ALIKE, Agents, domain

INES = "ines@tidewater.example"
DOMAINS: Mapping[str, Domain] = {
    "security": domain(),
    "privacy": domain("privacy", "C0PRIVACY", access={"audience": "asker"}),
}
CARDS = {
    "open": DocumentCard(
        id="open", title="Open", url="https://u.example/d", summary="For all.",
        permissions=(Permission(kind="anyone"),),
    ),
    "closed": DocumentCard(
        id="closed", title="Closed", url="https://u.example/d", summary="For some.",
        permissions=(Permission(kind="user", value=INES),),
    ),
}  # fmt: skip
CHUNK = SimpleNamespace(
    id="k",
    url="https://u.example/d#heading=h.1",
    heading_path=("Keys", "Age"),
    entities=(Entity(kind="code", value="P0"),),
)


def retrieve(domain: str, question: str, **more: Any) -> dict[str, Any]:
    readers = more.pop("readers")
    shown = None if readers is None else sorted(readers)
    documents = [{"source": "open"}]
    found = {
        "success": True, "documents": documents, "notices": [], "generation": 4, "domain": domain
    }  # fmt: skip
    return {**found, **more, "readers": shown}


def snapshot(name: str) -> Any:
    return SimpleNamespace(
        generation=3,
        documents=CARDS,
        cards=lambda documents: [CARDS[one] for one in documents],
        chunks=lambda document_id: [CHUNK],
    )


class Members:
    """A directory of colleagues, who may ask where `may_ask` says so."""

    def __init__(self, may_ask: Callable[[str, Domain], bool] = lambda email, domain: True) -> None:
        self.may_ask = may_ask

    def __call__(self) -> Members:
        return self

    kind: Kind = "member"

    def by_address(self, address: str) -> Visitor:
        return Visitor(kind=self.kind, person=Person(slack_user="U0SOMEBODY", email=address))

    def admits(self, act: Act, visitor: Visitor, domain: Domain) -> bool:
        return self.may_ask(visitor.person.email, domain)


class NothingStored:
    def turns_at(self, place: str) -> list[dict[str, Any]]:
        return []

    def erase(self, place: str) -> bool:
        return False


PARTS: dict[str, Any] = {
    "domains": DOMAINS, "ask": Agents(), "retrieve": retrieve, "snapshot": snapshot,
    "answering": EVERYWHERE_ALIKE, "conversations": NothingStored,
}  # fmt: skip


def api(agents: Agents | None = None, **more: Any) -> FastAPI:
    app = build_api(**(PARTS | {"ask": agents or Agents()} | more))
    add_health(app, None)
    return app


def here(app: FastAPI, **more: Any) -> TestClient:
    """Somebody at this machine."""
    return reached(app, "127.0.0.1", base_url="http://localhost:8080", **more)


def elsewhere(app: FastAPI, **more: Any) -> TestClient:
    return reached(app, "203.0.113.9", base_url="http://copilot.example.com", **more)


def reached(app: FastAPI, peer: str, **more: Any) -> TestClient:
    return TestClient(app, client=(peer, 5000), raise_server_exceptions=False, **more)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class Town:
    """An API with a folder of tokens."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.folder = folder
        self.more = more
        self.first = self.token("first")

    def token(self, name: str, **rights: Any) -> str:
        return create_token(self.folder, name, **rights)

    def app(self, agents: Agents | None = None) -> FastAPI:
        return api(agents, tokens=LiveTokens(self.folder), **self.more)


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The app on a real port, as `oncall serve` has it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = server_of(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
