"""Counts of each term in each row, one column per term, as input of BM25; and of each name, as a
lookup by exact keys that is no part of keyword search (docs/decisions/148).

A generation reuses the columns of the one before: removed rows are deleted, new rows inserted, and
only the texts of new rows are read."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from index.memory_map import mapped

TERMS, TERM_ENDS, STARTS, ROWS = "terms", "term_ends", "starts", "rows"
COUNTS, LENGTHS = "counts", "lengths"
MAX_COUNT = np.iinfo(np.uint16).max
"""Highest count of a term in one row; more occurrences are ignored."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Cells grouped by term, by row within a term; arrays may be mapped from files."""

    terms: Sequence[bytes]
    """Terms in UTF-8, ascending."""
    starts: NDArray[np.int64]
    """Term t's cells are starts[t] … starts[t + 1]."""
    rows: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int32]
    """Row → its number of terms, repetitions included."""


class Bags:
    """Collects the terms of new rows."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._terms, self._rows, self._counts = array("i"), array("i"), array("H")
        self.lengths: dict[int, int] = {}

    def add(self, row: int, terms: Sequence[str]) -> None:
        """Adds a row. Calls must be in ascending order of rows."""
        bag = Counter(terms)
        for term, count in bag.items():
            key = term.encode("utf-8", "surrogatepass")
            self._terms.append(self._ids.setdefault(key, len(self._ids)))
            self._rows.append(row)
            self._counts.append(min(count, MAX_COUNT))
        self.lengths[row] = len(terms)

    @property
    def terms(self) -> list[bytes]:
        """Distinct terms in UTF-8, ascending."""
        return sorted(self._ids)

    def cells(
        self, column_of: dict[bytes, int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]:
        """(columns, rows, counts) of all cells, sorted by column, then by row."""
        if not self._ids:
            nothing = np.zeros(0, dtype=np.int32)
            return nothing, nothing, nothing.astype(np.uint16)
        place = np.array([column_of[term] for term in self._ids], dtype=np.int32)
        columns = place[np.frombuffer(self._terms, dtype=np.int32)]
        order = np.argsort(columns, kind="stable")
        rows = np.frombuffer(self._rows, dtype=np.int32)
        counts = np.frombuffer(self._counts, dtype=np.uint16)
        return columns[order], rows[order], counts[order]


def following(
    base: Columns | None, row_of_base: NDArray[np.int32], new: Bags, size: int
) -> Columns:
    """Columns of the next generation, with `size` rows.

    `row_of_base`: row of the base → its new row, -1 for a removed one; the others keep their
    order."""
    kept_rows, kept_counts = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint16)
    kept_terms: list[bytes] = []
    kept_sizes = np.zeros(0, dtype=np.int64)
    lengths = np.zeros(size, dtype=np.int32)
    if base is not None and len(base.rows):
        now = row_of_base[base.rows]
        stays = now >= 0
        before = np.concatenate([[0], np.cumsum(stays, dtype=np.int64)])
        sizes = np.diff(before[base.starts])
        nonempty = np.flatnonzero(sizes)
        kept_rows, kept_counts, kept_sizes = now[stays], base.counts[stays], sizes[nonempty]
        terms = list(base.terms)
        kept_terms = [terms[place] for place in nonempty]
    if base is not None:
        alive = row_of_base >= 0
        lengths[row_of_base[alive]] = base.lengths[alive]
    for row, length in new.lengths.items():
        lengths[row] = length
    base_terms = set(kept_terms)
    # Sorting merges the two sorted runs in one pass.
    terms = sorted([*kept_terms, *(term for term in new.terms if term not in base_terms)])
    column_of = {term: place for place, term in enumerate(terms)}
    columns, rows, counts = new.cells(column_of)
    sizes = np.bincount(columns, minlength=len(terms)).astype(np.int64)
    kept_columns = np.array([column_of[term] for term in kept_terms], dtype=np.int64)
    kept_starts = np.concatenate([[0], np.cumsum(kept_sizes)])
    at = _places(columns, rows, kept_columns, kept_starts, kept_rows)
    sizes[kept_columns] += kept_sizes
    return Columns(
        terms=terms,
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        rows=np.insert(kept_rows, at, rows) if len(kept_rows) else rows,
        counts=np.insert(kept_counts, at, counts) if len(kept_rows) else counts,
        lengths=lengths,
    )


def _places(
    columns: NDArray[np.int32],
    rows: NDArray[np.int32],
    kept_columns: NDArray[np.int64],
    kept_starts: NDArray[np.int64],
    kept_rows: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Index of the kept cell before which each new cell is inserted."""
    at = np.empty(len(columns), dtype=np.int64)
    if not len(kept_rows) or not len(columns):
        return at
    first = np.flatnonzero(np.diff(columns, prepend=-1))
    last = np.append(first[1:], len(columns))
    carried = np.searchsorted(kept_columns, columns[first])
    for start, end, place in zip(first.tolist(), last.tolist(), carried.tolist(), strict=True):
        low = kept_starts[place]
        if place < len(kept_columns) and kept_columns[place] == columns[start]:
            high = kept_starts[place + 1]
            at[start:end] = low + np.searchsorted(kept_rows[low:high], rows[start:end])
        else:
            at[start:end] = low
    return at


