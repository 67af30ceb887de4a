"""Tables of a Word file → rectangular grids. Cells hold paragraphs, lists, pictures and tables."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from loaders.document import MAX_NESTING, Table, too_deep
from loaders.tables.cells import CellContent, Line, SourceCell, lines_to_text
from loaders.tables.grid import build_table
from loaders.text.markdown import Span, spans_to_markdown, spans_to_text
from loaders.word.drawings import Box, picture_markdown
from loaders.word.inline import Inline
from loaders.word.package import Element, W, child, is_on, number, value
from loaders.word.paragraphs import Paragraph, Paragraphs, blocks

_WHITE = ("", "auto", "FFFFFF", "ffffff")
_FIRST_ROW = 0x20
"""The bit of `w:tblLook`."""
_SPACES = re.compile(r"[ \t]+")
_LINE_END = re.compile(r"[ \t]*\n[ \t]*")


@dataclass
class _Origin:
    """A cell and the size of its merge."""

    cell: Element | None
    """None for columns that a row leaves out at its beginning."""
    column: int
    width: int
    row: int = 0
    height: int = 1
    is_merged: bool = False
    """Whether cells below may continue it."""


@dataclass
class Tables:
    """Reads tables, and whatever else becomes lines of text."""

    document: str
    paragraphs: Paragraphs

    def read(self, table: Element, inline: Inline, depth: int = 1) -> Table | None:
        """None for a table without cells. Raises LoadError when a limit is exceeded."""
        if depth > MAX_NESTING:
            raise too_deep(self.document, "a table", MAX_NESTING, "tables")
        rows = [row for row in within(table, "tr") if not _is_left_out(row)]
        placed = _place([_cells(row) for row in rows])
        if not any(placed):
            return None
        cells = [[self._cell(one, inline, depth) for one in row] for row in placed]
        if placed and self._first_row_stands_out(table):
            cells[0] = [replace(cell, bold=True) for cell in cells[0]]
        is_header = (is_on(child(row, "trPr/tblHeader")) for row in rows)
        grid, warnings = build_table(
            cells,
            placeholders=False,
            marked_rows=sum(1 for _ in takewhile(bool, is_header)),
            document=self.document,
            place="a table",
        )
        for warning in warnings:
            inline.drawings.warn(f"a table: {warning}")
        return grid

    def content(self, holder: Element, inline: Inline, depth: int = 0) -> CellContent:
        content = CellContent()
        for block in blocks(holder):
            if block.tag == f"{W}tbl":
                self._nested(block, inline, content, depth)
            elif block.tag == f"{W}p":
                paragraph = self.paragraphs.read(block, inline)
                if paragraph:
                    self._paragraph(paragraph, inline, content, depth)
            else:
                inline.drawings.warn("an embedded document was not read")
        return content

    def text(self, holder: Element, inline: Inline) -> tuple[str, str]:
        """(text, markdown) of a note, a header or a footer."""
        lines = self.content(holder, inline).lines
        return lines_to_text(lines), "\n".join(line.markdown for line in lines if line.markdown)

    def _cell(self, origin: _Origin, inline: Inline, depth: int) -> SourceCell:
        if origin.cell is None:
            return SourceCell(column_span=origin.width)
        content = self.content(origin.cell, inline, depth)
        shade = child(origin.cell, "tcPr/shd")
        fill = "" if shade is None else shade.get(f"{W}fill", "")
        return content.cell(
            row_span=origin.height,
            column_span=origin.width,
            bold=content.bold and bool(content.lines),
            shade="" if fill in _WHITE else fill,
        )

    def _paragraph(
        self, paragraph: Paragraph, inline: Inline, content: CellContent, depth: int
    ) -> None:
        content.images += paragraph.images
        pictures = [Span(text=one.alt, markdown=picture_markdown(one)) for one in paragraph.images]
        spans = [*paragraph.spans, *pictures]
        content.bold &= all(span.bold for span in spans if span.text.strip())
        text, markdown = tidy(spans_to_text(spans)), tidy(spans_to_markdown(spans))
        if text or markdown:
            content.lines.append(
                Line(text=text, markdown=markdown, marker=paragraph.marker, level=paragraph.depth)
            )
        for one in paragraph.floating:
            if isinstance(one, Box):
                inside = self.content(one.content, inline, depth + 1)
                content.lines += inside.lines
                content.tables += inside.tables
                content.images += inside.images
            else:
                content.lines += [Line(text=text, markdown=text) for text in one.texts]

    def _nested(self, table: Element, inline: Inline, content: CellContent, depth: int) -> None:
        if (nested := self.read(table, inline, depth + 1)) is not None:
            content.nest(nested)

    def _first_row_stands_out(self, table: Element) -> bool:
        look = child(table, "tblPr/tblLook")
        if look is None:
            return False
        bits = look.get(f"{W}val", "0")
        stated = look.get(f"{W}firstRow") in ("1", "true", "on")
        by_bit = bool(re.fullmatch(r"[0-9A-Fa-f]{1,8}", bits) and int(bits, 16) & _FIRST_ROW)
        return (stated or by_bit) and self.paragraphs.styles.first_row(
            value(table, "tblPr/tblStyle")
        )


def tidy(text: str) -> str:
    """Single spaces, and no space around line breaks."""
    return _LINE_END.sub("\n", _SPACES.sub(" ", text)).strip()


def within(holder: Element, name: str) -> Iterator[Element]:
    """Rows or cells, also inside content controls and insertions."""
    for one in holder:
        if one.tag == W + name:
            yield one
        elif one.tag not in (f"{W}del", f"{W}moveFrom", f"{W}tblPr", f"{W}trPr"):
            yield from () if one.tag in (f"{W}tr", f"{W}tc", f"{W}p") else within(one, name)


def _is_left_out(row: Element) -> bool:
    properties = child(row, "trPr")
    return child(properties, "del") is not None or is_on(child(properties, "hidden"))


def _cells(row: Element) -> list[tuple[_Origin, bool]]:
    """(cell, whether it continues the one above), at columns of the table's grid."""
    at = max(number(value(row, "trPr/gridBefore")), 0)
    cells: list[tuple[_Origin, bool]] = []
    for cell in within(row, "tc"):
        properties = child(cell, "tcPr")
        if child(properties, "cellDel") is not None:
            continue
        width = max(number(value(properties, "gridSpan"), 1), 1)
        right, down = child(properties, "hMerge"), child(properties, "vMerge")
        if right is not None and right.get(f"{W}val") != "restart" and cells:
            cells[-1][0].width += width
        else:
            continues = down is not None and down.get(f"{W}val") != "restart"
            cells.append((_Origin(cell, at, width, is_merged=down is not None), continues))
        at += width
    return cells


def _place(rows: list[list[tuple[_Origin, bool]]]) -> list[list[_Origin]]:
    """Cells with the size of their merges, in columns in which some cell begins.

    Word's grid has a column for each edge of any cell."""
    edges = sorted({one.column for row in rows for one, _ in row})
    placed: list[list[_Origin]] = []
    above: dict[int, _Origin] = {}
    for at, row in enumerate(rows):
        own: list[_Origin] = []
        if row and (gap := bisect_left(edges, row[0][0].column)):
            own.append(_Origin(None, 0, gap))
        for one, continues in row:
            start, end = bisect_left(edges, one.column), bisect_left(edges, one.column + one.width)
            origin = above.get(start) if continues else None
            if origin is not None and origin.width == end - start:
                origin.height = at - origin.row + 1
            else:
                origin = replace(one, row=at, column=start, width=end - start)
                own.append(origin)
                for column in range(start, end):
                    above.pop(column, None)
                if origin.is_merged:
                    above[start] = origin
        placed.append(own)
    return placed
