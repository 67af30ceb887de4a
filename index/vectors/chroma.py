"""Vectors in Chroma under content-addressed ids: on a server that the machines of a deployment
share, or in a folder of one generation.

The only module that imports chromadb."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from config.errors import ConfigError, IndexUnavailable
from config.models import Vectors
from durable.database import batches

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

TIMEOUT_SECONDS = 60.0
CONNECT_SECONDS = 5.0
BATCH = 4_000
"""Chroma's limit is 5,461 for one call."""
ADDED_AT_ONCE = 1_000
"""Adding takes about a millisecond of processor time a vector; a busy server needs many times that
and should still reply in TIMEOUT_SECONDS."""
GRAPH = {"space": "ip", "max_neighbors": 32, "ef_search": 600}
"""The `cosine` space normalizes again and returns vectors whose last digits differ. With Chroma's
defaults (16 and 100), a fifth of the true nearest three hundred is missed among 20,000 vectors;
with these, a fortieth (docs/decisions/137)."""
COMPLETE = "complete"
"""Kind of the collection whose keys are the digests of generations that are stored as a whole."""


class Collection:
    """The vectors of one kind (`chunks`, `units`) made by one embedder."""

    def __init__(self, vendor: Any) -> None:
        self._vendor = vendor

    def __len__(self) -> int:
        return int(_call(self._vendor.count))

    def add(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Adds vectors; existing keys are replaced."""
        for start in range(0, len(keys), ADDED_AT_ONCE):
            part = slice(start, start + ADDED_AT_ONCE)
            _call(self._vendor.upsert, ids=list(keys[part]), embeddings=vectors[part])

    def remove(self, keys: Sequence[str]) -> None:
        for batch in batches(keys, BATCH):
            _call(self._vendor.delete, ids=batch)

    def missing(self, keys: Sequence[str]) -> list[str]:
        """The keys that the collection lacks, in their order."""
        lacking: list[str] = []
        for batch in batches(keys, BATCH):
            present = set(_call(self._vendor.get, ids=batch, include=[])["ids"])
            lacking += [key for key in batch if key not in present]
        return lacking

    def nearest(
        self, queries: Vectors, count: int, among: Sequence[str] | None = None
    ) -> list[tuple[list[str], NDArray[np.float32]]]:
        """Keys and cosines of the nearest vectors for each query, best first, at most `count`.

        `among`: search these keys only. Raises IndexUnavailable when one of them is unknown."""
        restriction = {} if among is None else {"ids": list(among)}
        reply = _call(
            self._vendor.query,
            query_embeddings=queries,
            n_results=count,
            include=["distances"],
            **restriction,
        )
        return [
            (keys, 1 - np.asarray(distances, dtype=np.float32))
            for keys, distances in zip(reply["ids"], reply["distances"], strict=True)
        ]

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


class ChromaDatabase(ABC):
    """Collections by domain, embedder and kind. Thread-safe. Methods raise IndexUnavailable."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._client: ClientAPI | None = None

    @abstractmethod
    def _open(self) -> ClientAPI: ...

    def collection(self, domain: str, embedder: str, kind: str) -> Collection:
        with self._lock:
            if self._client is None:
                self._client = _call(self._open)
            client = self._client
        made_by = hashlib.sha256(embedder.encode()).hexdigest()[:12]
        collection = _call(
            client.get_or_create_collection,
            f"{domain}.{made_by}.{kind}",
            embedding_function=None,
            configuration={"hnsw": GRAPH},
        )
        return Collection(collection)

    def complete(self, domain: str, embedder: str, digests: Iterable[str]) -> set[str]:
        """The digests of those generations that are stored as a whole."""
        return set(self.collection(domain, embedder, COMPLETE).get(list(digests)))

    def set_complete(self, domain: str, embedder: str, digest: str) -> None:
        collection = self.collection(domain, embedder, COMPLETE)
        collection.add([digest], np.ones((1, 1), dtype=np.float32))

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                _close(self._client)
                self._client = None


class ChromaServer(ChromaDatabase):
    """One Chroma server, which all generations of all domains share."""

    def __init__(
        self,
        url: str,
        connect_seconds: float = CONNECT_SECONDS,
        reply_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__()
        self.url = url
        self._connect_seconds, self._reply_seconds = connect_seconds, reply_seconds

    def _open(self) -> ClientAPI:
        return _open_server(self.url, self._connect_seconds, self._reply_seconds)


class ChromaFolder(ChromaDatabase):
    """An embedded Chroma. One process writes to it before any reads it, and none afterwards."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def _open(self) -> ClientAPI:
        from chromadb import PersistentClient
        from chromadb.config import Settings

        return PersistentClient(self._path, settings=Settings(anonymized_telemetry=False))


def is_reply(error: IndexUnavailable) -> bool:
    """Whether Chroma answered and refused, as for a key that it lacks. Otherwise it is away."""
    from chromadb.errors import ChromaError

    return isinstance(error.__cause__, ChromaError)


def _close(client: Any) -> None:
    # The clients have this method, although their declared type lacks it.
    client.close()
    for session in _http_sessions(client):
        session.close()


def _http_sessions(client: Any) -> list[Any]:
    """The HTTP clients inside a Chroma client: chromadb 1.5 sets no timeouts and closes none."""
    servers = (client._server, client._admin_client._server)
    return [server._session for server in servers if hasattr(server, "_session")]


def _open_server(url: str, connect_seconds: float, reply_seconds: float) -> ClientAPI:
    import httpx
    from chromadb import HttpClient
    from chromadb.config import Settings

    parts = urlsplit(url)
    is_root = parts.path in {"", "/"} and not parts.query  # chromadb takes a host, and no path
    if parts.scheme not in {"http", "https"} or not parts.hostname or not is_root:
        raise ConfigError(
            f"CHROMA_URL is no address of a server without a path: {url!r}",
            remedy="write http://host:8000",
        )
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
        session.timeout = (connect_seconds, *[reply_seconds] * 3)
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
