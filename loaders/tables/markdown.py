"""Converts tables to markdown, and markdown to tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from loaders.document import Cell, Table
from loaders.tables.headers import LEVEL_SEPARATOR, header_levels
from loaders.text.markdown import escape
from loaders.text.plain import plain_text

# This parser is the exact inverse of `table_to_markdown`. A general parser would drop cells beyond
# the header's width, and end a table at the first line that opens another block.
_PIPE = re.compile(r"(?<!\\)\|")
_DELIMITER = re.compile(r"\s*:?-+:?\s*")
_ALL_BOLD = re.compile(r"\*\*((?:[^*]|\*(?!\*))+)\*\*")
_LINE_END = re.compile(r"(?<! ) *(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")


def table_to_markdown(table: Table, *, header_levels_too: bool = False) -> str:
    """A pipe table. Header levels form a path; merged values appear in every position they cover.

    Without header rows the header line is empty. `header_levels_too` also repeats the original rows
    of a header with several levels below the header line."""
    if not table.rows:
        return ""
    header = [_header_markdown(levels) for levels in header_levels(table)]
    repeats_header = header_levels_too and table.header_rows > 1
    body = table.rows if repeats_header else table.rows[table.header_rows :]
    lines = [_line(header), _line(["---"] * len(header))]
    lines += [_line([cell.markdown for cell in row]) for row in body]
    return "\n".join(lines)


def markdown_to_table(text: str) -> Table:
    """Reads the output of `table_to_markdown`, or any pipe table. Ignores text around it.

    Header paths become header rows. Merges are lost, but their values remain. Rows that are longer
    than the header widen the table. Raises ValueError when there is no pipe table."""
    lines = [line.strip() for line in text.split("\n")]
    at = next((i for i in range(1, len(lines)) if _is_delimiter(lines[i], lines[i - 1])), 0)
    if not at:
        raise ValueError("no pipe table: there is no row of dashes under a row of names")
    rows = [_split(line) for line in takewhile(lambda line: "|" in line, lines[at + 1 :])]
    names = _split(lines[at - 1])
    width = max(len(row) for row in [names, *rows])
    levels = _header_rows([*names, *[""] * (width - len(names))])
    grid = levels + [row + [""] * (width - len(row)) for row in rows]
    return Table(
        rows=tuple(
            tuple(
                Cell(text=plain_text(value), markdown=value, row=i, column=j)
                for j, value in enumerate(row)
            )
            for i, row in enumerate(grid)
        ),
        header_rows=len(levels),
        header_evidence="markdown" if levels else "",
    )


def _header_markdown(levels: Sequence[Cell]) -> str:
    """A column's header path, without bold, which means nothing in a header line."""
    lines = []
    for level in levels:
        markdown = level.markdown or escape(level.text)
        bold = _ALL_BOLD.fullmatch(markdown)
        lines.append(bold[1] if bold else markdown)
    return LEVEL_SEPARATOR.join(lines)


def _header_rows(names: Sequence[str]) -> list[list[str]]:
    if not any(names):
        return []
    paths = [name.split(LEVEL_SEPARATOR) for name in names]
    depth = max(len(path) for path in paths)
    return [[path[min(level, len(path) - 1)] for path in paths] for level in range(depth)]


def _line(cells: Sequence[str]) -> str:
    """A table row. Escapes pipes with one backslash, which `_split` removes."""
    return "| " + " | ".join(_LINE_END.sub("<br>", c).replace("|", "\\|") for c in cells) + " |"


def _split(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    parts = _PIPE.split(line)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [part.replace("\\|", "|").strip(" \t") for part in parts]


def _is_delimiter(line: str, above: str) -> bool:
    if "|" not in above or "-" not in line:
        return False
    parts = _PIPE.split(line.removeprefix("|").removesuffix("|"))
    return all(_DELIMITER.fullmatch(part) for part in parts)
