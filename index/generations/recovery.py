"""Recovers vectors from damaged or older folders or from Chroma, to avoid embedding them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from config.errors import IndexUnavailable
from config.models import Vectors
from index.generations.build import Lookup
from index.generations.folder import BLOCK, MANIFEST, VECTOR_PARTS, Folder, Keys, checksums
from index.memory_map import mapped
from index.vectors.chroma import BATCH, COMPLETE, ChromaDatabase, ChromaServer, Collection
from index.vectors.quantized import Mask, Quantized

_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError)
"""Missing, cut off, or no manifest of ours."""


def recovered_vectors(path: Path, embedder: str) -> Lookup:
    """Looks up this embedder's intact vectors in a folder, which is read on first use."""
    opened = cache(lambda: _kinds(path, embedder))

    def lookup(keys: Sequence[str]) -> dict[str, Vectors]:
        by_key: dict[str, Vectors] = {}
        for names, vectors, intact in opened():
            for key, rows in zip(keys, names.rows(keys), strict=True):
                good = rows[intact[rows]]
                if len(good):
                    row = vectors[good[:1]]
                    by_key[key] = row.exactly()[0] if isinstance(row, Quantized) else row[0]
        return by_key

    return lookup


def _kinds(path: Path, embedder: str) -> list[tuple[Keys, Quantized | Vectors, Mask]]:
    """(keys, vectors, mask of intact rows) of chunks and of units, as far as they can be read."""
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        if manifest["embedder"] != embedder:
            return []
        files = manifest["files"]
    except _UNREADABLE:
        return []
    result = []
    for kind in ("chunk", "unit"):
        try:
            result.append(_kind(path, files, kind))
        except _UNREADABLE:
            continue
    return result


def _kind(path: Path, files: dict[str, Any], kind: str) -> tuple[Keys, Quantized | Vectors, Mask]:
    names, intact = _rows(path, files, f"{kind}_keys.npy")
    keys = Keys(names, np.argsort(names, kind="stable"))
    if f"{kind}_vectors.npy" in files:  # float32, before release 0.2
        vectors, good = _rows(path, files, f"{kind}_vectors.npy")
        return keys, vectors, intact & good
    parts = [_rows(path, files, f"{kind}_{part}.npy") for part in VECTOR_PARTS]
    for _, good in parts:
        intact &= good
    return keys, Quantized(*(array for array, _ in parts)), intact


def _rows(path: Path, files: dict[str, Any], name: str) -> tuple[NDArray[Any], Mask]:
    """(array, mask of the rows whose checksums match)."""
    size, *sealed = files[name]
    array = mapped(path / name)
    # Older releases have one checksum for the whole file, newer ones one for each block.
    block = BLOCK if len(sealed) > 1 else max(size, 1)
    sums = checksums(path / name, block)
    good = np.array([a == b for a, b in zip(sums, sealed, strict=True)], dtype=bool)
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    starts = size - len(array) * width + np.arange(len(array)) * width
    intact = good[starts // block] & good[(starts + max(width, 1) - 1) // block]
    return array, np.asarray(intact, dtype=bool)


KINDS = ("chunks", "units")

log = structlog.get_logger()


def held_by(folder: Folder, kind: str) -> tuple[Keys, Quantized]:
    if kind == "chunks":
        return folder.chunk_keys, folder.chunk_vectors
    return folder.unit_keys, folder.unit_vectors


class ServerLookup:
    """Looks up vectors on the server. After its first failure, it returns nothing more, and the
    caller embeds the texts itself."""

    def __init__(self, server: ChromaServer, domain: str, embedder: str) -> None:
        self._server = server
        self._domain = domain
        self._embedder = embedder
        self._is_up = True

    def __call__(self, keys: Sequence[str]) -> dict[str, Vectors]:
        by_key: dict[str, Vectors] = {}
        try:
            for kind in KINDS if self._is_up else ():
                missing = [key for key in keys if key not in by_key]
                by_key |= self._server.collection(self._domain, self._embedder, kind).get(missing)
        except IndexUnavailable as error:
            self._is_up = False
            log.warning(
                "vector server unavailable, embedding again", domain=self._domain, cause=str(error)
            )
        return by_key


def send(database: ChromaDatabase, domain: str, folder: Folder, base: Folder | None) -> None:
    """Adds the vectors of `folder` that the database lacks and marks the folder as complete there.

    Vectors of other generations stay: other machines may still build or search those."""
    made_by, digest = folder.manifest.embedder, folder.manifest.digest
    if base and not database.complete(domain, made_by, [base.manifest.digest]):
        base = None  # the database is new or was emptied
    for kind in KINDS:
        collection = database.collection(domain, made_by, kind)
        keys, vectors = held_by(folder, kind)
        distinct = np.unique(keys.by_row)
        if base:
            added = np.setdiff1d(distinct, np.unique(held_by(base, kind)[0].by_row))
        else:
            missing = collection.missing([key.decode() for key in distinct.tolist()])
            added = np.array([key.encode() for key in missing], dtype=distinct.dtype)
        _add(collection, added, keys, vectors)
    database.set_complete(domain, made_by, digest)


def drop_unused(
    database: ChromaDatabase, domain: str, embedder: str, used: Sequence[Folder]
) -> None:
    """Deletes the database's vectors that none of these folders contains."""
    complete = database.collection(domain, embedder, COMPLETE)
    complete.remove(sorted(complete.all_keys() - {one.manifest.digest for one in used}))
    for kind in KINDS:
        collection = database.collection(domain, embedder, kind)
        keys_in_use = {key for one in used for key in held_by(one, kind)[0].by_row.tolist()}
        collection.remove([key for key in collection.all_keys() if key.encode() not in keys_in_use])


def _add(collection: Collection, added: NDArray[np.bytes_], keys: Keys, vectors: Quantized) -> None:
    for start in range(0, len(added), BATCH):
        names = [key.decode() for key in added[start : start + BATCH].tolist()]
        rows = np.array([positions[0] for positions in keys.rows(names)], dtype=np.int64)
        collection.add(names, vectors[rows].exactly())
