"""One sheet of a workbook → its visible cells as a grid.

It is read piece by piece, so that a million rows, or a million without content, take no memory."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import IO

from loaders.document import MAX_CELLS, MAX_CHARACTERS
from loaders.office.package import Element
from loaders.sheets.cells import (
    Strings,
    Style,
    Styles,
    Text,
    local,
    plain_text,
    read_text,
    relation_id,
    show_value,
    stream,
)
from loaders.tables.cells import SourceCell
from loaders.text.markdown import destination

MAX_TEXT = MAX_CHARACTERS // 2
"""Characters in all sheets together. A table holds them twice, as text and as Markdown."""
MAX_WORKBOOK_CELLS = 2 * MAX_CELLS
"""Positions in all sheets together."""
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})", re.IGNORECASE)
_LINK = re.compile(r'^\s*HYPERLINK\(\s*"([^"]+)"', re.IGNORECASE)
_EMPTY = SourceCell()
_NAMES = (
    "dimension",
    "col",
    "row",
    "mergeCell",
    "hyperlink",
    "autoFilter",
    "tablePart",
    "drawing",
)
Box = tuple[int, int, int, int]
"""First row, first column, last row, last column, from 1."""


@dataclass
class Budget:
    """What the sheets of a workbook may still take."""

    characters: int = field(default_factory=lambda: MAX_TEXT)
    cells: int = MAX_WORKBOOK_CELLS

    @property
    def is_spent(self) -> bool:
        return self.cells <= 0 or self.characters <= 0


@dataclass
class SheetContent:
    cells: dict[int, dict[int, SourceCell]] = field(default_factory=dict)
    """Row → column → cell with content."""
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[range] = field(default_factory=list)
    merges: list[Box] = field(default_factory=list)
    headers: list[Box] = field(default_factory=list)
    """Rows that the file itself marks as names."""
    tables: list[str] = field(default_factory=list)
    """Ids of the parts that describe its tables."""
    without_value: list[str] = field(default_factory=list)
    """Formulas that were never worked out."""
    lost_texts: int = 0
    drawing: str = ""
    last_row: int = 0
    """As the file states it."""
    cut_at: int = 0
    """The first row that was not read; 0 when all were."""

    @property
    def columns(self) -> set[int]:
        """Those with content, also hidden ones."""
        return {column for cells in self.cells.values() for column in cells}

    def text_at(self, reference: str) -> str:
        row, column = position(reference) or (0, 0)
        return self.cells.get(row, {}).get(column, _EMPTY).text


def position(reference: str) -> tuple[int, int] | None:
    """`B4` → row 4, column 2."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


def box(reference: str) -> Box | None:
    """`A1:C3` → rows and columns."""
    first, _, last = reference.partition(":")
    start, end = position(first), position(last or first)
    return (*start, *end) if start and end else None


@dataclass
class SheetReader:
    strings: Strings
    styles: Styles
    budget: Budget

    def read(self, source: IO[bytes], links: dict[str, str]) -> SheetContent:
        """`links`: id of a relationship → address. Raises XMLSyntaxError."""
        content = SheetContent()
        columns: set[int] = set()
        number = 0
        for element in stream(source, *_NAMES):
            name = local(element)
            if name != "row":
                self._read_other(element, name, content, links)
                continue
            stated = element.get("r", "")
            number = int(stated) if stated.isdecimal() else number + 1
            if element.get("hidden") in ("1", "true"):
                content.hidden_rows.add(number)
            if cells := self._cells(element, content):
                columns.update(cells)
                content.cells[number] = cells
            if self._is_full(len(content.cells) * len(columns)):
                content.cut_at = number + 1
                break
        self.budget.cells -= len(content.cells) * len(columns)
        return content

    def _cells(self, row: Element, content: SheetContent) -> dict[int, SourceCell]:
        cells: dict[int, SourceCell] = {}
        column = 0
        for element in row:
            reference = element.get("r")
            if len(element) or not reference:  # most of an empty sheet's cells are empty
                at = position(reference or "")
                column = at[1] if at else column + 1
                cell = self._cell(element, column, content)
                if cell is not None:
                    cells[column] = cell
        return cells

    def _is_full(self, cells: int) -> bool:
        return cells > min(MAX_CELLS, self.budget.cells) or self.budget.characters < 0

    def _cell(self, element: Element, column: int, content: SheetContent) -> SourceCell | None:
        style = self.styles[element.get("s", "")]
        kind = element.get("t", "n")
        value = formula = None
        for part in element:
            name = local(part)
            if name == "v":
                value = part.text
            elif name == "is":
                value = read_text(part)
            elif name == "f":
                formula = part.text or ""
        if value is None or value == "":
            if formula is not None and kind != "str":
                content.without_value.append(element.get("r") or f"column {column}")
            return None
        if kind == "s":
            text = self.strings[str(value)]
            content.lost_texts += text is None
        elif isinstance(value, Text):
            text = value
        else:
            value = show_value(kind, value, style, since_1904=self.styles.since_1904)
            text = plain_text(value)
        if text is None or not text.text:
            return None
        self.budget.characters -= len(text.text)
        link = _LINK.match(formula or "")
        return _linked(_source(text, style), link[1] if link else "")

    def _read_other(
        self, element: Element, name: str, content: SheetContent, links: dict[str, str]
    ) -> None:
        reference = element.get("ref", "")
        area = box(reference) if reference else None
        if name == "dimension" and area:
            content.last_row = area[2]
        elif name == "col" and element.get("hidden") in ("1", "true"):
            first, last = element.get("min", ""), element.get("max", "")
            if first.isdecimal() and last.isdecimal():
                content.hidden_columns.append(range(int(first), int(last) + 1))
        elif name == "mergeCell" and area and len(content.merges) < MAX_CELLS:
            content.merges.append(area)
        elif name == "hyperlink" and area:
            target = links.get(relation_id(element), "")
            row = content.cells.get(area[0], {})
            if target and area[1] in row:
                row[area[1]] = _linked(row[area[1]], target)
        elif name == "autoFilter" and area:
            content.headers.append((area[0], area[1], area[0], area[3]))
        elif name == "tablePart":
            content.tables.append(relation_id(element))
        elif name == "drawing":
            content.drawing = relation_id(element)


