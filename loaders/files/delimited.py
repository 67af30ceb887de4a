"""CSV and its kin → Document. The separator is found by reading: the right one gives rows of one
width."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import dropwhile, groupby, product
from typing import Any, Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import Document, check_cells
from loaders.tables.cells import SourceCell
from loaders.tables.evidence import names_columns
from loaders.tables.regions import write_sheet
from loaders.text.markdown import clean, escape

_SAMPLE = 20_000
"""Characters from which the dialect is found."""
_DELIMITERS = ",;\t|^~"
"""The first of two that read equally well is taken."""
_NONE = "\x1f"
"""Separates nothing: a file of one column, whose sentences have commas."""
_LEFT = re.compile(r"[;\t|](?! )|(?<!\d),(?! )|,(?![ \d])")
"""A separator inside a cell. Sentences have a space behind it, numbers a digit on both sides."""
_STATED = re.compile(r'"?sep=(?P<delimiter>.)"?[ \t;,]*\r?\n', re.IGNORECASE)
"""First line that Excel writes and obeys."""
_COMMENT = "#"
_END = "\x1e"
"""A last line that is no row of its own where a quote is open."""


def parse_csv(text: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError. Blank lines separate tables; lines above a header become paragraphs.

    A first row is a header unless the values below it tell otherwise."""
    name = metadata.get("id") or "CSV file"
    writer = BlockWriter(url=url)
    stated = _STATED.match(text)
    text = text[stated.end() :] if stated else text
    dialect = {"delimiter": stated["delimiter"]} if stated else _dialect(text)
    rows, warning = _rows(text, dialect, name)
    if warning:
        writer.warn(warning)
    rows, comments = _without_comments(rows, str(dialect["delimiter"]))
    for comment in comments:
        writer.add("paragraph", comment, escape(comment))
    _write(writer, rows, name)
    metadata.setdefault("mime_type", "text/csv")
    return make_document(writer, url=url, **metadata)


def _dialect(text: str) -> dict[str, Any]:
    """What separates, quotes and escapes: of all that may, what makes most rows as wide as their
    neighbors.

    csv.Sniffer counts letters instead and takes the comma of a title for the separator;
    docs/decisions/144-workbooks-and-slides.md compares it and others."""
    end = text.rfind("\n", 0, _SAMPLE) if len(text) > _SAMPLE else len(text)
    sample = text[: end if end > 0 else _SAMPLE].replace("\0", "")
    escapes = [None, "\\"] if '\\"' in sample else [None]
    spaces = [False, True] if re.search(r"""[,;\t|^~] +["']""", sample) else [False]
    quotes = ['"', "'"] if "'" in sample and '"' not in sample else ['"']
    dialects = [
        {"delimiter": delimiter, "escapechar": mark, "quotechar": quote, "skipinitialspace": skip}
        for delimiter, mark, quote, skip in product(_DELIMITERS, escapes, quotes, spaces)
    ]
    best = max(dialects, key=lambda dialect: _evenness(sample, dialect))
    even, _, several, _ = _evenness(sample, best)
    is_prose = even <= 0 and several * 2 < sample.count("\n")
    return best | {"delimiter": _NONE} if is_prose else best


def _evenness(sample: str, dialect: dict[str, Any]) -> tuple[int, int, int, bool]:
    """Rows that are as wide as one beside them, less quotes left inside cells; separators left
    inside cells, which count against a dialect; rows of several cells; whether a separator follows
    each closing quote."""
    try:
        rows = [row for row in csv.reader(io.StringIO(sample, newline=""), **dialect) if row]
    except csv.Error:
        return -len(sample), 0, 0, False
    runs = [(width, len(list(run))) for width, run in groupby(map(len, rows))]
    even = sum(count for width, count in runs if width > 1 and count > 1)
    several = sum(count for width, count in runs if width > 1)
    quotes = sum(dialect["quotechar"] in cell for row in rows for cell in row)
    left = sum(len(_LEFT.findall(cell)) for row in rows for cell in row)
    return even - quotes, -left, several, _is_strict(sample, dialect)


def _is_strict(sample: str, dialect: dict[str, Any]) -> bool:
    try:
        return all(
            True for _ in csv.reader(io.StringIO(sample, newline=""), strict=True, **dialect)
        )
    except csv.Error:
        return False


def _rows(text: str, dialect: dict[str, Any], name: str) -> tuple[list[list[str]], str]:
    """The rows, and a warning about a quote that is never closed."""
    text = text.replace("\0", "\ufffd") + f"\n{_END}"
    reader = csv.reader(io.StringIO(text, newline=""), **dialect)
    rows, line = list[list[str]](), 0
    try:
        for row in reader:
            start, line = line + 1, reader.line_num
            rows.append(row)
    except csv.Error as error:
        raise LoadError(name, f"not CSV: {error}", place=f"line {reader.line_num}") from error
    last = rows.pop()
    if last == [_END]:
        return rows, ""
    last[-1] = last[-1].removesuffix(_END)
    return [*rows, last], f"a quote in line {start} is never closed: all that follows is one cell"


def _without_comments(rows: list[list[str]], delimiter: str) -> tuple[list[list[str]], list[str]]:
    """The rows, and the text of comments above them. A header may begin with `#`, too."""
    start = next((i for i, row in enumerate(rows) if row and not row[0].startswith(_COMMENT)), 0)
    width = len(rows[start]) if rows else 0
    if start and len(rows[start - 1]) == width > 1:
        same = [row for row in rows[start:] if len(row) == width]
        if names_columns([rows[start - 1], *same]) > names_columns(same):
            start -= 1
    texts = [delimiter.join(row).lstrip(_COMMENT).strip() for row in rows[:start]]
    return rows[start:], [text for text in texts if text]


def _write(writer: BlockWriter, rows: Sequence[Sequence[str]], name: str) -> None:
    width = max(map(len, rows), default=0)
    check_cells(name, "the table", len(rows) * width)
    for is_filled, band in groupby(rows, key=lambda row: any(cell.strip() for cell in row)):
        widths = [
            len(row) for row in dropwhile(lambda row: len(row) < 2, band if is_filled else ())
        ]
        longest = max(widths, default=0)
        if short := sum(each < longest for each in widths):
            writer.warn(f"{short} of {len(widths)} rows are shorter than the longest: filled up")
    grid = [[_cell(value) for value in [*row, *[""] * (width - len(row))]] for row in rows]
    write_sheet(writer, grid, document=name, has_names=True)


def _cell(value: str) -> SourceCell:
    text = "\n".join(line.strip() for line in clean(value).strip().split("\n"))
    return SourceCell(text=text, markdown=escape(text).replace("\n", "<br>"))
