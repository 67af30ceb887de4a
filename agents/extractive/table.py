"""A table's columns, labels and values for reading: merged cells, units and footnotes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.words import tokens
from loaders.tables.markdown import markdown_to_table

UNDER = " › "
"""Separator between a column group and a column in a header."""
_MAX_LABEL_CHARS = 80
_EMPTY = frozenset({"", "-", "–", "—", "?", "…", "..."})
_UNIT = re.compile(r"\s*(?:\((?:in )?([^()\d]{1,16})\)|,? in ([a-z%€$£]{1,12}))\s*$")
_BARE_NUMBER = re.compile(r"[<>≤≥~±+-]{0,2}\s?\d[\d.,]*(?:\s?[-–]\s?\d[\d.,]*)?")
_MARK = re.compile(r"\[\^[^\[\]\s]+\]|(?<=\S)(?:\\?\*|[†‡])+(?=\s*$)")
_PLAIN = re.compile(r"[\\*_`]|^\[\^[^\]]+\]:\s*")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One or more neighboring columns with the same cell."""

    header: str
    """Header of all columns that the cell spans: `Maximum age › EU, SG`."""
    cell: str
    """The cell in the first of the rows."""
    positions: tuple[int, ...]


def row_label(table: ChunkTable, row: int) -> str:
    """The row's distinct label cells."""
    cells = table.rows[row][: table.label_columns]
    return " · ".join(dict.fromkeys(flat(cell) for cell in cells if not says_nothing(cell)))


def group_heads(table: ChunkTable) -> list[tuple[int, ...] | None]:
    """Of each row, the rows that head its group, outermost first; None for a row that only heads a
    group: without values, or merged over all of them."""
    heads: list[tuple[int, ...] | None] = []
    path: tuple[int, ...] = ()
    run: tuple[int, ...] = ()
    for row in range(len(table.rows)):
        if _only_heads(table, row):
            run = (*run, row)
            heads.append(None)
            continue
        if run:  # as many levels are replaced as new ones follow each other
            path, run = (*path[: max(0, len(path) - len(run))], *run), ()
        heads.append(path)
    return heads


def _only_heads(table: ChunkTable, row: int) -> bool:
    cells = [flat(cell) for cell in table.rows[row]]
    first = max(1, table.label_columns)
    labels, values = {*cells[:first]}, {*cells[first:]}
    if values == {""}:
        return labels != {""}
    is_merged = len(values) == 1 and len(cells) > first + 1
    is_name = is_merged and not any(map(str.isdigit, *values))
    return is_name and (labels == {""} or labels == values)


def label_path(table: ChunkTable, rows: Sequence[int]) -> str:
    """The texts of rows that head a group, joined by ` › `."""
    texts = (dict.fromkeys(filter(None, map(flat, table.rows[row]))) for row in rows)
    return UNDER.join(" ".join(each) for each in texts)


def header_at(table: ChunkTable, position: int) -> str:
    header = table.header[position] if position < len(table.header) else ""
    return flat(header)


def cell_at(table: ChunkTable, row: int, position: int) -> str:
    cells = table.rows[row]
    return flat(cells[position]) if position < len(cells) else ""


def value_at(table: ChunkTable, row: int, position: int) -> str:
    cell = cell_at(table, row, position)
    return "" if says_nothing(cell) else value_of(cell, header_at(table, position))


def value_in(table: ChunkTable, row: int, column: Column) -> str:
    return value_at(table, row, column.positions[0])


def in_a_line(text: str) -> str:
    """Words in lower case between single spaces, so that `in` finds whole words."""
    return f" {' '.join(token.casefold() for token in tokens(text))} "


def label_in_full(table: ChunkTable, row: int) -> str:
    """The heads of the row's group, and the first line of each label cell, shortened."""
    cells = table.rows[row][: table.label_columns]
    lines = [flat(cell.strip().split("\n")[0]) for cell in cells if not says_nothing(cell)]
    label = " · ".join(
        textwrap.shorten(line, _MAX_LABEL_CHARS, placeholder=" …") for line in dict.fromkeys(lines)
    )
    return UNDER.join(filter(None, (label_path(table, group_heads(table)[row] or ()), label)))


def flat(text: str) -> str:
    return " ".join(text.split())


def says_nothing(cell: str) -> bool:
    """Whether it is a dash or blank; `n/a` is an answer and not empty."""
    return cell.strip() in _EMPTY


def together(headers: Sequence[str]) -> str:
    """Joins headers: `Maximum age › EU, SG` for one group, else each distinct header in full."""
    distinct = list(dict.fromkeys(filter(None, headers)))
    if not distinct:
        return ""
    group, mark, _ = distinct[0].rpartition(UNDER)
    if mark and all(one.startswith(group + mark) for one in distinct):
        return group + mark + ", ".join(one[len(group + mark) :] for one in distinct)
    return ", ".join(distinct)


def value_of(cell: str, header: str) -> str:
    """The cell; a bare number gets the unit of its header: `60` under `Max age (days)`."""
    unit = _UNIT.search(header.split(UNDER)[-1])
    if unit is None or not _BARE_NUMBER.fullmatch(cell):
        return cell
    unit_name = (unit[1] or unit[2]).strip()
    return f"{cell}%" if unit_name == "%" else f"{cell} {unit_name}"


def notes_of(chunk: Chunk, rows: Sequence[int], columns: Sequence[Column]) -> tuple[str, ...]:
    """Texts of the footnotes that these cells or the rows' labels refer to.

    Only the chunk's markdown has the marks and the notes; the plain cells do not."""
    table = chunk.table
    if table is None or not _MARK.search(chunk.text):
        return ()
    try:
        markdown_table = markdown_to_table(chunk.text)
    except ValueError:
        return ()
    body = markdown_table.rows[-len(table.rows) :]
    if len(body) < len(table.rows):
        return ()
    positions = {each for column in columns for each in column.positions}
    positions |= set(range(table.label_columns))
    marks = dict.fromkeys(
        mark.replace("\\", "")
        for row in rows
        for position, cell in enumerate(body[row])
        if position in positions
        for mark in _MARK.findall(cell.markdown)
    )
    lines = [line.strip().replace("\\*", "*") for line in chunk.text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("|")]
    notes = [line for mark in marks for line in lines if _begins(line, mark)]
    return tuple(_PLAIN.sub("", note).strip() for note in notes)


def _begins(line: str, mark: str) -> bool:
    if mark.startswith("["):
        return line.startswith(f"{mark}:")
    return line.startswith(mark) and not line.startswith(f"{mark}*")
