"""A table row in words: the cells that were asked for, each with its header path and row label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.extractive.relevance import Aspect
from agents.extractive.table_columns import Column, flat, row_label, says_nothing
from enrichment.chunk import ChunkTable
from enrichment.language.words import stems

LONGEST_ROW = 320
"""Characters of one row in an answer; a longer one is cut to the columns asked for."""
COLUMNS = 4
"""Of a small table, beside those that tell its rows apart: more is not read on a phone."""


def row_in_words(table: ChunkTable, row: int, aspect: Aspect) -> str:
    """`**label**: header: cell; header: cell`, the columns asked for first, within LONGEST_ROW."""
    columns = _of_the_group_named(columns_of(table, row), aspect)
    label = row_label(table, row)
    ranked = sorted(columns, key=lambda column: -_asked(column, aspect))
    chosen: list[Column] = []
    length = len(label)
    for column in ranked:
        length += len(_said(column)) + 2
        if chosen and length > LONGEST_ROW:
            break
        chosen.append(column)
    cells = "; ".join(_said(column) for column in columns if column in chosen)
    return f"**{label}** — {cells}" if label and cells else cells or f"**{label}**"


def columns_of(table: ChunkTable, row: int) -> list[Column]:
    """Cells beside the label that say something, merged where one cell spans a header group."""
    found: list[Column] = []
    for position in range(table.label_columns, len(table.rows[row])):
        cell = flat(table.rows[row][position])
        if says_nothing(cell):
            continue
        header = table.header[position] if position < len(table.header) else ""
        last = found[-1] if found else None
        if last and last.cell == cell and last.positions[-1] == position - 1:
            shared = _shared_path(last.header, header)
            merged = shared or f"{last.header}, {header}"
            found[-1] = Column(header=merged, cell=cell, positions=(*last.positions, position))
        else:
            found.append(Column(header=flat(header), cell=cell, positions=(position,)))
    return found


@dataclass(frozen=True, kw_only=True)
class MarkedRow:
    """A row of one of the groups of a table, and the mark of its source."""

    table: ChunkTable
    row: int
    mark: str

    @property
    def cells(self) -> tuple[str, ...]:
        return self.table.rows[self.row]


def small_table(rows: Sequence[MarkedRow], aspect: Aspect) -> str:
    """Rows of one table as markdown: the columns that tell them apart, marked, and those asked
    for most, as they stand. Columns that say nothing in any row are left out."""
    first = rows[0].table
    asked: dict[int, float] = {}
    for row in rows:
        for column in _of_the_group_named(columns_of(row.table, row.row), aspect):
            for position in column.positions:
                asked[position] = max(asked.get(position, 0.0), _asked(column, aspect))
    best = sorted(sorted(asked, key=lambda position: -asked[position])[:COLUMNS])
    shown = [*range(first.label_columns), *best]
    lines = [[first.header[position] for position in shown], ["---"] * len(shown)]
    for row in rows:
        label, *others = (row.cells[position] for position in shown)
        lines.append([f"{label} {row.mark}", *others])
    return "\n".join(_line([flat(cell) for cell in line]) for line in lines)


def _of_the_group_named(columns: Sequence[Column], aspect: Aspect) -> list[Column]:
    """Without the header groups that compete with the one the question names.

    A question about a contractor needs no `Employee › …` beside `Contractor › …`."""
    groups = {_group(column): aspect.coverage(stems(_group(column))) for column in columns}
    named = [group for group, coverage in groups.items() if group and coverage > 0]
    if not named:
        return list(columns)
    return [column for column in columns if not _group(column) or _group(column) in named]


def _group(column: Column) -> str:
    return column.header.split(" › ")[0] if " › " in column.header else ""


def _asked(column: Column, aspect: Aspect) -> float:
    header, cell = stems(column.header), stems(column.cell)
    return 2 * aspect.coverage(header) + aspect.coverage(header | cell)


def _said(column: Column) -> str:
    return f"{column.header}: {column.cell}" if column.header else column.cell


def _shared_path(first: str, second: str) -> str:
    shared: list[str] = []
    for mine, theirs in zip(first.split(" › "), second.split(" › "), strict=False):
        if mine != theirs:
            break
        shared.append(mine)
    return " › ".join(shared)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
