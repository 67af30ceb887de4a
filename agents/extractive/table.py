"""The columns of a table as a reader sees them: merged cells once, with units and footnotes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence, Set
from dataclasses import dataclass

from agents.extractive.relevance import Aspect
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import naming_words, stems, tokens
from loaders.tables.markdown import markdown_to_table

UNDER = " › "
"""Between a group of columns and one of it, in a header."""
_LONGEST_LABEL = 80
_EMPTY = frozenset({"", "-", "–", "—", "?", "…", "..."})
_UNIT = re.compile(r"\s*(?:\((?:in )?([^()\d]{1,16})\)|,? in ([a-z%€$£]{1,12}))\s*$")
_BARE = re.compile(r"[<>≤≥~±+-]{0,2}\s?\d[\d.,]*(?:\s?[-–]\s?\d[\d.,]*)?")
_MARK = re.compile(r"\[\^[^\[\]\s]+\]|(?<=\S)(?:\\?\*|[†‡])+(?=\s*$)")
_PLAIN = re.compile(r"[\\*_`]|^\[\^[^\]]+\]:\s*")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One or more neighbouring columns that hold the same cell."""

    header: str
    """Names every column that the cell spans: `Maximum age › EU, SG`."""
    cell: str
    """Of the first row that is looked at."""
    positions: tuple[int, ...]


def row_label(table: ChunkTable, row: int) -> str:
    """The cells that tell this row apart, once each."""
    cells = table.rows[row][: table.label_columns]
    return " · ".join(dict.fromkeys(flat(cell) for cell in cells if not says_nothing(cell)))


def header_at(table: ChunkTable, position: int) -> str:
    header = table.header[position] if position < len(table.header) else ""
    return flat(header)


def cell_at(table: ChunkTable, row: int, position: int) -> str:
    cells = table.rows[row]
    return flat(cells[position]) if position < len(cells) else ""


def value_at(table: ChunkTable, row: int, position: int) -> str:
    cell = cell_at(table, row, position)
    return "" if says_nothing(cell) else value_of(cell, header_at(table, position))


def said_in(table: ChunkTable, row: int, column: Column) -> str:
    return value_at(table, row, column.positions[0])


def in_a_line(text: str) -> str:
    return f" {' '.join(token.casefold() for token in tokens(text))} "


def names_of(text: str) -> frozenset[str]:
    return frozenset(naming_words(text))


def stems_of(texts: Sequence[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(stems, texts)) if texts else frozenset()


def short_label(table: ChunkTable, row: int) -> str:
    """The first line of each label cell, cut where that is long."""
    cells = table.rows[row][: table.label_columns]
    lines = [flat(cell.strip().split("\n")[0]) for cell in cells if not says_nothing(cell)]
    return " · ".join(
        textwrap.shorten(line, _LONGEST_LABEL, placeholder=" …") for line in dict.fromkeys(lines)
    )


def flat(text: str) -> str:
    return " ".join(text.split())


def says_nothing(cell: str) -> bool:
    """A dash or a blank; `n/a` says that there is nothing to say, which is an answer."""
    return cell.strip() in _EMPTY


def together(headers: Sequence[str]) -> str:
    """`Maximum age › EU, SG` of headers of one group; else each in full, once."""
    named = list(dict.fromkeys(filter(None, headers)))
    if not named:
        return ""
    group, mark, _ = named[0].rpartition(UNDER)
    if mark and all(one.startswith(group + mark) for one in named):
        return group + mark + ", ".join(one[len(group + mark) :] for one in named)
    return ", ".join(named)


def value_of(cell: str, header: str) -> str:
    """A bare number with the unit that its header gives: `60` under `Max age (days)`."""
    unit = _UNIT.search(header.split(UNDER)[-1])
    if unit is None or not _BARE.fullmatch(cell):
        return cell
    named = (unit[1] or unit[2]).strip()
    return f"{cell}%" if named == "%" else f"{cell} {named}"


def notes_of(chunk: Chunk, rows: Sequence[int], columns: Sequence[Column]) -> tuple[str, ...]:
    """Texts of the footnotes that these cells, or the labels of these rows, refer to.

    The marks stand in the chunk's markdown, as do the notes below its table; a plain cell has
    lost them."""
    table = chunk.table
    if table is None or not _MARK.search(chunk.text):
        return ()
    try:
        written = markdown_to_table(chunk.text)
    except ValueError:
        return ()
    body = written.rows[-len(table.rows) :]
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


def named_in_full(words: Set[str], aspect: Aspect) -> bool:
    """Whether the question says each of these words, in one way or another: `in Oslo or Rome`
    names two rows, however rare each is."""
    ways = frozenset(word for each in aspect.same.values() for way in each for word in way)
    return bool(words) and words <= aspect.weights.keys() | ways


def given_in(table: ChunkTable, row: int, position: int, aspect: Aspect) -> frozenset[str]:
    """Words and quantities of the question that a cell says."""
    said = value_at(table, row, position)
    asked = [one for one in quantities(aspect.text) if one.measure or one.written.isdigit()]
    return frozenset(aspect.named_in(stems(said))) | {
        one.written
        for one in asked
        if any(one.agrees(each) and one.measure == each.measure for each in quantities(said))
    }
