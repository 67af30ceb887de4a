"""The two ways to search a generation's vectors: its mapped files, or Chroma (docs/decisions/137).

Chroma needs a moment: a thread of its own stores what is missing there and loads it. Until then,
and while Chroma is away, the mapped files are searched."""

from __future__ import annotations

import fcntl
import shutil
import weakref
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread

import numpy as np
import structlog

from config.errors import IndexUnavailable
from config.models import Vectors
from index.generations.folder import Folder, Keys
from index.generations.recovery import KINDS, drop_unused, held_by, send
from index.vectors.chroma import ChromaDatabase, ChromaFolder, ChromaServer, Collection, is_reply
from index.vectors.quantized import NONE, Best, Mask, ordered
from index.vectors.search import EXACT_ROWS, LocalSearch, VectorSearch
from telemetry.metrics import observe_vector_search

SEARCH_SECONDS = 5.0
"""Time for one reply of a Chroma server to a question; the mapped files answer after that."""
RETRY_SECONDS = 10.0
SPARE, SPARE_SHARE = 16, 0.25
"""Extra neighbors asked for: some belong to other generations or are not allowed."""
NARROW = EXACT_ROWS
"""Up to this number of allowed rows, an exact pass over them takes milliseconds. Chroma would get a
list of their keys, or walk its whole graph to find so few (docs/decisions/137)."""
WIDE = 0.2
"""Share of allowed rows from which Chroma is asked for more neighbors rather than for the nearest
among a list of keys."""
GRAPH_BYTES = 300
"""Memory of one vector's links in Chroma's graph."""
OUTGROWN = 4.0
"""An embedded Chroma is made anew when the one before takes this many times its vectors' memory:
Chroma doesn't free what was deleted."""
CHROMA = "chroma"
BUILDING = ".chroma-building"

log = structlog.get_logger()


@dataclass(frozen=True)
class Searches:
    """The open searches of one generation."""

    chunks: VectorSearch
    units: VectorSearch
    memory_bytes: int
    """Memory of this machine that they take."""


class ChromaEngine:
    """A Chroma server, or without one a Chroma folder inside each generation's folder."""

    def __init__(self, server: ChromaServer | None) -> None:
        self._server = server
        self._quick = ChromaServer(server.url, reply_seconds=SEARCH_SECONDS) if server else None
        """The same server for searches: publication and loading may take longer."""
        self._closed = Event()

    def open(self, domain: str, folder: Folder) -> Searches:
        """Returns at once; the mapped files are searched until Chroma is ready."""
        servers = (self._server, self._quick) if self._server and self._quick else None
        mapped = local_searches(folder)
        chroma = GenerationInChroma(domain, folder, servers, self._closed)
        chunks, units = (
            ChromaSearch(chroma, kind, held_by(folder, kind)[0], local)
            for kind, local in zip(KINDS, (mapped.chunks, mapped.units), strict=True)
        )
        chroma.start()
        embedded = 0 if servers else _graph_bytes(folder)
        return Searches(chunks, units, memory_bytes=embedded)

    def close(self) -> None:
        """Closes its own connections. The server is the caller's."""
        self._closed.set()
        if self._quick:
            self._quick.close()


@dataclass(frozen=True, eq=False)
class ChromaSearch:
    """The nearest rows of one matrix by Chroma."""

    _chroma: GenerationInChroma
    _kind: str
    _keys: Keys
    _local: VectorSearch

    def __call__(self, queries: Vectors, depth: int, allowed: Mask | None = None) -> list[Best]:
        reach = len(self._keys.by_row) if allowed is None else int(allowed.sum())
        if reach == 0:
            return [NONE for _ in queries]
        if allowed is not None and reach <= NARROW:
            return self._local(queries, depth, allowed)
        collection = self._chroma.collection(self._kind)
        if collection is not None:
            try:
                best = self._nearest(collection, queries, min(depth, reach), allowed, reach)
            except IndexUnavailable as error:
                self._chroma.lose(error, is_away=not is_reply(error))
            else:
                if best:
                    observe_vector_search(self._chroma.domain, "chroma")
                    return best
                self._chroma.lose(IndexUnavailable("it lacks vectors"), is_away=False)
        observe_vector_search(self._chroma.domain, "local")
        return self._local(queries, depth, allowed)

    def _nearest(
        self, collection: Collection, queries: Vectors, depth: int, allowed: Mask | None, reach: int
    ) -> list[Best]:
        """`depth` rows for each query; nothing when Chroma has too few of them."""
        share = reach / len(self._keys.by_row)
        count = SPARE + int((1 + SPARE_SHARE) * depth / share)
        while share >= WIDE:
            replies = collection.nearest(queries, count)
            best = self._rows(replies, allowed, depth)
            has_more = all(len(names) == count for names, _ in replies)
            if best or (allowed is None and not has_more):
                return best
            if allowed is not None:
                break
            count *= 4  # vectors of other generations are nearer
        names = (key.decode() for key in self._keys.by_row[allowed].tolist())
        among = list(dict.fromkeys(names))
        return self._rows(collection.nearest(queries, depth, among), allowed, depth)

    def _rows(
        self, replies: list[tuple[list[str], Vectors]], allowed: Mask | None, depth: int
    ) -> list[Best]:
        """The rows of the keys; nothing when a query has less than `depth`."""
        result = []
        for names, scores in replies:
            of_key = self._keys.rows(names)
            rows = np.concatenate([np.zeros(0, dtype=np.int64), *of_key])
            row_scores = np.repeat(scores, [len(one) for one in of_key])
            if allowed is not None:
                row_scores, rows = row_scores[allowed[rows]], rows[allowed[rows]]
            if len(rows) < depth:
                return []
            ascending = np.argsort(rows)
            result.append(ordered(rows[ascending], row_scores[ascending]).head(depth))
        return result


