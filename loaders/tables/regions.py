"""A sheet's cells → its titles, notes and tables, as a reader sees them: blank rows and columns
stand between tables, and a title above one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, zip_longest

from loaders.assemble import BlockWriter
from loaders.document import Table
from loaders.tables.cells import SourceCell
from loaders.tables.evidence import is_form, is_number, names_columns
from loaders.tables.grid import build_table
from loaders.tables.headers import fills_gaps, outline, with_headers

Grid = Sequence[Sequence[SourceCell]]
"""Rows of one width. Positions that a merged cell covers are empty cells."""
_MAX_TITLE = 100
"""Characters of a title that becomes a heading."""
_EVIDENCE = "values below"
_BY_TEXT = frozenset({"", "first column", "short first row"})
"""Evidence of a header that the shape of the values outweighs. Formatting outweighs both."""


@dataclass(frozen=True)
class Area:
    """Rows and columns of a grid. Columns without content between its parts are left out."""

    rows: range
    columns: tuple[int, ...]


class Sheet:
    """Which positions of a grid have content, merges filled in."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.width = max((len(row) for row in grid), default=0)
        self._filled = [[not cell.empty for cell in row] for row in grid]
        for i, row in enumerate(grid):
            for j, cell in enumerate(row):
                if cell.row_span * cell.column_span > 1 and not cell.empty:
                    for a in range(i, min(i + cell.row_span, len(grid))):
                        end = min(j + cell.column_span, self.width)
                        self._filled[a][j:end] = [True] * (end - j)

    def areas(self) -> list[Area]:
        """In reading order. Blank rows cut first, so that a column of numbers or notes stays with
        its rows."""
        areas = self._split(Area(range(len(self.grid)), tuple(range(self.width))))
        return [part for area in areas for part in self._at_headers(area)]

    def count(self, row: int, columns: Sequence[int]) -> int:
        return sum(self._filled[row][column] for column in columns)

    def cells(self, row: int, columns: Sequence[int]) -> list[SourceCell]:
        """Its cells with content; a merged one once."""
        return [cell for column in columns if not (cell := self.grid[row][column]).empty]

    def texts(self, area: Area) -> list[list[str]]:
        return [[self.grid[row][column].text for column in area.columns] for row in area.rows]

    def _split(self, area: Area) -> list[Area]:
        trimmed = self._trimmed(area)
        if trimmed is None:
            return []
        bands = [
            Area(range(rows[0], rows[-1] + 1), area.columns)
            for blank, group in groupby(
                trimmed.rows, key=lambda row: not self.count(row, trimmed.columns)
            )
            if not blank and (rows := list(group))
        ]
        if len(bands) == 1:
            parts = self._side_by_side(trimmed)
            return (
                parts if len(parts) == 1 else [area for one in parts for area in self._split(one)]
            )
        areas: list[Area] = []
        for band in bands:
            parts = self._split(band)
            if areas and len(parts) == 1 and self._continues(areas[-1], parts[0]):
                last = areas.pop()
                columns = tuple(sorted({*last.columns, *parts[0].columns}))
                parts = [Area(range(last.rows.start, parts[0].rows.stop), columns)]
            areas += parts
        return areas

    def _at_headers(self, area: Area) -> list[Area]:
        """The area in parts, where the source marks the names of a further table."""
        marked = [
            row
            for row in area.rows
            if (cells := self.cells(row, area.columns)) and all(cell.header for cell in cells)
        ]
        starts = [row for before, row in pairwise(marked) if row > before + 1]
        bounds = [area.rows.start, *starts, area.rows.stop]
        parts = (self._trimmed(Area(range(*rows), area.columns)) for rows in pairwise(bounds))
        return [part for part in parts if part] if starts else [area]

    def _trimmed(self, area: Area) -> Area | None:
        rows = [row for row in area.rows if self.count(row, area.columns)]
        if not rows:
            return None
        columns = [c for c in area.columns if any(self._filled[row][c] for row in rows)]
        return Area(range(rows[0], rows[-1] + 1), tuple(range(columns[0], columns[-1] + 1)))

    def _side_by_side(self, area: Area) -> list[Area]:
        """The area in parts, where a blank column separates tables. One that only makes space
        inside a table is left out of it."""
        blank = {c for c in area.columns if not any(self._filled[row][c] for row in area.rows)}
        parts: list[Area] = []
        for is_blank, group in groupby(area.columns, key=blank.__contains__):
            if is_blank:
                continue
            part = Area(area.rows, tuple(group))
            if parts and not self._is_apart(parts[-1], part):
                part = Area(area.rows, parts.pop().columns + part.columns)
            parts.append(part)
        return parts

    def _is_apart(self, left: Area, right: Area) -> bool:
        """Whether the right part has names of its own for its rows, or rows of its own."""
        rows = [self._extent(part) for part in (left, right)]
        widths = [max(self.count(row, part.columns) for row in part.rows) for part in (left, right)]
        if min(widths) > 1:
            first = [self.grid[row][right.columns[0]].text for row in rows[1]]
            return all(first) and not any(map(is_number, first[1:]))
        return rows[1].start < rows[0].start or rows[1].stop > rows[0].stop

    def _extent(self, area: Area) -> range:
        rows = [row for row in area.rows if self.count(row, area.columns)]
        return range(rows[0], rows[-1] + 1)

    def _continues(self, above: Area, below: Area) -> bool:
        """Whether a blank row stands inside one table: the part below has no names of its own."""
        if len(above.rows) < 2 or len(above.columns) < 2:
            return False
        columns = set(below.columns)
        if not columns <= set(above.columns):
            return False
        body = title_rows(self, below)
        rest = Area(range(below.rows.start + body, below.rows.stop), above.columns)
        if not rest.rows or (len(rest.rows) == 1 and len(below.rows) == 1):
            return self.count(below.rows.start, below.columns) > 1
        if len(columns) < len(above.columns) or names_columns(self.texts(rest)) > 0:
            return False
        body_above = Area(range(above.rows.start + 1, above.rows.stop), above.columns)
        probe = [self.texts(rest)[0], *self.texts(body_above)]
        return names_columns(probe) <= 0


