"""Detects which rows name columns and which columns name rows, with the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from loaders.document import Cell, Table
from loaders.tables.cells import SourceCell
from loaders.tables.evidence import Texts, is_number

Grid = Sequence[Sequence[Cell]]
Styles = Sequence[Sequence[SourceCell]]
"""The source of each cell: its formatting distinguishes headers from values."""
LEVEL_SEPARATOR = " › "

_VALUE = re.compile(
    r"^\W*\d|^(yes|no|none|n/?a|true|false|tbd|todo|-+|–|—|✓|✔|✗|x)$|https?://|@\w", re.IGNORECASE
)


def header_paths(table: Table) -> tuple[str, ...]:
    """One path per column, with levels joined by ` › `; '' when the column has no name.

    A repeated level appears once."""
    return tuple(
        LEVEL_SEPARATOR.join(level.text.replace("\n", " ") for level in levels)
        for levels in header_levels(table)
    )


def own_cells(table: Table) -> Iterator[Cell]:
    """Yields each cell once, at the top left position of its merge."""
    for i, row in enumerate(table.rows):
        yield from (cell for j, cell in enumerate(row) if (cell.row, cell.column) == (i, j))


def outline(table: Table) -> str:
    """A table's plain text: one line per row."""
    return "\n".join(" | ".join(cell.text for cell in row) for row in table.rows)


def header_levels(table: Table) -> list[list[Cell]]:
    """The header cells above each column, outermost first.

    A merged or repeated header appears once."""
    columns: list[list[Cell]] = []
    for j in range(len(table.rows[0]) if table.rows else 0):
        levels: list[Cell] = []
        for row in table.rows[: table.header_rows]:
            if row[j].text and (not levels or levels[-1].text != row[j].text):
                levels.append(row[j])
        columns.append(levels)
    return columns


