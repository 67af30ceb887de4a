"""A small copy of a large matrix, to find the rows worth exact scoring (docs/decisions/103).

Each row is rotated so that its components are sorted by variance; the first `WIDTH` are stored in
one byte each. Rows are grouped by cell. A search reads the nearest cells until they contain
`PROBED_ROWS` rows, or all rows if there are no more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors
from index.memory_map import mapped
from index.vectors.quantized import Mask, Quantized, Rows, products, products_of_spans

WIDTH = 96
"""Components stored. With 1.1 million rows, 200,000 read and 6,000 scored exactly, the recall of
the nearest hundred is 0.97 with 64, 0.99 with 96, and no higher with 128, which takes a third
longer."""
PROBED_ROWS = 250_000
CELL_ROWS = 540
"""Mean rows per cell; 2,048 cells for 1.1 million rows."""
SAMPLE = 20_000
SAMPLE_A_CELL = 24
ROUNDS = 6
OUTGROWN = 2.0
"""Cells are trained again when the number of rows grows or shrinks by this factor."""
AT_ONCE = 4_096
NAMES = ("turn", "centres", "codes", "scales", "rows", "starts")


@dataclass(frozen=True)
class Sketch:
    """Rows grouped by cell; arrays may be mapped from files."""

    turn: Vectors
    """(dimensions, WIDTH) orthonormal columns."""
    centres: Vectors
    """(cells, WIDTH) unit vectors."""
    codes: NDArray[np.int8]
    """(rows, WIDTH)"""
    scales: NDArray[np.float32]
    rows: NDArray[np.int32]
    """Position in the sketch → row of the matrix, ascending within a cell."""
    starts: NDArray[np.int64]
    """Cell c's positions are starts[c] … starts[c + 1]."""

    def likely(self, query: Vectors, count: int, allowed: Mask | None, reach: int) -> Rows:
        """About `count` allowed rows with the highest estimates, ascending.

        `reach`: number of allowed rows."""
        turned = query @ self.turn
        spans = self._spans(turned, PROBED_ROWS * len(self.rows) / max(1, reach))
        if allowed is None:
            rows = np.concatenate([self.rows[start:end] for start, end in spans])
            estimates = products_of_spans(self.codes, self.scales, turned, spans)
        else:
            places = np.concatenate(
                [start + np.flatnonzero(allowed[self.rows[start:end]]) for start, end in spans]
            )
            estimates = products(self.codes, self.scales, turned[None], places)[:, 0]
            rows = self.rows[places]
        return np.sort(rows[_highest(estimates, count)]).astype(np.int64)

    def _spans(self, turned: Vectors, places: float) -> list[tuple[int, int]]:
        """[start, end) of the nearest cells with `places` rows; adjacent cells are joined."""
        if places >= len(self.rows):
            return [(0, len(self.rows))]
        nearest = np.argsort(-(self.centres @ turned), kind="stable")
        cumulative = np.cumsum(np.diff(self.starts)[nearest])
        cells = np.sort(nearest[: int(np.searchsorted(cumulative, places)) + 1])
        first = np.flatnonzero(np.diff(cells, prepend=-2) > 1)
        last = np.append(first[1:], len(cells)) - 1
        return [
            (int(self.starts[cells[a]]), int(self.starts[cells[b] + 1]))
            for a, b in zip(first, last, strict=True)
        ]

    def save(self, folder: Path) -> None:
        folder.mkdir()
        for name in NAMES:
            np.save(folder / f"{name}.npy", getattr(self, name))


def open_sketch(folder: Path) -> Sketch:
    return Sketch(**{name: mapped(folder / f"{name}.npy") for name in NAMES})


