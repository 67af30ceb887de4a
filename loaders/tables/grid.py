"""Rows of cells with spans → a rectangular grid with all merges filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from config.errors import LoadError
from loaders.document import MAX_CELLS, MAX_CHARACTERS, Cell, Table, check_cells, too_many
from loaders.tables.cells import SourceCell, grid_cell
from loaders.tables.headers import with_headers

Rows = Sequence[Sequence[SourceCell]]
_EMPTY = SourceCell()


@dataclass(frozen=True)
class _Placed:
    source: SourceCell
    row: int
    column: int


_Grid = list[list[_Placed | None]]


def build_table(
    rows: Rows, *, placeholders: bool, marked_rows: int = 0, document: str = "", place: str = ""
) -> tuple[Table, list[str]]:
    """Returns the rectangular grid, and warnings about inconsistent rows and merges.

    `placeholders`: the source has empty cells in covered positions, as in Google Docs; otherwise
    it leaves them out, as in HTML. `marked_rows`: leading rows that the source marks as headers.
    Raises LoadError when a limit is exceeded."""
    width = max((len(row) for row in rows), default=0)
    if placeholders:
        check_cells(document, place, len(rows) * width)
    if placeholders and not _left_out(rows, width):
        grid = _place_by_position(rows, width, document, place)
    else:
        grid = _place_in_gaps(rows, document, place)
    grid, warnings = _whole_merges(grid)
    if placeholders and any(len(row) != width for row in rows):
        warnings.append("rows of different length were filled up with empty cells")
    cells = _cells(grid)
    _check_size(cells, document, place)
    sources = [[placed.source if placed else _EMPTY for placed in row] for row in grid]
    return with_headers(Table(rows=cells), sources, marked_rows), warnings


def _left_out(rows: Rows, width: int) -> bool:
    """Whether merges from above and the left cover exactly the missing cells of short rows."""
    if not any(len(row) < width for row in rows):
        return False
    from_above = [0] * (len(rows) + 1)
    """Change in the number of covered positions from one row to the next."""
    for i, row in enumerate(rows):
        for cell in row:
            end = min(i + cell.row_span, len(rows))
            from_above[min(i + 1, end)] += cell.column_span
            from_above[end] -= cell.column_span
    covered = list(accumulate(from_above))
    widths = [sum(c.column_span for c in row) + n for row, n in zip(rows, covered, strict=False)]
    return len(set(widths)) == 1


def _place_by_position(rows: Rows, width: int, document: str, place: str) -> _Grid:
    """Places each cell at its own position, as in Google Docs.

    An empty cell under a merge is a placeholder. A cell with content replaces the merge there."""
    grid: _Grid = [[None] * width for _ in rows]
    covered = 0
    for i, row in enumerate(rows):
        for j, source in enumerate(row):
            if grid[i][j] is not None and source.empty:
                continue
            placed = _Placed(source, i, j)
            covered += min(source.row_span, len(rows) - i) * min(source.column_span, width - j)
            _check_overlaps(covered, document, place)
            for a in range(i, min(i + source.row_span, len(rows))):
                for b in range(j, min(j + source.column_span, width)):
                    if grid[a][b] is None or (a, b) == (i, j) or not source.empty:
                        grid[a][b] = placed
    return grid


def _place_in_gaps(rows: Rows, document: str, place: str) -> _Grid:
    """Places each cell at the next position that no merge covers, as in HTML."""
    occupied: dict[tuple[int, int], _Placed] = {}
    width = covered = 0
    for i, row in enumerate(rows):
        j = 0
        for source in row:
            while (i, j) in occupied:
                j += 1
            placed = _Placed(source, i, j)
            down = min(source.row_span, len(rows) - i)
            check_cells(document, place, len(occupied) + down * source.column_span)
            covered += down * source.column_span
            _check_overlaps(covered, document, place)
            for a in range(i, i + down):
                for b in range(j, j + source.column_span):
                    occupied.setdefault((a, b), placed)
            # `colspan="20"` over three columns means "all of them".
            width = max(width, j + 1)
            j += source.column_span
    check_cells(document, place, len(rows) * width)
    return [[occupied.get((i, j)) for j in range(width)] for i in range(len(rows))]


def _check_overlaps(covered: int, document: str, place: str) -> None:
    """Limits overlapping merges, which cover more positions than the table has."""
    if covered > 2 * MAX_CELLS:
        raise too_many(document, place, covered, 2 * MAX_CELLS, "cells in overlapping merges")


def _whole_merges(grid: _Grid) -> tuple[_Grid, list[str]]:
    """Splits overlapping merges into single cells that repeat the value in each position."""
    positions_by_cell: dict[_Placed, list[tuple[int, int]]] = {}
    for i, row in enumerate(grid):
        for j, placed in enumerate(row):
            if placed:
                positions_by_cell.setdefault(placed, []).append((i, j))
    warnings: list[str] = []
    for placed, positions in positions_by_cell.items():
        source = placed.source
        if len(positions) == source.row_span == source.column_span == 1:
            continue
        height = positions[-1][0] - placed.row + 1
        breadth = max(j for _, j in positions) - placed.column + 1
        starts_here = positions[0] == (placed.row, placed.column)
        whole = starts_here and height * breadth == len(positions)
        size = replace(source, row_span=height, column_span=breadth)
        single = replace(source, row_span=1, column_span=1)
        for i, j in positions:
            grid[i][j] = replace(placed, source=size) if whole else _Placed(single, i, j)
        if not whole:
            warnings = ["overlapping merges were split into single cells"]
    return grid, warnings


def _cells(grid: _Grid) -> tuple[tuple[Cell, ...], ...]:
    cell_at: dict[tuple[int, int], Cell] = {}
    rows = []
    for i, row in enumerate(grid):
        cells = []
        for j, placed in enumerate(row):
            source = placed.source if placed else _EMPTY
            origin = (placed.row, placed.column) if placed else (i, j)
            if origin not in cell_at:
                cell_at[origin] = grid_cell(source, *origin)
            cells.append(cell_at[origin])
        rows.append(tuple(cells))
    return tuple(rows)


def _check_size(rows: Sequence[Sequence[Cell]], document: str, place: str) -> None:
    """Checks the size with all merges filled in, also in nested tables.

    Merges in nested tables grow exponentially."""
    weights = {
        (i, j): 1 + sum(map(_positions, cell.tables))
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
        if (cell.row, cell.column) == (i, j)
    }
    count = sum(weights[cell.row, cell.column] for row in rows for cell in row)
    check_cells(document, place, count)
    size = sum(len(cell.text) + len(cell.markdown) for row in rows for cell in row)
    if size > 2 * MAX_CHARACTERS:
        raise LoadError(
            document, f"a table of {size:,} characters, merges filled in, is too big", place=place
        )


def _positions(table: Table) -> int:
    return sum(1 + sum(map(_positions, cell.tables)) for row in table.rows for cell in row)