class GenerationInChroma:
    """A generation's collections, once they are complete and loaded. Thread-safe."""

    def __init__(
        self,
        domain: str,
        folder: Folder,
        servers: tuple[ChromaServer, ChromaServer] | None,
        closed: Event,
    ) -> None:
        """`servers`: the one that is filled, and the same one with less patience for searches;
        without them the folder has an embedded Chroma."""
        self.domain = domain
        self._folder = folder
        self._servers = servers
        self._closed = closed
        self._lock = Lock()
        self._collections: dict[str, Collection] = {}
        self._cause = ""
        self._is_trusted = True
        """Whether Chroma has what it is marked to have."""
        self._embedded: list[ChromaFolder] = []
        weakref.finalize(self, _close_all, self._embedded).atexit = False

    def collection(self, kind: str) -> Collection | None:
        """None while Chroma can't be searched."""
        return self._collections.get(kind)

    def start(self, after_seconds: float = 0.0) -> None:
        parts = (weakref.ref(self), self._closed, after_seconds)
        Thread(target=_prepare, args=parts, name="chroma", daemon=True).start()

    def lose(self, error: IndexUnavailable, *, is_away: bool) -> None:
        """A search failed: the mapped files are searched until Chroma is back. One that isn't away
        is checked for missing vectors first."""
        with self._lock:
            if not self._collections or self._closed.is_set():
                return
            self._collections = {}
            self._is_trusted = is_away
        self.warn(error)
        self.start(RETRY_SECONDS)

    def warn(self, error: Exception) -> None:
        """Logs an outage once."""
        cause = " ".join(str(error.__cause__ or error).split())[:200]
        if cause != self._cause:
            self._cause = cause
            log.warning(
                "Chroma unavailable, searching local vectors",
                domain=self.domain,
                chroma=self._servers[0].url if self._servers else str(self._folder.path / CHROMA),
                cause=cause,
            )

    def prepare(self) -> None:
        """Stores what Chroma lacks and loads it."""
        stored, searched = self._servers or self._filled_folder()
        if self._servers:
            self._fill(stored)
        for kind in KINDS:
            _, vectors = held_by(self._folder, kind)
            if len(vectors):
                self._of(stored, kind).nearest(vectors[:1].exactly(), 1)
        loaded = {kind: self._of(searched, kind) for kind in KINDS}
        if self._cause:
            log.info("Chroma is searched again", domain=self.domain)
        with self._lock:
            self._collections, self._cause, self._is_trusted = loaded, "", True

    def _fill(self, server: ChromaDatabase) -> None:
        manifest = self._folder.manifest
        is_complete = server.complete(self.domain, manifest.embedder, [manifest.digest])
        if not (self._is_trusted and is_complete):
            send(server, self.domain, self._folder, None)

    def _filled_folder(self) -> tuple[ChromaDatabase, ChromaDatabase]:
        _close_all(self._embedded)
        database = ChromaFolder(complete_folder(self.domain, self._folder))
        self._embedded.append(database)
        return database, database

    def _of(self, database: ChromaDatabase, kind: str) -> Collection:
        return database.collection(self.domain, self._folder.manifest.embedder, kind)


def _prepare(
    generation: weakref.ref[GenerationInChroma], closed: Event, after_seconds: float
) -> None:
    """Tries until it succeeds, the engine is closed, or the generation is no longer used."""
    while not closed.wait(after_seconds):
        target = generation()
        if target is None:
            return
        try:
            target.prepare()
            return
        except Exception as error:  # of Chroma, or of a folder that is just being removed
            target.warn(error)
        del target
        after_seconds = RETRY_SECONDS


def complete_folder(domain: str, folder: Folder) -> Path:
    """The generation's embedded Chroma; made from that of another generation where there is one.

    Raises IndexUnavailable, OSError."""
    place = folder.path / CHROMA
    if place.is_dir():
        return place
    with (folder.path / "chroma.lock").open("a") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        if not place.is_dir():
            building = folder.path / BUILDING
            shutil.rmtree(building, ignore_errors=True)
            others = folder.path.parent.glob(f"[0-9]*/{CHROMA}")
            newest = max((one for one in others if one.parent != folder.path), default=None)
            if newest and _size(newest) > OUTGROWN * _graph_bytes(folder):
                newest = None
            if newest:
                shutil.copytree(newest, building)
            database = ChromaFolder(building)
            try:
                send(database, domain, folder, None)
                if newest:
                    drop_unused(database, domain, folder.manifest.embedder, [folder])
            finally:
                database.close()
            building.rename(place)
    return place


def local_searches(folder: Folder) -> Searches:
    """An exact pass over the mapped files, by a sketch first in large ones."""
    chunks = LocalSearch(folder.chunk_vectors, folder.chunk_sketch)
    units = LocalSearch(folder.unit_vectors, folder.unit_sketch)
    return Searches(chunks, units, memory_bytes=folder.vector_bytes)


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*"))


def _graph_bytes(folder: Folder) -> int:
    rows = len(folder.chunk_vectors) + len(folder.unit_vectors)
    return rows * (4 * folder.manifest.dimensions + GRAPH_BYTES)


def _close_all(databases: list[ChromaFolder]) -> None:
    while databases:
        databases.pop().close()