def sketch_of(vectors: Quantized, base: Sketch | None, from_base: Rows) -> Sketch:
    """Builds a sketch, reusing the base's rows and cells if the sizes are similar.

    `from_base`: row → the base's row with the same vector, -1 for a new one."""
    if base is None or not 1 / OUTGROWN < len(vectors) / len(base.rows) < OUTGROWN:
        turn, centres = _trained(vectors)
        cells, codes, scales = _placed(vectors, np.arange(len(vectors)), turn, centres)
    else:
        turn, centres = np.asarray(base.turn), np.asarray(base.centres)
        carried, new = np.flatnonzero(from_base >= 0), np.flatnonzero(from_base < 0)
        place_of = np.empty(len(base.rows), dtype=np.int64)
        place_of[base.rows] = np.arange(len(base.rows))
        places = place_of[from_base[carried]]
        cells = np.empty(len(vectors), dtype=np.int32)
        codes = np.empty((len(vectors), turn.shape[1]), dtype=np.int8)
        scales = np.empty(len(vectors), dtype=np.float32)
        cells[carried] = np.searchsorted(base.starts, places, side="right") - 1
        codes[carried], scales[carried] = base.codes[places], base.scales[places]
        cells[new], codes[new], scales[new] = _placed(vectors, new, turn, centres)
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=len(centres))
    return Sketch(
        turn=turn,
        centres=centres,
        codes=codes[order],
        scales=scales[order],
        rows=order.astype(np.int32),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


def _trained(vectors: Quantized) -> tuple[Vectors, Vectors]:
    """(turn, centres): principal directions of a sample, and its spherical k-means centers."""
    count = max(1, len(vectors) // CELL_ROWS) if len(vectors) > PROBED_ROWS else 1
    random = np.random.default_rng(0)
    size = min(len(vectors), max(SAMPLE, SAMPLE_A_CELL * count))
    sample = vectors[np.sort(random.choice(len(vectors), size, replace=False))].exactly()
    _, directions = np.linalg.eigh(sample.T @ sample)
    turn = np.ascontiguousarray(directions[:, ::-1][:, :WIDTH], dtype=np.float32)
    turned = sample @ turn
    centres = _unit(turned[random.choice(size, count, replace=False)])
    for _ in range(ROUNDS if count > 1 else 0):
        cells = _nearest(turned, centres)
        order = np.argsort(cells, kind="stable")
        occupied, first = np.unique(cells[order], return_index=True)
        # The center of an empty cell stays unchanged.
        centres[occupied] = _unit(np.add.reduceat(turned[order], first, axis=0))
    return turn, centres


def _placed(
    vectors: Quantized, rows: Rows, turn: Vectors, centres: Vectors
) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float32]]:
    """(cell, codes, scale) of each of these rows."""
    cells = np.empty(len(rows), dtype=np.int32)
    codes = np.empty((len(rows), turn.shape[1]), dtype=np.int8)
    scales = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        turned = vectors[rows[part]].exactly() @ turn
        cells[part] = _nearest(turned, centres)
        scales[part] = np.maximum(np.abs(turned).max(axis=1) / 127, np.float32(1e-30))
        codes[part] = np.rint(turned / scales[part][:, None])
    return cells, codes, scales


def _nearest(turned: Vectors, centres: Vectors) -> NDArray[np.int32]:
    return np.concatenate(
        [
            (turned[start : start + AT_ONCE] @ centres.T).argmax(axis=1).astype(np.int32)
            for start in range(0, len(turned), AT_ONCE)
        ]
    )


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _highest(scores: NDArray[np.float32], count: int) -> Rows:
    """Positions of about `count` highest scores, never fewer, ascending."""
    if count >= len(scores):
        return np.arange(len(scores))
    # The bound comes from a sample, so the number of positions is approximate. A partition of all
    # scores takes as long as the estimates did.
    step = max(1, len(scores) // (64 * 1_024))
    sample = scores[::step]
    rank = min(len(sample), round(count / step * 1.1) + 8)
    bound = np.partition(sample, len(sample) - rank)[len(sample) - rank]
    places = np.flatnonzero(scores >= bound)
    if len(places) < count:
        places = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    return places
