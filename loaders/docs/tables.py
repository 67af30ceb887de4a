"""Google Docs tables → rectangular grids. Cells hold paragraphs, lists, pictures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from loaders.docs.inline import Elements, ListNumbers, Piece, image_markdown
from loaders.docs.node import Node
from loaders.document import MAX_NESTING, Image, Table, check_cells, too_deep
from loaders.tables.cells import CellContent, Line, SourceCell, lines_to_text
from loaders.tables.grid import build_table
from loaders.text.markdown import Span, spans_to_markdown, spans_to_text


@dataclass(frozen=True)
class Tables:
    """Reads the tables of one tab."""

    document: str
    elements: Elements
    numbers: ListNumbers

    def read(self, table: Node, depth: int) -> Table | None:
        """Returns None for a table without cells. Raises LoadError when a limit is exceeded."""
        if depth > MAX_NESTING:
            raise too_deep(self.document, table.place[:80] + "…", MAX_NESTING, "tables")
        rows = list(table.children("tableRows"))
        cells = [list(row.children("tableCells")) for row in rows]
        width = max((len(row) for row in cells), default=0)
        check_cells(self.document, table.place, len(rows) * width)
        _compare(table, "rows", len(rows))
        _compare(table, "columns", width)
        cell_grid = [[self._cell(cell, depth) for cell in row] for row in cells]
        cell_grid, rows = _without_suggested(cell_grid, rows, cells)
        if not any(cell_grid):
            return None
        grid, warnings = build_table(
            cell_grid,
            placeholders=True,
            marked_rows=_marked(rows),
            document=self.document,
            place=table.place,
        )
        for warning in warnings:
            table.warn(f"{table.place}: {warning}")
        return grid

    def content(self, holder: Node, depth: int = 0) -> tuple[str, str]:
        """(text, markdown) of paragraphs outside the body, such as a footnote's."""
        content = self._read(holder, depth)
        return (
            lines_to_text(content.lines),
            "\n".join(line.markdown.strip() for line in content.lines if line.markdown.strip()),
        )

    def _cell(self, cell: Node, depth: int) -> SourceCell:
        content = self._read(cell, depth)
        style = cell.child("tableCellStyle")
        return content.cell(
            row_span=_span(style, "rowSpan"),
            column_span=_span(style, "columnSpan"),
            bold=content.bold and bool(content.lines),
            shade=_shade(style),
        )

    def _read(self, holder: Node, depth: int) -> CellContent:
        content = CellContent()
        for element in holder.children("content"):
            paragraph = element.child("paragraph")
            table = element.child("table")
            if paragraph is not None:
                self._paragraph(paragraph, content)
            elif table is not None:
                self._nested(table, content, depth)
            elif not (element.has("tableOfContents") or element.has("sectionBreak")):
                element.skipped("an unknown element")
        return content

    def _paragraph(self, paragraph: Node, content: CellContent) -> None:
        pieces = self.elements.pieces(paragraph)
        bullet = paragraph.child("bullet")
        marker, level = self.numbers.next(bullet) if bullet else ("", 0)
        content.images += [piece for piece in pieces if isinstance(piece, Image)]
        spans = [span for piece in pieces if (span := _as_span(piece)) is not None]
        content.bold &= all(span.bold for span in spans if span.text.strip())
        text, markdown = spans_to_text(spans).strip(), spans_to_markdown(spans).strip()
        if text or markdown:
            content.lines.append(Line(text=text, markdown=markdown, marker=marker, level=level))

    def _nested(self, table: Node, content: CellContent, depth: int) -> None:
        if (nested := self.read(table, depth + 1)) is not None:
            content.nest(nested)


def _as_span(piece: Piece) -> Span | None:
    if isinstance(piece, Image):
        name = " ".join((piece.alt or piece.title).split())
        return Span(text=name, markdown=image_markdown(piece))
    return piece if isinstance(piece, Span) else None


def _compare(table: Node, name: str, count: int) -> None:
    stated = table.number(name, count)
    if stated != count:
        table.warn(f"{table.place}: it says {stated} {name}, but {count} are there")


def _span(style: Node | None, name: str) -> int:
    return max(style.number(name, 1), 1) if style else 1


def _shade(style: Node | None) -> str:
    color = style.at("backgroundColor", "color", "rgbColor") if style else None
    if color is None:
        return ""
    parts = [color.value.get(name) or 0 for name in ("red", "green", "blue")]
    return "" if parts == [1, 1, 1] else "/".join(str(part)[:6] for part in parts)


def _marked(rows: list[Node]) -> int:
    """The number of leading rows that are marked as headers."""
    is_header = (row.section("tableRowStyle").flag("tableHeader") for row in rows)
    return sum(1 for _ in takewhile(bool, is_header))


def _without_suggested(
    grid: list[list[SourceCell]], rows: list[Node], cells: list[list[Node]]
) -> tuple[list[list[SourceCell]], list[Node]]:
    """Drops rows and columns that are only suggested.

    Docs marks suggested text run by run. Text that remains in such a row or column is accepted,
    so the row or column stays."""
    row_numbers = [
        i for i, row in enumerate(rows) if not (row.suggested() and all(c.empty for c in grid[i]))
    ]
    width = max((len(row) for row in grid), default=0)

    def only_suggested(column: int) -> bool:
        return all(
            column < len(grid[i]) and cells[i][column].suggested() and grid[i][column].empty
            for i in row_numbers
        )

    dropped = {column for column in range(width) if row_numbers and only_suggested(column)}
    return (
        [[cell for j, cell in enumerate(grid[i]) if j not in dropped] for i in row_numbers],
        [rows[i] for i in row_numbers],
    )
