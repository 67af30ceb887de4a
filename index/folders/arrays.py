"""The arrays of a generation's folder, written out of one part for each document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors
from index.folders.generation_folder import KEYWORDS
from index.keywords.bm25 import save_sparse
from index.store.generation_info import Revision

KEY = np.dtype("S32")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One document's share of every array."""

    row_ids: Sequence[int]
    chunk_ids: Sequence[str]
    unit_counts: Sequence[int]
    term_counts: Sequence[int]
    term_ids: NDArray[np.int32]
    chunk_keys: NDArray[np.bytes_]
    unit_keys: NDArray[np.bytes_]
    chunk_vectors: Vectors
    unit_vectors: Vectors


class Matrices:
    """Both matrices, written as the parts come: they can be larger than memory."""

    def __init__(self, target: Path, held: Sequence[Revision], width: int) -> None:
        self._chunks = _matrix(target / "chunk_vectors.npy", sum(r.chunks for r in held), width)
        self._units = _matrix(target / "unit_vectors.npy", sum(r.units for r in held), width)
        self._chunk = self._unit = 0

    def take(self, part: Part) -> Part:
        """Write the part's vectors and let go of them."""
        chunks, units = len(part.chunk_vectors), len(part.unit_vectors)
        self._chunks[self._chunk : self._chunk + chunks] = part.chunk_vectors
        self._units[self._unit : self._unit + units] = part.unit_vectors
        self._chunk += chunks
        self._unit += units
        nothing = part.chunk_vectors[:0]
        return replace(part, chunk_vectors=nothing, unit_vectors=nothing)

    def flush(self) -> None:
        for matrix in (self._chunks, self._units):
            if isinstance(matrix, np.memmap):
                matrix.flush()


def _matrix(path: Path, rows: int, width: int) -> Vectors:
    if rows:
        made: Vectors = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float32, shape=(rows, width)
        )
        return made
    empty: Vectors = np.zeros((0, width), dtype=np.float32)
    np.save(path, empty)
    return empty


def save_rows(target: Path, held: Sequence[Revision], parts: Sequence[Part]) -> None:
    np.save(target / "revision_ids.npy", np.array([one.id for one in held], dtype=np.int64))
    np.save(target / "row_starts.npy", _starts([len(part.row_ids) for part in parts]))
    np.save(target / "unit_starts.npy", _starts(_each(part.unit_counts for part in parts)))
    np.save(target / "row_ids.npy", np.array(_each(p.row_ids for p in parts), dtype=np.int64))
    _save_json(target / "chunk_ids.json", [one for part in parts for one in part.chunk_ids])


def save_keys(target: Path, parts: Sequence[Part]) -> None:
    for kind in ("chunk", "unit"):
        each = [part.chunk_keys if kind == "chunk" else part.unit_keys for part in parts]
        keys = np.concatenate([np.zeros(0, dtype=KEY), *each])
        np.save(target / f"{kind}_keys.npy", keys)
        np.save(target / f"{kind}_key_order.npy", np.argsort(keys, kind="stable").astype(np.int64))


def save_terms(target: Path, parts: Sequence[Part], vocabulary: Mapping[str, int]) -> None:
    """Drop the terms of documents that left, then write rows' terms and the BM25 columns."""
    counts = np.array(_each(part.term_counts for part in parts), dtype=np.int64)
    ids = np.concatenate([np.zeros(0, dtype=np.int32), *(part.term_ids for part in parts)])
    used = np.bincount(ids, minlength=len(vocabulary)) > 0
    renumbered = (np.cumsum(used) - 1).astype(np.int32)
    ids = renumbered[ids] if len(ids) else ids
    kept = [term for term, place in vocabulary.items() if used[place]]
    np.save(target / "term_ids.npy", ids)
    np.save(target / "term_starts.npy", _starts(counts))
    _save_json(target / "vocabulary.json", kept)
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    save_sparse(target / KEYWORDS, vocabulary=kept, term_ids=ids, rows=rows, size=len(counts))


def _starts(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64))]).astype(np.int64)


def _each(groups: Iterator[Sequence[int]]) -> list[int]:
    return [one for group in groups for one in group]


def _save_json(path: Path, content: Sequence[str]) -> None:
    path.write_text(json.dumps(content), "utf-8")
