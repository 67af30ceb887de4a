"""Bringing Chroma to a generation: the last one plus the difference, or from the start."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.errors import IndexUnavailable
from config.models import Vectors
from index.folders.generation_folder import CHROMA, DATABASE, Folder, Keys
from index.vectors.chroma import BATCH, ChromaServer, Collection, writing

KINDS = ("chunks", "units")
STALE_SHARE = 0.5
"""Chroma's graph never shrinks: past this share of removed vectors it is made anew."""
SAMPLE = 16

logger = logging.getLogger(__name__)


def held_by(folder: Folder, kind: str) -> tuple[Keys, Vectors]:
    if kind == "chunks":
        return folder.chunk_keys, folder.chunk_vectors
    return folder.unit_keys, folder.unit_vectors


def save_embedded(target: Path, made: Folder, base: Folder | None) -> None:
    """Write `target`/chroma for the generation in `made`, closed when this returns."""
    if base is not None and _worth_copying(made, base):
        try:
            _copy(base.path / CHROMA, target / CHROMA)
            _bring_up(target / CHROMA, made, base)
            return
        except (IndexUnavailable, OSError, sqlite3.Error) as error:
            logger.warning("making Chroma's part of %s anew: %s", made.path.name, error)
            shutil.rmtree(target / CHROMA, ignore_errors=True)
    _bring_up(target / CHROMA, made, None)


def send(server: ChromaServer, domain: str, made: Folder, base: Folder | None) -> None:
    """Add to the server what the generation in `made` has and `base` had not.

    Other generations' vectors stay: readers still hold them."""
    for kind in KINDS:
        collection = server.collection(domain, made.manifest.embedder, kind)
        keys, vectors = held_by(made, kind)
        wanted = _distinct(keys)
        added = np.setdiff1d(wanted, _distinct(held_by(base, kind)[0])) if base else wanted
        if len(collection) < len(wanted):
            added = wanted  # a new or emptied server
        _add(collection, added, keys, vectors)


def _bring_up(path: Path, made: Folder, base: Folder | None) -> None:
    path.mkdir(parents=True, exist_ok=True)
    with writing(path) as chroma:
        for kind in KINDS:
            collection = chroma.collection(kind, create=True)
            keys, vectors = held_by(made, kind)
            wanted = _distinct(keys)
            before = _distinct(held_by(base, kind)[0]) if base else wanted[:0]
            collection.remove(_texts(np.setdiff1d(before, wanted)))
            _add(collection, np.setdiff1d(wanted, before), keys, vectors)
            _check(collection, wanted, keys, vectors)


def _check(
    collection: Collection, wanted: NDArray[np.bytes_], keys: Keys, vectors: Vectors
) -> None:
    """Raise IndexUnavailable unless it holds exactly the wanted keys and finds some of them."""
    if len(collection) != len(wanted):
        raise IndexUnavailable(f"Chroma holds {len(collection)} vectors of {len(wanted)}")
    for key in _texts(wanted[:: max(1, len(wanted) // SAMPLE)]):
        vector = vectors[keys.rows([key])[0][0]]
        nearest = collection.nearest(vector[None, :], 1)[0]
        rows = keys.rows(nearest)
        if not rows or not len(rows[0]) or vectors[rows[0][0]] @ vector < vector @ vector - 1e-3:
            raise IndexUnavailable("Chroma does not find a vector that it holds")


def _worth_copying(made: Folder, base: Folder) -> bool:
    if not (base.path / CHROMA / DATABASE).is_file():
        return False
    gone = sum(
        len(np.setdiff1d(held_by(base, kind)[0].by_row, held_by(made, kind)[0].by_row))
        for kind in KINDS
    )
    return gone <= STALE_SHARE * (len(made.chunk_vectors) + len(made.unit_vectors))


def _copy(source: Path, target: Path) -> None:
    """Files as they are, the database by SQLite's backup: a reader may be opening it."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(f"{DATABASE}*"))
    read = f"{(source / DATABASE).resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(read, uri=True)) as old,
        closing(sqlite3.connect(target / DATABASE)) as new,
    ):
        old.backup(new)


def _add(collection: Collection, added: NDArray[np.bytes_], keys: Keys, vectors: Vectors) -> None:
    for start in range(0, len(added), BATCH):
        names = _texts(added[start : start + BATCH])
        rows = [int(found[0]) for found in keys.rows(names)]
        collection.add(names, np.asarray(vectors[rows]))


def _distinct(keys: Keys) -> NDArray[np.bytes_]:
    return np.unique(keys.by_row)


def _texts(keys: NDArray[np.bytes_]) -> list[str]:
    return [key.decode() for key in keys.tolist()]
