"""HTML tables → Google's full grid, where a merge leaves empty placeholder cells behind."""

from __future__ import annotations

from dataclasses import replace

from bs4 import Tag

from playground.google.docs_writer.docs_style import HEADER_SHADE, Json, points
from playground.google.docs_writer.written_blocks import ALIGNMENTS, DocsBlockWriter, Place

Covered = None
"""A position that a merge covers."""


def write_table(writer: DocsBlockWriter, table: Tag, place: Place) -> Json:
    """One `table` element: rows × columns cells, always all of them."""
    rows = [(row, in_head) for row, in_head in _rows(table) if row.find(["td", "th"])]
    grid = _grid([row for row, _ in rows])
    segment, start = writer.segment, writer.segment.index
    segment.advance(1)
    table_rows = [
        _write_row(writer, cells, in_head, place)
        for cells, (_, in_head) in zip(grid, rows, strict=True)
    ]
    segment.advance(1)
    columns = len(grid[0]) if grid else 0
    widths = [{"widthType": "EVENLY_DISTRIBUTED"} for _ in range(columns)]
    return {
        "startIndex": start,
        "endIndex": segment.index,
        "table": {
            "rows": len(grid),
            "columns": columns,
            "tableRows": table_rows,
            "tableStyle": {"tableColumnProperties": widths},
        },
    }


def _rows(table: Tag) -> list[tuple[Tag, bool]]:
    """The table's own rows, and whether each stands in its head."""
    found: list[tuple[Tag, bool]] = []
    for child in table.find_all(["thead", "tbody", "tfoot", "tr"], recursive=False):
        if not isinstance(child, Tag):
            continue
        if child.name == "tr":
            found.append((child, False))
            continue
        inner = child.find_all("tr", recursive=False)
        found.extend((row, child.name == "thead") for row in inner if isinstance(row, Tag))
    return found


def _grid(rows: list[Tag]) -> list[list[tuple[Tag, int, int] | None]]:
    """Cell, row span and column span at each position; None where a merge covers it.

    A span that reaches below the table is cut; a short row is filled with empty cells."""
    taken: dict[tuple[int, int], tuple[Tag, int, int] | None] = {}
    for y, row in enumerate(rows):
        x = 0
        for cell in row.find_all(["td", "th"], recursive=False):
            if not isinstance(cell, Tag):
                continue
            while (y, x) in taken:
                x += 1
            height = min(_span(cell, "rowspan"), len(rows) - y)
            width = _span(cell, "colspan")
            for dy in range(height):
                for dx in range(width):
                    taken[y + dy, x + dx] = Covered
            taken[y, x] = (cell, height, width)
            x += width
    columns = max((x for _, x in taken), default=-1) + 1
    filler = Tag(name="td")
    return [[taken.get((y, x), (filler, 1, 1)) for x in range(columns)] for y in range(len(rows))]


def _span(cell: Tag, name: str) -> int:
    value = cell.get(name)
    return max(1, int(value)) if isinstance(value, str) and value.isdigit() else 1


def _write_row(
    writer: DocsBlockWriter,
    cells: list[tuple[Tag, int, int] | None],
    in_head: bool,
    place: Place,
) -> Json:
    start = writer.segment.index
    writer.segment.advance(1)
    written = [_write_cell(writer, cell, place) for cell in cells]
    style: Json = {"minRowHeight": points()}
    if in_head:
        style["tableHeader"] = True
    return {
        "startIndex": start,
        "endIndex": writer.segment.index,
        "tableCells": written,
        "tableRowStyle": style,
    }


def _write_cell(writer: DocsBlockWriter, cell: tuple[Tag, int, int] | None, place: Place) -> Json:
    start = writer.segment.index
    writer.segment.advance(1)
    node, height, width = cell or (Tag(name="td"), 1, 1)
    is_header = node.name == "th"
    setting = replace(place.setting, style={"bold": True} if is_header else {})
    inner = Place(setting=setting, alignment=_alignment(node), direction=place.direction)
    content = writer.container(node, inner)
    return {
        "startIndex": start,
        "endIndex": writer.segment.index,
        "content": content,
        "tableCellStyle": {
            "rowSpan": height,
            "columnSpan": width,
            "backgroundColor": HEADER_SHADE if is_header else {},
            **{f"padding{side}": points(5) for side in ("Left", "Right", "Top", "Bottom")},
            "contentAlignment": "TOP",
        },
    }


def _alignment(cell: Tag) -> str:
    style = cell.get("style")
    for name, alignment in ALIGNMENTS.items():
        if isinstance(style, str) and f"text-align:{name}" in style.replace(" ", ""):
            return alignment
    return ""
