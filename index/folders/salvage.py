"""Vectors out of a folder that is damaged or of an older release: none is embedded twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors
from index.folders.build import Lookup
from index.folders.generation_folder import BLOCK, MANIFEST, VECTOR_PARTS, Keys, checksums
from index.vectors.matrix import Mask
from index.vectors.quantised import Quantised


def salvaged(path: Path, embedder: str) -> Lookup:
    """What of this embedder's vectors is as it was written; read when first asked."""
    opened = cache(lambda: _kinds(path, embedder))

    def lookup(keys: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for names, vectors, intact in opened():
            for key, rows in zip(keys, names.rows(keys), strict=True):
                good = rows[intact[rows]]
                if len(good):
                    held = vectors[good[:1]]
                    found[key] = held.exactly()[0] if isinstance(held, Quantised) else held[0]
        return found

    return lookup


def _kinds(path: Path, embedder: str) -> list[tuple[Keys, Quantised | Vectors, Mask]]:
    """(addresses, vectors, which rows are intact), of chunks and of units."""
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        if manifest["embedder"] != embedder:
            return []
        files = manifest["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    found = []
    for kind in ("chunk", "unit"):
        try:
            found.append(_kind(path, files, kind))
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
        ):  # missing, cut off, or no manifest of ours
            continue
    return found


def _kind(path: Path, files: dict[str, Any], kind: str) -> tuple[Keys, Quantised | Vectors, Mask]:
    names, intact = _rows(path, files, f"{kind}_keys.npy")
    keys = Keys(names, np.argsort(names, kind="stable"))
    if f"{kind}_vectors.npy" in files:  # float32, before release 0.2
        vectors, good = _rows(path, files, f"{kind}_vectors.npy")
        return keys, vectors, intact & good
    parts = [_rows(path, files, f"{kind}_{part}.npy") for part in VECTOR_PARTS]
    for _, good in parts:
        intact &= good
    return keys, Quantised(*(array for array, _ in parts)), intact


def _rows(path: Path, files: dict[str, Any], name: str) -> tuple[NDArray[Any], Mask]:
    """(array, which of its rows have the bytes that were sealed)."""
    size, *sealed = files[name]
    array = np.load(path / name, mmap_mode="r" if size > 128 else None)
    # One checksum over the whole file, as older releases have it, or one for each block.
    block = BLOCK if len(sealed) > 1 else max(size, 1)
    found = checksums(path / name, block)
    good = np.array([a == b for a, b in zip(found, sealed, strict=True)], dtype=bool)
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    starts = size - len(array) * width + np.arange(len(array)) * width
    intact = good[starts // block] & good[(starts + max(width, 1) - 1) // block]
    return np.asarray(array), np.asarray(intact, dtype=bool)
