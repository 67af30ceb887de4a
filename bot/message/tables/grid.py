"""A table as rows of words, cut to what Slack takes, or written as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

MAX_COLUMNS = 20
MAX_ROWS = 100
"""Of one Slack table, header included: the older kind of table has no more."""


@dataclass(frozen=True)
class Grid:
    """A markdown table, every row as wide as the header. Cells are words; what stands between
    backticks is code, and no cell has another backtick."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    telling: tuple[int, ...] = field(default=(), compare=False)
    """For each column, how many of its cells hold words that were written in bold."""

    @property
    def size(self) -> int:
        """Characters as `compact` writes it."""
        return sum(map(_line_size, (self.header, *self.rows)))

    @property
    def widths(self) -> list[int]:
        """Characters of the longest cell of each column, as it is shown."""
        columns = zip(self.header, *self.rows, strict=True)
        return [max(len(bare(cell)) for cell in column) for column in columns]

    def is_within(self, characters: int) -> bool:
        """Its columns stand side by side in so wide a line, each with room around it."""
        return sum(self.widths) + 3 * len(self.header) <= characters

    def ordered(self, columns: Sequence[int]) -> Grid:
        """With its columns in this order."""

        def row(cells: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(cells[at] for at in columns)

        telling = tuple(self.telling[at] for at in columns) if self.telling else ()
        return replace(
            self, header=row(self.header), rows=tuple(map(row, self.rows)), telling=telling
        )


def bare(cell: str) -> str:
    """A cell's words alone."""
    return cell.replace("`", "")


def slices(grid: Grid, characters: int) -> Iterator[Grid]:
    """Row groups that fit a Slack table, each with the header."""
    header_size = _line_size(grid.header)
    rows: list[tuple[str, ...]] = []
    size = header_size
    for row in grid.rows:
        width = _line_size(row)
        if rows and (len(rows) + 1 >= MAX_ROWS or size + width > characters):
            yield replace(grid, rows=tuple(rows))
            rows, size = [], header_size
        rows.append(row)
        size += width
    yield replace(grid, rows=tuple(rows))


def compact(grid: Grid) -> str:
    """A table as prose in the fewest characters."""
    lines = [" | ".join(map(bare, row)) for row in (grid.header, *grid.rows)]
    return "```\n" + "\n".join(lines) + "\n```"


def _line_size(row: Sequence[str]) -> int:
    return sum(len(cell) + 3 for cell in row)


def aligned(grid: Grid, widest: int = 90) -> str:
    """A table as prose: columns lined up in a code block, or one entry per row when too wide."""
    if grid.is_within(widest):
        widths = grid.widths
        shown = [tuple(map(bare, row)) for row in (grid.header, *grid.rows)]
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (shown[0], tuple("-" * width for width in widths), *shown[1:])
        ]
        return "```\n" + "\n".join(lines) + "\n```"
    return "\n".join(f"- {named(grid.header, row, f'**{row[0]}**')}" for row in grid.rows)


def named(header: Sequence[str], row: Sequence[str], title: str) -> str:
    """`title`, and each further cell with its column's name."""
    cells = list(zip(header, row, strict=True))[1:]
    told = "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)
    return f"{title}: {told}" if told else title
