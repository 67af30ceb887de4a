"""The arrays of a generation's folder, written out of one part for each document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from index.folders.generation_folder import KEYWORDS, VECTOR_PARTS, Folder
from index.folders.nearest_rows import EXACT_ROWS
from index.keywords.bm25 import in_order, save_sparse
from index.store.generation_info import Revision
from index.vectors.quantised import Quantised, empty
from index.vectors.sketch import sketch_of

KEY = np.dtype("S32")
NEW = -1


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
    chunk_vectors: Quantised
    unit_vectors: Quantised
    first_row: int = NEW
    first_unit: int = NEW
    """Where the document stands in the base that it is carried over from."""


class Matrices:
    """Both matrices, written as the parts come: they can be larger than memory."""

    def __init__(self, target: Path, held: Sequence[Revision], width: int) -> None:
        self._chunks = _matrix(target, "chunk", sum(r.chunks for r in held), width)
        self._units = _matrix(target, "unit", sum(r.units for r in held), width)
        self._chunk = self._unit = 0

    def take(self, part: Part) -> Part:
        """Write the part's vectors and let go of them."""
        _write(self._chunks, self._chunk, part.chunk_vectors)
        _write(self._units, self._unit, part.unit_vectors)
        self._chunk += len(part.chunk_vectors)
        self._unit += len(part.unit_vectors)
        nothing = empty(0, part.chunk_vectors.width)
        return replace(part, chunk_vectors=nothing, unit_vectors=nothing)

    def save_sketches(self, target: Path, parts: Sequence[Part], base: Folder | None) -> None:
        """Of matrices that are too large for an exact pass."""
        if len(self._chunks) > EXACT_ROWS:
            rows = _from_base((part.first_row, len(part.row_ids)) for part in parts)
            before = base.chunk_sketch if base else None
            sketch_of(self._chunks, before, rows).save(target / "chunk_sketch")
        if len(self._units) > EXACT_ROWS:
            rows = _from_base((part.first_unit, sum(part.unit_counts)) for part in parts)
            before = base.unit_sketch if base else None
            sketch_of(self._units, before, rows).save(target / "unit_sketch")


def _from_base(runs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Row → the base's row, -1 for a new one, of each document's (first row there, rows)."""
    found = [
        np.full(count, NEW) if first == NEW else np.arange(first, first + count)
        for first, count in runs
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _matrix(target: Path, kind: str, rows: int, width: int) -> Quantised:
    made = empty(0, width)
    arrays = []
    for name in VECTOR_PARTS:
        like = getattr(made, name)
        path = target / f"{kind}_{name}.npy"
        if rows:
            shape = (rows, *like.shape[1:])
            opened = np.lib.format.open_memmap(path, mode="w+", dtype=like.dtype, shape=shape)
            arrays.append(np.asarray(opened))
        else:
            np.save(path, like)
            arrays.append(like)
    return Quantised(*arrays)


def _write(matrix: Quantised, start: int, part: Quantised) -> None:
    rows = slice(start, start + len(part))
    for name in VECTOR_PARTS:
        getattr(matrix, name)[rows] = getattr(part, name)


def save_rows(target: Path, held: Sequence[Revision], parts: Sequence[Part]) -> None:
    np.save(target / "revision_ids.npy", np.array([one.id for one in held], dtype=np.int64))
    np.save(target / "row_starts.npy", _starts([len(part.row_ids) for part in parts]))
    np.save(target / "unit_starts.npy", _starts(_each(part.unit_counts for part in parts)))
    np.save(target / "row_ids.npy", np.array(_each(p.row_ids for p in parts), dtype=np.int64))
    ids = [one.encode("utf-8", "surrogatepass") for part in parts for one in part.chunk_ids]
    _save_keys(target, "chunk_id", np.array(ids, dtype=np.bytes_))


def save_keys(target: Path, parts: Sequence[Part]) -> None:
    for kind in ("chunk", "unit"):
        each = [part.chunk_keys if kind == "chunk" else part.unit_keys for part in parts]
        _save_keys(target, f"{kind}_key", np.concatenate([np.zeros(0, dtype=KEY), *each]))


def _save_keys(target: Path, name: str, keys: NDArray[np.bytes_]) -> None:
    np.save(target / f"{name}s.npy", keys)
    np.save(target / f"{name}_order.npy", np.argsort(keys, kind="stable").astype(np.int64))


def save_terms(target: Path, parts: Sequence[Part], vocabulary: Mapping[str, int]) -> None:
    """Drop the terms of documents that left, number the others in their order, and write rows'
    terms and the BM25 columns."""
    counts = np.array(_each(part.term_counts for part in parts), dtype=np.int64)
    ids = np.concatenate([np.zeros(0, dtype=np.int32), *(part.term_ids for part in parts)])
    used = np.flatnonzero(np.bincount(ids, minlength=len(vocabulary)))
    terms = list(vocabulary)
    kept = [terms[place] for place in used]
    order = in_order(kept)
    renumbered = np.zeros(len(vocabulary), dtype=np.int32)
    renumbered[used[order]] = np.arange(len(order), dtype=np.int32)
    ids = renumbered[ids] if len(ids) else ids
    kept = [kept[place] for place in order]
    np.save(target / "term_ids.npy", ids)
    np.save(target / "term_starts.npy", _starts(counts))
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    save_sparse(target / KEYWORDS, vocabulary=kept, term_ids=ids, rows=rows, size=len(counts))


def _starts(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64))]).astype(np.int64)


def _each(groups: Iterator[Sequence[int]]) -> list[int]:
    return [one for group in groups for one in group]