def structure_doubt(table: Table) -> str:
    """Why a person or a model should check this table; '' when its structure is clear.

    `no header`, `side-by-side tables` or `layout`: rules can't decide these cases."""
    body = table.rows[table.header_rows :]
    width = len(table.rows[0]) if table.rows else 0
    blank = [j for j in range(1, width - 1) if not any(row[j].text for row in table.rows)]
    if blank:
        return "side-by-side tables"
    paths = [path for path in header_paths(table) if path]
    if width >= 4 and len(paths) == width and paths[: width // 2] * 2 == paths:
        return "side-by-side tables"
    if any(len(cell.tables) > 1 or len(cell.text) > 1_500 for row in body for cell in row):
        return "layout"
    if not table.header_rows and not table.header_columns and width > 1:
        return "no header"
    return ""


def with_headers(table: Table, styles: Styles, marked_rows: int) -> Table:
    """Detects headers by the source's marks, then by formatting, then by text.

    Without evidence there is no header."""
    rows, evidence = _header_rows(table.rows, styles, marked_rows)
    columns = _header_columns(table.rows, styles, rows)
    if not rows and columns:
        evidence = "first column"
    return replace(table, header_rows=rows, header_columns=columns, header_evidence=evidence)


def _header_rows(cells: Grid, styles: Styles, marked_rows: int) -> tuple[int, str]:
    height = len(cells)
    if 0 < marked_rows < height:
        return _with_spans(cells, marked_rows), "tableHeader"
    th_rows = _leading(styles)
    if 0 < th_rows < height:
        return _with_spans(cells, th_rows), "th"
    if height < 2 or not cells[0]:
        return 0, ""
    first = int(_is_title(cells))
    if first + 1 >= height:
        return 0, ""
    depth = _with_spans(cells, first + 1, groups=True)
    texts = [[cell.text for cell in row] for row in cells[first : first + 2]]
    in_two_rows = first + 2 < height and fills_gaps(*texts)
    for name, is_distinct in (("bold", _bold), ("shaded", _shaded)):
        if in_two_rows and is_distinct(cells, styles, first, first + 2):
            return first + 2, name
        if is_distinct(cells, styles, first, depth):
            return depth, name
        if is_distinct(cells, styles, first, first + 1):
            return _with_spans(cells, first + 1), name
    if len(cells[0]) > 1 and _short_names(cells, first, depth):
        return depth, "short first row"
    return 0, ""


def fills_gaps(above: Sequence[str], below: Sequence[str]) -> bool:
    """Whether two rows name each column together, as groups of columns and the columns do."""
    pairs = list(zip(above, below, strict=True))
    return not (all(above) or all(below)) and all(map(any, pairs)) and any(map(all, pairs))


def _leading(styles: Styles) -> int:
    """The number of leading rows in which all cells are marked."""
    is_marked = (bool(row) and all(style.header for style in row) for row in styles)
    return sum(1 for _ in takewhile(bool, is_marked))


def _is_title(cells: Grid) -> bool:
    first = cells[0][0]
    return len(cells[0]) > 1 and first.column_span == len(cells[0]) and bool(first.text)


def _with_spans(cells: Grid, rows: int, *, groups: bool = False) -> int:
    """The number of header rows, extended to the end of header cells that span further rows.

    `groups`: also adds a row of names below a cell that spans several, but not all, columns."""
    height = len(cells)
    reach = max(cell.row + cell.row_span for row in cells[:rows] for cell in row)
    if rows < reach < height:
        return reach
    spread = [c for c in cells[rows - 1] if 1 < c.column_span < len(cells[0]) and c.text]
    is_named = rows + 1 < height and all(_is_name(cell.text) for cell in cells[rows])
    return rows + 1 if groups and spread and is_named else rows


def _filled(cells: Grid, styles: Styles, first: int, last: int) -> list[SourceCell]:
    return [
        style
        for row, style_row in zip(cells[first:last], styles[first:last], strict=True)
        for cell, style in zip(row, style_row, strict=True)
        if cell.text
    ]


def _bold(cells: Grid, styles: Styles, first: int, rows: int) -> bool:
    head = _filled(cells, styles, first, rows)
    body = _filled(cells, styles, rows, len(cells))
    return bool(head) and all(s.bold for s in head) and not all(s.bold for s in body)


def _shaded(cells: Grid, styles: Styles, first: int, rows: int) -> bool:
    shades = {style.shade for row in styles[first:rows] for style in row}
    below = {style.shade for style in styles[rows]}
    return bool(_filled(cells, styles, first, rows)) and "" not in shades and not shades & below


def _short_names(cells: Grid, first: int, depth: int) -> bool:
    """Whether the first row has short, distinct names and the rows below differ from names."""
    names = [cell.text for cell in cells[depth - 1]]
    if not all(_is_name(name) for name in names[1:]) or (names[0] and not _is_name(names[0])):
        return False
    labels = ["/".join(row[j].text for row in cells[first:depth]) for j in range(len(names))]
    if len(set(labels)) < len(labels):
        return False
    body = cells[depth:]
    contrast = any(
        _unlike_a_name([row[j].text for row in body], names[j]) for j in range(len(names))
    )
    return contrast or (len(names) > 2 and len(body) > 1)


def _is_name(text: str) -> bool:
    return (
        0 < len(text) <= 40
        and len(text.split()) <= 6
        and not _VALUE.search(text)
        and not text.rstrip().endswith((".", "!", ";"))
    )


def _unlike_a_name(values: Sequence[str], name: str) -> bool:
    filled = [value for value in values if value]
    if not filled:
        return False
    numbers = sum(bool(_VALUE.search(value)) for value in filled)
    length = sum(map(len, filled)) / len(filled)
    return numbers * 2 > len(filled) or length > 2 * len(name) + 10


def _header_columns(cells: Grid, styles: Styles, header_rows: int) -> int:
    """The number of leading columns that name rows: marked, bold, or with distinct labels."""
    body, body_styles = cells[header_rows:], styles[header_rows:]
    width = len(cells[0]) if cells else 0
    if width < 2 or not body:
        return 0
    count = _naming_columns(body, body_styles)
    if count or not header_rows:
        return count
    texts = [[cell.text for cell in row] for row in body]
    return distinct_columns(texts) if all(row[0] for row in texts) else 0


_MAX_LABEL_COLUMNS = 3


def distinct_columns(rows: Texts) -> int:
    """The number of leading columns, at most three, that make every row unique; 0 when none do.

    A column of numbers after the first one holds values, never labels."""
    for columns in range(1, min(_MAX_LABEL_COLUMNS, len(rows[0]) - 1) + 1):
        filled = [row[columns - 1] for row in rows if row[columns - 1].strip()]
        if columns > 1 and 2 * sum(map(is_number, filled)) > len(filled):
            return 0
        if len({tuple(row[:columns]) for row in rows}) == len(rows):
            return columns
    return 0


def _naming_columns(body: Grid, styles: Styles) -> int:
    """The number of leading columns that are marked or bold, unlike the columns to the right."""
    width = len(body[0])
    filled, marked, bold = [0] * width, [0] * width, [0] * width
    for row, row_styles in zip(body, styles, strict=True):
        for column, (cell, style) in enumerate(zip(row, row_styles, strict=True)):
            if cell.text:
                filled[column] += 1
                marked[column] += style.header
                bold[column] += style.bold
    right_filled, right_marked, right_bold = sum(filled), sum(marked), sum(bold)
    for column in range(width - 1):
        right_filled -= filled[column]
        right_marked -= marked[column]
        right_bold -= bold[column]
        by_mark = marked[column] == filled[column] and right_marked < right_filled
        by_bold = bold[column] == filled[column] and right_filled and not right_bold
        if not filled[column] or not (by_mark or by_bold):
            return column
    return width - 1
