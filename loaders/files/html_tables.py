"""Reads HTML tables: rows, spans, and lists and tables inside cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from bs4 import Tag
from bs4.element import NavigableString, PageElement, PreformattedString

from loaders.document import MAX_NESTING, Image, Table, too_deep
from loaders.files.html_code import code_text
from loaders.files.html_inline import attribute, inline, item_markers, list_level
from loaders.tables.cells import CellContent, Line, SourceCell, flat_table
from loaders.tables.grid import build_table
from loaders.text.markdown import code_span

_BLOCKS_LISTED = """
    address article aside body blockquote center dd details div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td
    tfoot th thead tr ul"""
BLOCKS = frozenset(_BLOCKS_LISTED.split())
_TABLE_PARTS = frozenset(["colgroup", "table", "tbody", "tfoot", "thead", "tr"])
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_CONTENT = [*_HEADINGS, "p", "ul", "ol", "dl", "pre", "blockquote", "table"]
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*([^;]+)", re.IGNORECASE)
_WHITE = frozenset(("", "#fff", "#ffffff", "white", "transparent", "none", "inherit", "initial"))


def read_table(element: Tag, document: str, depth: int = 1) -> tuple[Table, list[str]]:
    """A `<table>` → its rectangular grid and warnings.

    Raises LoadError when a limit is exceeded."""
    if depth > MAX_NESTING:
        raise too_deep(document, "a table", MAX_NESTING, "tables")
    warnings: list[str] = []
    rows = [
        [_source_cell(cell, document, depth, warnings) for cell in cells]
        for cells in rows_of(element)
    ]
    for row in rows:
        if len(row) < 2 or not (row[0].empty and all(cell.header for cell in row[1:])):
            break
        row[0] = replace(row[0], header=True)  # the corner over names of rows
    while len(rows) > 1 and rows[0] and all(c.empty and c.header for c in rows[0]):
        del rows[0]  # the empty header line of a pipe table without header
    table, more = build_table(
        [row for row in rows if row], placeholders=False, document=document, place="a table"
    )
    return table, warnings + more


def rows_of(table: Tag) -> Iterator[list[Tag]]:
    """Yields the cells of the table's own rows, not those of nested tables.

    Forms and boxes may stand between a table and its rows, or a row and its cells."""
    for row in table.find_all("tr"):
        if row.find_parent("table") is table:
            cells = row.find_all(["td", "th"])
            yield [cell for cell in cells if cell.find_parent(["tr", "table"]) is row]


def outside_cells(element: Tag) -> Iterator[PageElement]:
    """Yields what stands in a table and in none of its cells. Browsers show it above the table."""
    for node in element.children:
        if not isinstance(node, Tag):
            if not isinstance(node, PreformattedString) and node.get_text().strip():
                yield node
        elif node.name in ("caption", "td", "th"):
            continue
        elif node.name in _TABLE_PARTS or node.find(["td", "th"]):
            yield from outside_cells(node)
        elif node.get_text().strip() or node.find("img"):
            yield node


def is_layout(table: Tag) -> bool:
    """Whether its cells are places on the page: it says so, or has sections instead of values.

    Rows and columns of a table with marked or bold headers belong together, whatever is in them."""
    if attribute(table, "role") in ("presentation", "none"):
        return True
    rows = [cells for cells in rows_of(table) if cells]
    cells = [cell for row in rows for cell in row]
    if table.find(["caption", "thead"], recursive=False) or any(c.name == "th" for c in cells):
        return False
    if rows and len(rows[0]) > 1 and all(map(_is_bold, rows[0])):
        return False
    is_line = len(rows) == 1 or all(len(row) == 1 for row in rows)
    if not is_line:
        narrow = max(map(len, rows), default=0) <= 2
        headed = narrow and any(cell.find(_HEADINGS) for row in rows[1:] for cell in row)
        return headed or any(map(_is_section, cells))
    parts = [[one for one in cell.find_all(_CONTENT) if _cell_of(one) is cell] for cell in cells]
    names = {one.name for part in parts for one in part}
    if not names.isdisjoint([*_HEADINGS, "table"]):
        return True
    return len(cells) > 1 and (
        not names.isdisjoint(["ul", "ol", "pre", "dl"]) or any(len(part) > 1 for part in parts)
    )


def _is_section(cell: Tag) -> bool:
    """Whether the cell has a heading over other content, or a table among paragraphs."""
    blocks = [one for one in cell.find_all(_CONTENT) if _cell_of(one) is cell]
    headings = sum(len(one.get_text(strip=True)) for one in blocks if one.name in _HEADINGS)
    if headings:
        return len(cell.get_text(strip=True)) > headings
    return len(blocks) > 2 and any(one.name == "table" for one in blocks)


def _cell_of(element: Tag) -> Tag | None:
    return element.find_parent(["td", "th"])


def is_block(node: PageElement) -> bool:
    return isinstance(node, Tag) and (
        node.name in BLOCKS
        or any(isinstance(inner, Tag) and inner.name in BLOCKS for inner in node.descendants)
    )


def images_in(nodes: Iterable[PageElement]) -> list[Tag]:
    """The `<img>` elements, in order."""
    tags = (node for node in nodes if isinstance(node, Tag))
    return [img for tag in tags for img in ([tag] if tag.name == "img" else tag.find_all("img"))]


def to_image(element: Tag) -> Image:
    return Image(
        alt=attribute(element, "alt"),
        title=attribute(element, "title"),
        uri=attribute(element, "src"),
    )


def _source_cell(element: Tag, document: str, depth: int, warnings: list[str]) -> SourceCell:
    content = CellContent()
    _read(element, content, document, depth, warnings)
    row = element.parent
    group = row.parent if row is not None else None
    return content.cell(
        row_span=_span(attribute(element, "rowspan"), 65_534),
        column_span=_span(attribute(element, "colspan") or "1", 1_000),
        header=element.name == "th" or (group is not None and group.name == "thead"),
        bold=_is_bold(element),
        shade=_shade(element),
    )


def read_lines(element: Tag, document: str) -> list[Line]:
    """Paragraphs, list items, lines of code and rows of tables, each as a line.

    Raises LoadError when a limit is exceeded."""
    content = CellContent()
    _read(element, content, document, 1, [])
    return content.lines


def _span(value: str, most: int) -> int:
    """A span attribute → positions. `rowspan="0"` means down to the last row."""
    digits = value.strip()[:9]
    count = int(digits) if digits.isdecimal() else 1
    return min(count, most) if count else most


def _read(
    element: Tag, content: CellContent, document: str, depth: int, warnings: list[str]
) -> None:
    waiting: list[PageElement] = []
    for node in [*element.children, None]:
        if node is not None and not is_block(node):
            if not isinstance(node, PreformattedString):
                waiting.append(node)
            continue
        _flush(waiting, content)
        if isinstance(node, Tag):
            _read_block(node, content, document, depth, warnings)


def _read_block(
    node: Tag, content: CellContent, document: str, depth: int, warnings: list[str]
) -> None:
    if node.name == "table":
        table, more = read_table(node, document, depth + 1)
        warnings += more
        if sum(map(len, table.rows)) > 1:
            content.tables.append(table)
        else:
            content.tables += [nested for row in table.rows for c in row for nested in c.tables]
        content.lines += flat_table(table)
    elif node.name in ("ul", "ol"):
        level = list_level(node)
        for item, marker in item_markers(node):
            inside = CellContent()
            _read(item, inside, document, depth, warnings)
            first, *rest = inside.lines or [Line(text="", markdown="")]
            if first.marker:
                rest, first = inside.lines, Line(text="", markdown="")
            content.lines.append(
                Line(text=first.text, markdown=first.markdown, marker=marker, level=level)
            )
            content.lines += rest
            content.tables += inside.tables
            content.images += inside.images
    elif node.name == "pre":
        for text in code_text(node).split("\n"):
            content.lines.append(Line(text=text, markdown=code_span(text)))
    else:
        _read(node, content, document, depth, warnings)


def _flush(waiting: list[PageElement], content: CellContent) -> None:
    nodes, waiting[:] = list(waiting), []
    if not nodes:
        return
    text, markdown = inline(nodes)
    if text or markdown:
        content.lines.append(Line(text=text, markdown=markdown))
    content.images += map(to_image, images_in(nodes))


def _is_bold(cell: Tag) -> bool:
    texts = [node for node in cell.find_all(string=True) if node.strip()]
    return bool(texts) and all(_in_bold(node, cell) for node in texts)


def _in_bold(node: NavigableString, cell: Tag) -> bool:
    inside = takewhile(lambda parent: parent is not cell, node.parents)
    return any(parent.name in ("b", "strong") for parent in inside)


def _shade(cell: Tag) -> str:
    for element in (cell, cell.parent):
        if element is None:
            continue
        match = _BACKGROUND.search(attribute(element, "style"))
        color = (match[1] if match else attribute(element, "bgcolor")).strip().lower()
        if color not in _WHITE:
            return color
    return ""