def title_rows(sheet: Sheet, area: Area) -> int:
    """The number of rows above a table that name or describe it: fewer cells than the table has,
    from the first column on. All rows of an area with one cell."""
    rows = [sheet.cells(row, area.columns) for row in area.rows]
    if sum(map(len, rows)) == 1:
        return len(rows)
    counts = [
        sheet.count(row, area.columns) if cells else 0
        for row, cells in zip(area.rows, rows, strict=True)
    ]
    for i, cells in enumerate(rows):
        widest = max(counts[i + 1 : i + 12], default=0)
        starts_left = bool(cells) and cells[0] is sheet.grid[area.rows[i]][area.columns[0]]
        is_single = len(cells) == 1 and (starts_left or cells[0].column_span == 1)
        is_sparse = (
            starts_left
            and counts[i] * 2 <= widest
            and widest > 3
            and all(cell.column_span == 1 for cell in cells[1:])
        )
        if cells and not (widest > 1 and (is_single or is_sparse)):
            return i
    return 0


def write_sheet(
    writer: BlockWriter, grid: Grid, *, document: str, level: int = 1, has_names: bool = False
) -> None:
    """Writes the areas of a grid. `level`: of a title's heading. `has_names`: a first row without
    evidence for or against is a header even of a single record, as in CSV. Raises LoadError."""
    sheet = Sheet(grid)
    areas = sheet.areas()
    for area, following in zip_longest(areas, areas[1:]):
        titles = title_rows(sheet, area)
        if len(area.columns) == 1 and not (has_names and sheet.width == 1):
            titles = len(area.rows)
        is_above = len(area.rows) > titles or (following and _is_above(area, following))
        for i, row in enumerate(area.rows[:titles]):
            is_heading = is_above and i == 0
            _write_title(writer, sheet.cells(row, area.columns), level if is_heading else 0)
        if rows := area.rows[titles:]:
            _write_table(writer, sheet, Area(rows, area.columns), document, has_names)


def _is_above(area: Area, table: Area) -> bool:
    return area.columns[0] == table.columns[0] and len(table.columns) > 1


def _write_title(writer: BlockWriter, cells: Sequence[SourceCell], level: int) -> None:
    text = " · ".join(cell.text for cell in cells)
    markdown = " · ".join(cell.markdown.replace("<br>", "\n") for cell in cells)
    if level and len(cells) == 1 and _is_title(text):
        writer.heading(level, text, markdown)
    elif text:
        writer.add("paragraph", text, markdown)


def _is_title(text: str) -> bool:
    return len(text) <= _MAX_TITLE and "\n" not in text and text[-1:] not in ".,;:!?"


def _write_table(
    writer: BlockWriter, sheet: Sheet, area: Area, document: str, has_names: bool
) -> None:
    rows = [
        [sheet.grid[row][column] for column in area.columns]
        for row in area.rows
        if sheet.count(row, area.columns)
    ]
    table, warnings = build_table(rows, placeholders=True, document=document)
    for warning in warnings:
        writer.warn(warning)
    if table.header_evidence in _BY_TEXT:
        table = _with_names(table, rows, has_names)
    writer.add("table", outline(table), "", table=table)


def _with_names(table: Table, rows: Grid, has_names: bool) -> Table:
    """The table with the header that the shape of its values tells."""
    texts = [[cell.text for cell in row] for row in table.rows]
    depth = _depth(table, texts)
    names = [below or above for above, below in zip(texts[0], texts[depth - 1], strict=True)]
    votes = names_columns([names, *texts[depth:]])
    if not votes and is_form(texts):
        return replace(table, header_rows=0, header_columns=1, header_evidence="first column")
    if not votes and not has_names and (len(texts) < depth + 2 or not all(names)):
        return table
    if votes < 0 or depth == len(texts):
        return replace(table, header_rows=0, header_columns=0, header_evidence="")
    sources = [[rows[cell.row][cell.column] for cell in row] for row in table.rows]
    table = with_headers(table, sources, depth)
    return replace(table, header_evidence=_EVIDENCE if votes else "first row")


def _depth(table: Table, texts: Sequence[Sequence[str]]) -> int:
    """Rows that its header has, if it has one: a second one below a cell of the first that spans
    columns or rows, or where it fills the first one's gaps."""
    first, second = texts[0], texts[1] if len(texts) > 2 else texts[0]
    width = len(first)
    spans = any(1 < cell.column_span < width or cell.row_span == 2 for cell in table.rows[0])
    fills = fills_gaps(first, second) and all(texts[2] if len(texts) > 2 else ())
    return 2 if len(texts) > 2 and (spans or fills) and not any(map(is_number, second)) else 1