def table_header(root: Element) -> Box | None:
    """The row of names of a table's part."""
    area = box(root.get("ref", ""))
    return (
        (area[0], area[1], area[0], area[3]) if area and root.get("headerRowCount") != "0" else None
    )


def to_grid(content: SheetContent) -> tuple[list[list[SourceCell]], list[str]]:
    """The visible cells. Of several blank rows or columns one is left. Also: what is left out."""
    rows, columns = _used(content)
    limit = MAX_CELLS // max(len(columns), 1)
    if len(rows) > limit:
        content.cut_at = content.cut_at or rows[limit]
        rows = rows[:limit]
    row_at = {row: i for i, row in enumerate(_with_gaps(rows, content.cells))}
    column_at = {column: i for i, column in enumerate(_with_gaps(columns, content.columns))}
    height, width = max(row_at.values(), default=-1) + 1, max(column_at.values(), default=-1) + 1
    grid = [[_EMPTY] * width for _ in range(height)]
    for row, cells in content.cells.items():
        for column, cell in cells.items():
            if row in row_at and column in column_at:
                grid[row_at[row]][column_at[column]] = cell
    for merge in content.merges:
        _merge(grid, merge, content, (rows, columns), (row_at, column_at))
    for first, left, _, right in content.headers:
        for column in columns[bisect_left(columns, left) : bisect_right(columns, right)]:
            if first in row_at:
                line = grid[row_at[first]]
                line[column_at[column]] = replace(line[column_at[column]], header=True)
    return grid, _left_out(content)


def _used(content: SheetContent) -> tuple[list[int], list[int]]:
    """Rows and columns that are visible and have content, or a part of a merged cell that has."""
    rows = set(content.cells)
    columns = content.columns
    last_row, last_column = max(rows, default=0), max(columns, default=0)
    for top, left, bottom, right in content.merges:
        if left in content.cells.get(top, {}):
            rows.update(range(top, min(bottom, last_row) + 1))
            columns.update(range(left, min(right, last_column) + 1))
    hidden = [each for each in content.hidden_columns if each.start <= last_column]
    visible = (column for column in columns if not any(column in each for each in hidden))
    return sorted(rows - content.hidden_rows), sorted(visible)


def _with_gaps(used: Sequence[int], filled: Container[int]) -> Iterable[int]:
    """The numbers, with another one, which is no row or column, where blank ones are missing.
    Hidden ones with content separate nothing: a filter hides rows inside of a table."""
    before = None
    for number in used:
        if before is not None and any(each not in filled for each in range(before + 1, number)):
            yield -number
        yield number
        before = number


def _merge(
    grid: list[list[SourceCell]],
    merge: Box,
    content: SheetContent,
    used: tuple[list[int], list[int]],
    places: tuple[dict[int, int], dict[int, int]],
) -> None:
    """Only the first cell of a merge is seen, also when its own row or column is hidden."""
    top, left, bottom, right = merge
    source = content.cells.get(top, {}).get(left)
    rows = used[0][bisect_left(used[0], top) : bisect_right(used[0], bottom)]
    columns = used[1][bisect_left(used[1], left) : bisect_right(used[1], right)]
    if source is None or not rows or not columns:
        return
    i, j = places[0][rows[0]], places[1][columns[0]]
    height, width = places[0][rows[-1]] - i + 1, places[1][columns[-1]] - j + 1
    for line in grid[i : i + height]:
        line[j : j + width] = [_EMPTY] * width
    grid[i][j] = replace(source, row_span=height, column_span=width)


def count_of(count: int, noun: str) -> str:
    """`1 hidden row is`, `2 hidden rows are`."""
    word, _, rest = noun.partition(" without")
    rest = f" without{rest}" if rest else ""
    return f"1 {word}{rest} is" if count == 1 else f"{count:,} {word}s{rest} are"


def _left_out(content: SheetContent) -> list[str]:
    """What a reader of the sheet should know, for its warnings."""
    lines = []
    hidden = len(content.hidden_rows & content.cells.keys())
    if hidden:
        lines.append(f"{count_of(hidden, 'hidden row')} left out")
    hidden = sum(any(c in each for each in content.hidden_columns) for c in content.columns)
    if hidden:
        lines.append(f"{count_of(hidden, 'hidden column')} left out")
    if content.without_value:
        formulas = count_of(len(content.without_value), "formula without a stored value")
        lines.append(f"{formulas} left empty, the first in {content.without_value[0]}")
    if content.lost_texts:
        lines.append(f"the texts of {content.lost_texts} cells are missing or beyond the limit")
    if content.cut_at:
        last = f" to {content.last_row:,}" if content.last_row > content.cut_at else " on"
        lines.append(f"the rows from {content.cut_at:,}{last} are left out: the sheet is too big")
    return lines


def _source(text: Text, style: Style) -> SourceCell:
    markdown = text.markdown
    if style.strike and "~~" not in markdown:
        markdown = f"~~{markdown}~~"
    return SourceCell(text=text.text, markdown=markdown, bold=style.bold, shade=style.shade)


def _linked(cell: SourceCell, target: str) -> SourceCell:
    if not target or "](" in cell.markdown:
        return cell
    return replace(cell, markdown=f"[{cell.markdown}]({destination(target)})")
