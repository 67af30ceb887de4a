"""A Chroma server: vectors under content-addressed ids, shared by the machines of a deployment.

The only module that imports chromadb."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from config.errors import ConfigError, IndexUnavailable
from config.models import Vectors
from durable.database import batches

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

TIMEOUT_SECONDS = 60.0
CONNECT_SECONDS = 5.0
BATCH = 4_000
"""Chroma's limit is 5,461 for one call."""


class Collection:
    """The vectors of one kind (`chunks`, `units`) made by one embedder."""

    def __init__(self, vendor: Any) -> None:
        self._vendor = vendor

    def __len__(self) -> int:
        return int(_call(self._vendor.count))

    def add(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Adds vectors; existing keys are replaced."""
        for start in range(0, len(keys), BATCH):
            part = slice(start, start + BATCH)
            _call(self._vendor.upsert, ids=list(keys[part]), embeddings=vectors[part])

    def remove(self, keys: Sequence[str]) -> None:
        for batch in batches(keys, BATCH):
            _call(self._vendor.delete, ids=batch)

    def all_keys(self) -> set[str]:
        existing: set[str] = set()
        while page := _call(self._vendor.get, limit=BATCH, offset=len(existing), include=[])["ids"]:
            existing.update(page)
        return existing

    def get(self, keys: Sequence[str]) -> dict[str, Vectors]:
        """Vectors by key; unknown keys are left out."""
        by_key: dict[str, Vectors] = {}
        for batch in batches(keys, BATCH):
            reply = _call(self._vendor.get, ids=batch, include=["embeddings"])
            vectors = np.asarray(reply["embeddings"], dtype=np.float32)
            by_key.update(zip(reply["ids"], vectors, strict=True))
        return by_key


class ChromaServer:
    """A client of one Chroma server, which all generations of all domains share."""

    def __init__(self, url: str, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._url = url
        self._connect_seconds = connect_seconds
        self._lock = Lock()
        self._client: ClientAPI | None = None

    def collection(self, domain: str, embedder: str, kind: str) -> Collection:
        with self._lock:
            if self._client is None:
                self._client = _call(_open_server, self._url, self._connect_seconds)
        made_by = hashlib.sha256(embedder.encode()).hexdigest()[:12]
        collection = _call(
            self._client.get_or_create_collection,
            f"{domain}.{made_by}.{kind}",
            embedding_function=None,
            # The `cosine` space normalizes again and returns vectors whose last digits differ.
            configuration={"hnsw": {"space": "ip"}},
        )
        return Collection(collection)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                _close(self._client)
                self._client = None


def _close(client: Any) -> None:
    # The clients have this method, although their declared type lacks it.
    client.close()
    for session in _http_sessions(client):
        session.close()


def _http_sessions(client: Any) -> list[Any]:
    """The HTTP clients inside a Chroma client: chromadb 1.5 sets no timeouts and closes none."""
    servers = (client._server, client._admin_client._server)
    return [server._session for server in servers if hasattr(server, "_session")]


def _open_server(url: str, connect_seconds: float) -> ClientAPI:
    import httpx
    from chromadb import HttpClient
    from chromadb.config import Settings

    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"CHROMA_URL {url!r} is not an address", remedy="write http://host:8000")
    port = parts.port or (443 if parts.scheme == "https" else 8000)
    # The client's first request has no timeout: it would hang when the network is dead.
    heartbeat = f"{parts.scheme}://{parts.hostname}:{port}/api/v2/heartbeat"
    httpx.get(heartbeat, timeout=connect_seconds)
    client = HttpClient(
        host=parts.hostname,
        port=port,
        ssl=parts.scheme == "https",
        settings=Settings(anonymized_telemetry=False),
    )
    for session in _http_sessions(client):
        session.timeout = (connect_seconds, TIMEOUT_SECONDS, TIMEOUT_SECONDS, TIMEOUT_SECONDS)
    return client


def _call(call: Any, *arguments: Any, **options: Any) -> Any:
    """Calls Chroma. Every failure becomes IndexUnavailable."""
    try:
        return call(*arguments, **options)
    except (ConfigError, IndexUnavailable):
        raise
    except Exception as error:  # chromadb raises its own, httpx's, sqlite's and Rust's errors
        message = " ".join(str(error).split())[:200]
        raise IndexUnavailable(
            f"the Chroma server failed: {type(error).__name__}: {message}",
            remedy="see whether it is up and CHROMA_URL leads to it, and publish again; what was "
            "published answers meanwhile",
        ) from error