class Terms(Sequence[str]):
    """A memory-mapped vocabulary, sorted by UTF-8 bytes.

    A dictionary of 300,000 terms would take 35 MB in every process."""

    def __init__(self, folder: Path) -> None:
        self._ends = mapped(folder / f"{TERM_ENDS}.npy")
        self._bytes_of_terms = memoryview(mapped(folder / f"{TERMS}.npy").data)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._bytes(place).decode("utf-8", "surrogatepass")

    def as_bytes(self) -> list[bytes]:
        """All terms in UTF-8."""
        everything = bytes(self._bytes_of_terms)
        return [everything[start:end] for start, end in pairwise([0, *self._ends.tolist()])]

    def place(self, term: str) -> int | None:
        """Index of the term; None for an unknown one."""
        key = term.encode("utf-8", "surrogatepass")
        place = bisect_left(range(len(self)), key, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == key else None

    def _bytes(self, place: int) -> bytes:
        start = int(self._ends[place - 1]) if place else 0
        return bytes(self._bytes_of_terms[start : int(self._ends[place])])


def save_counts(folder: Path, columns: Columns) -> None:
    """Writes the terms, and all counts but where each term's begin."""
    np.save(folder / f"{TERMS}.npy", np.frombuffer(b"".join(columns.terms), dtype=np.uint8))
    ends = np.cumsum([len(one) for one in columns.terms], dtype=np.int64)
    np.save(folder / f"{TERM_ENDS}.npy", ends)
    np.save(folder / f"{COUNTS}.npy", columns.counts)
    np.save(folder / f"{LENGTHS}.npy", columns.lengths)


NAMES, MENTIONS = 2, 1
"""Counts of a key in a row that is about it, and in one that only mentions it."""


def name_counts(keys: Mapping[str, bool]) -> list[str]:
    """Each key as often as it counts; see `enrichment.names.names_of`."""
    return [key for key, is_about in keys.items() for _ in range(NAMES if is_about else MENTIONS)]


class Names:
    """Key → rows 0 … n - 1, memory-mapped; thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._terms = Terms(folder)
        self._starts, self._rows, self._counts, self._lengths = (
            mapped(folder / f"{name}.npy") for name in (STARTS, ROWS, COUNTS, LENGTHS)
        )

    def rows(self, key: str, *, mentions: bool = False) -> NDArray[np.int32]:
        """Rows about the key, ascending; `mentions`: then those that only mention it."""
        place = self._terms.place(key)
        if place is None:
            return self._rows[:0]
        cells = slice(int(self._starts[place]), int(self._starts[place + 1]))
        rows, is_about = self._rows[cells], self._counts[cells] >= NAMES
        about: NDArray[np.int32] = rows[is_about]
        return np.concatenate([about, rows[~is_about]]) if mentions else about

    @property
    def columns(self) -> Columns:
        return Columns(
            terms=self._terms.as_bytes(),
            starts=self._starts,
            rows=self._rows,
            counts=self._counts,
            lengths=self._lengths,
        )


def save_names(folder: Path, columns: Columns) -> None:
    folder.mkdir()
    save_counts(folder, columns)
    np.save(folder / f"{STARTS}.npy", columns.starts)
    np.save(folder / f"{ROWS}.npy", columns.rows)
