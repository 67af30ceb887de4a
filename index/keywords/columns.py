"""Counts of each term in each row, one column per term, as input of BM25.

A generation reuses the columns of the one before: removed rows are deleted, new rows inserted, and
only the texts of new rows are read."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
