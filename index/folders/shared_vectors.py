"""Vectors on a Chroma server: a machine without a generation's folder builds it from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from index.folders.generation_folder import Folder, Keys
from index.vectors.chroma import BATCH, ChromaServer, Collection
from index.vectors.quantised import Quantised

KINDS = ("chunks", "units")


def held_by(folder: Folder, kind: str) -> tuple[Keys, Quantised]:
    if kind == "chunks":
        return folder.chunk_keys, folder.chunk_vectors
    return folder.unit_keys, folder.unit_vectors


def send(server: ChromaServer, domain: str, made: Folder, base: Folder | None) -> None:
    """Add to the server what the generation in `made` has and `base` had not.

    Other generations' vectors stay: other machines may still build their folders."""
    for kind in KINDS:
        collection = server.collection(domain, made.manifest.embedder, kind)
        keys, vectors = held_by(made, kind)
        wanted = np.unique(keys.by_row)
        added = np.setdiff1d(wanted, np.unique(held_by(base, kind)[0].by_row)) if base else wanted
        if len(collection) < len(wanted):
            added = wanted  # a new or emptied server
        _add(collection, added, keys, vectors)


def drop_unused(server: ChromaServer, domain: str, embedder: str, used: Sequence[Folder]) -> None:
    """Delete the vectors that none of these folders holds."""
    for kind in KINDS:
        collection = server.collection(domain, embedder, kind)
        held = {key for one in used for key in held_by(one, kind)[0].by_row.tolist()}
        collection.remove([key for key in collection.all_keys() if key.encode() not in held])


def _add(collection: Collection, added: NDArray[np.bytes_], keys: Keys, vectors: Quantised) -> None:
    for start in range(0, len(added), BATCH):
        names = [key.decode() for key in added[start : start + BATCH].tolist()]
        rows = np.array([found[0] for found in keys.rows(names)], dtype=np.int64)
        collection.add(names, vectors[rows].exactly())
