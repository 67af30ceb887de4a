"""Vectors on a Chroma server: a machine without a generation's folder builds it from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import structlog
from numpy.typing import NDArray

from config.errors import IndexUnavailable
from config.models import Vectors
from index.folders.generation_folder import Folder, Keys
from index.vectors.chroma import BATCH, ChromaServer, Collection
from index.vectors.quantised import Quantised

KINDS = ("chunks", "units")

log = structlog.get_logger()


def held_by(folder: Folder, kind: str) -> tuple[Keys, Quantised]:
    if kind == "chunks":
        return folder.chunk_keys, folder.chunk_vectors
    return folder.unit_keys, folder.unit_vectors


class WhileUp:
    """Looks vectors up for a machine that has to answer: once the server has failed it is asked no
    more, and the texts are embedded here."""

    def __init__(self, server: ChromaServer, domain: str, embedder: str) -> None:
        self._server = server
        self._domain = domain
        self._embedder = embedder
        self._is_up = True

    def __call__(self, keys: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        try:
            for kind in KINDS if self._is_up else ():
                missing = [key for key in keys if key not in found]
                found |= self._server.collection(self._domain, self._embedder, kind).get(missing)
        except IndexUnavailable as error:
            self._is_up = False
            log.warning(
                "embedding here what is on the server", domain=self._domain, cause=str(error)
            )
        return found


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
