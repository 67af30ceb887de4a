"""Plain text and CSV → Document."""

from __future__ import annotations

import csv
import io
import re
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import Document, check_cells
from loaders.tables.cells import SourceCell
from loaders.tables.grid import build_table
from loaders.tables.headers import outline
from loaders.text.markdown import clean, escape

_SNIFFED = 2_000
"""Characters of a CSV file used to detect its delimiter. The sniffer takes quadratic time."""
_MARKER = r"(?:[-*+•◦▪‣]|\d{1,9}[.)])"
_ITEM = re.compile(rf"({_MARKER})\s+(?=\S)")
_NEXT_ITEM = re.compile(rf"\n(?=[ \t]*{_MARKER}\s+\S)")


def parse_text(text: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Blank lines end paragraphs. Lines that begin with a bullet or number are list items."""
    writer = BlockWriter(url=url)
    for paragraph in re.split(r"\n\s*\n", clean(text)):
        write_lines(writer, paragraph)
    metadata.setdefault("mime_type", "text/plain")
    return make_document(writer, url=url, **metadata)


def write_lines(writer: BlockWriter, paragraph: str) -> None:
    """Writes lines of text as paragraphs and list items."""
    for part in _NEXT_ITEM.split(paragraph):
        lines = "\n".join(line.strip() for line in part.split("\n") if line.strip())
        item = _ITEM.match(lines)
        if item:
            marker = item[1] if item[1][0].isdigit() else "-"
            indent = len(part) - len(part.lstrip(" \t"))
            rest = lines[item.end() :]
            writer.add("list_item", rest, escape(rest), marker=marker, level=min(indent // 2, 8))
        elif lines:
            writer.add("paragraph", lines, escape(lines))


def parse_csv(text: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Reads CSV as one table. The first row is the header. Raises LoadError.

    A file with a single cell becomes a paragraph."""
    name = metadata.get("id") or "CSV file"
    rows = _rows(text, name)
    writer = BlockWriter(url=url)
    width = max((len(row) for row in rows), default=0)
    check_cells(name, "the table", len(rows) * width)
    if uneven := sum(len(row) != width for row in rows):
        writer.warn(f"{uneven} of {len(rows)} rows are shorter than the longest: filled up")
    cells = [
        [_cell(value, is_header=not i) for value in row + [""] * (width - len(row))]
        for i, row in enumerate(rows)
    ]
    if len(cells) * width > 1:
        table, warnings = build_table(cells, placeholders=False, document=name)
        for warning in warnings:
            writer.warn(warning)
        writer.add("table", outline(table), "", table=table)
    elif cells and width:
        writer.add("paragraph", cells[0][0].text, cells[0][0].markdown)
    metadata.setdefault("mime_type", "text/csv")
    return make_document(writer, url=url, **metadata)


def _rows(text: str, name: str) -> list[list[str]]:
    text = text.replace("\0", "\ufffd")
    try:
        delimiter = csv.Sniffer().sniff(text[:_SNIFFED], delimiters=",;\t|").delimiter
    except csv.Error:
        delimiter = ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [row for row in reader if any(value.strip() for value in row)]
    except csv.Error as error:
        raise LoadError(name, f"not CSV: {error}", place=f"line {reader.line_num}") from error


def _cell(value: str, *, is_header: bool) -> SourceCell:
    text = "\n".join(line.strip() for line in clean(value).strip().split("\n"))
    return SourceCell(text=text, markdown=escape(text).replace("\n", "<br>"), header=is_header)
