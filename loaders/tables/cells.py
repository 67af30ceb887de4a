"""A cell's content as text and markdown: lines, list items, nested tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from loaders.document import Cell, Image, Table
from loaders.text.plain import BULLETS, number


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a cell. With a marker it is a list item."""

    text: str
    markdown: str
    marker: str = ""
    """`-`, or the number as displayed, e.g. `2.` or `b.`."""
    level: int = 0


@dataclass(frozen=True, kw_only=True)
class SourceCell:
    """A cell as in its source, before merges are filled in."""

    text: str = ""
    markdown: str = ""
    tables: tuple[Table, ...] = ()
    images: tuple[Image, ...] = ()
    row_span: int = 1
    column_span: int = 1
    header: bool = False
    bold: bool = False
    """All of its text is bold."""
    shade: str = ""
    """Background color, empty for none."""

    @property
    def empty(self) -> bool:
        return not (self.text or self.markdown or self.tables or self.images)


@dataclass
class CellContent:
    """Collects the content of one cell."""

    lines: list[Line] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    bold: bool = True
    """Whether all lines so far are bold."""

    def nest(self, table: Table) -> None:
        """Adds a table: its words as lines; a frame around one cell hands on what it holds."""
        if sum(map(len, table.rows)) > 1:
            self.tables.append(table)
        else:
            self.tables += table.rows[0][0].tables
            self.images += table.rows[0][0].images
        self.bold = False
        self.lines += flat_table(table)

    def cell(self, **formatting: Any) -> SourceCell:
        return SourceCell(
            text=lines_to_text(self.lines),
            markdown=lines_to_markdown(self.lines),
            tables=tuple(self.tables),
            images=tuple(self.images),
            **formatting,
        )


def lines_to_text(lines: Iterable[Line]) -> str:
    texts = [
        f"{'  ' * line.level}{_sign(line)} {line.text}" if line.marker else line.text
        for line in lines
    ]
    return "\n".join(text for text in texts if text.strip()).strip("\n")


def lines_to_markdown(lines: Iterable[Line]) -> str:
    """One line of markdown: `<br>` between lines, `•` for bullets, `<ol>` for numbered items.

    List numbers are markup, not text, because the author didn't type them."""
    html: list[str] = []
    last: tuple[str, int] | None = None
    for line in lines:
        content = re.sub(r"(?<! ) *\n", "<br>", line.markdown.strip())
        if not content:
            continue
        if _is_number(line.marker):
            kind, value = _kind_and_value(line.marker)
            if last == (kind, value - 1):
                html.pop()  # the closing tag of the list that continues
            else:
                html.append(_list_start(kind, value))
            html += [f"<li>{content}</li>", "</ol>"]
            last = (kind, value)
        else:
            bullet = f"{_sign(line)} " if line.marker else ""
            html.append(("<br>" if html and last is None else "") + bullet + content)
            last = None
    return "".join(html)


def _list_start(kind: str, value: int) -> str:
    type_of_list = "" if kind == "1" else f' type="{kind}"'
    start = "" if value == 1 else f' start="{value}"'
    return f"<ol{type_of_list}{start}>"


def _sign(line: Line) -> str:
    return line.marker if _is_number(line.marker) else BULLETS[min(line.level, 2)]


def _is_number(marker: str) -> bool:
    return any(letter.isalnum() for letter in marker)


@lru_cache(maxsize=1_024)
def _kind_and_value(marker: str) -> tuple[str, int]:
    """`b.` → (a, 2). For `2.1.` the last level counts."""
    last = re.findall(r"\w+", marker)[-1]
    if last.isdecimal():
        return "1", int(last[:9])
    for kind in ("a", "A", "i", "I"):
        for value in range(1, 100):
            if number(value, kind) == last:
                return kind, value
    return "1", 1


def flat_table(table: Table) -> list[Line]:
    """A nested table as lines of its outer cell: `Label: value · value`.

    Each merged value appears once."""
    lines = []
    for i, row in enumerate(table.rows):
        cells = [cell for j, cell in enumerate(row) if (cell.row, cell.column) == (i, j)]
        text = _joined([cell.text.replace("\n", " ") for cell in cells])
        markdown = _joined([cell.markdown for cell in cells])
        if text or markdown:
            lines.append(Line(text=text, markdown=markdown))
    return lines


def _joined(values: Sequence[str]) -> str:
    label, *rest = [value for value in values if value] or [""]
    return f"{label}: {' · '.join(rest)}" if rest else label


def grid_cell(source: SourceCell, row: int, column: int) -> Cell:
    return Cell(
        text=source.text.strip(),
        markdown=source.markdown.strip(),
        row=row,
        column=column,
        row_span=source.row_span,
        column_span=source.column_span,
        tables=source.tables,
        images=source.images,
    )
