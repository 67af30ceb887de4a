"""Which column of a table was asked for. Pure.

On a phone two columns are seen at once: the one that names the row, and the one beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.answer import CITED
from bot.message.tables.grid import Grid, bare
from enrichment.language.words import stems

COUNTED = re.compile(r"#?(\d{1,4})[.)]?")


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known of the tables of one answer, beside their cells."""

    question: str = ""
    said: str = ""
    """The answer's words around its tables."""
    quotes: tuple[str, ...] = ()
    """What it cites, verbatim."""
    places: Mapping[str, str] = field(default_factory=dict)
    """`[n]` → the place that it cites."""

    def named(self, grid: Grid, before: str) -> str:
        """Where a table stands, by what its cells cite, or else the text before it; how many rows
        it has where nothing is cited."""
        cells = " ".join(cell for row in grid.rows for cell in row)
        marks = [*CITED.findall(cells), *reversed(CITED.findall(before))]
        cited = (self.places[mark] for mark in marks if mark in self.places)
        return next(cited, rows_of(grid))


def rows_of(grid: Grid) -> str:
    return f"{len(grid.rows)} rows" if len(grid.rows) > 1 else "1 row"


def asked_first(grid: Grid, about: About) -> Grid:
    """The column that names the rows, then the one asked for, then the others as they were."""
    label = label_column(grid)
    asked = asked_column(grid, about, label)
    first = [label] if asked is None else [label, asked]
    return grid.ordered([*first, *(at for at in range(len(grid.header)) if at not in first)])


def label_column(grid: Grid) -> int:
    """The first that names its rows: not a running number, and no name twice."""
    for at in range(len(grid.header)):
        cells = [bare(row[at]) for row in grid.rows]
        if all(cells) and not _is_running(cells) and len(set(cells)) == len(cells):
            return at
    return 0


def _is_running(cells: Sequence[str]) -> bool:
    """1, 2, 3, …: the number of a row names nothing."""
    numbers = [int(found[1]) if (found := COUNTED.fullmatch(cell)) else -1 for cell in cells]
    return numbers in (list(range(len(cells))), list(range(1, len(cells) + 1)))


def asked_column(grid: Grid, about: About, label: int) -> int | None:
    """None when nothing tells, or two columns are told of alike."""
    others = [at for at in range(len(grid.header)) if at != label]
    scores = {at: _score(grid, at, about, label) for at in others}
    best = sorted(others, key=lambda at: -scores[at])
    if not best or scores[best[0]] <= 0:
        return None
    ahead = len(best) == 1 or scores[best[0]] > scores[best[1]]
    return best[0] if ahead else None


def _score(grid: Grid, at: int, about: About, label: int) -> float:
    """Bold cells tell most, then the header's words in the question, then cells said again."""
    bold = bool(grid.telling and grid.telling[at])
    header = stems(bare(grid.header[at])) - stems(bare(grid.header[label]))
    named = len(header & stems(about.question)) / len(header) if header else 0.0
    cells = [bare(row[at]) for row in grid.rows]
    said = any(_stands_in(cell, about.said) for cell in cells)
    quoted = any(_alone(grid, at, quote, label) for quote in about.quotes)
    return 4.0 * bold + 2.0 * named + said + quoted


def _alone(grid: Grid, at: int, quote: str, label: int) -> bool:
    """A quote holds a cell of this column, and of no other but the label's."""
    held = {
        column
        for column in range(len(grid.header))
        if column != label and _any_stands_in([bare(row[column]) for row in grid.rows], quote)
    }
    return held == {at}


def _any_stands_in(cells: Sequence[str], text: str) -> bool:
    return any(_stands_in(cell, text) for cell in cells)


def _stands_in(cell: str, text: str) -> bool:
    """As a word of its own: `90` doesn't stand in `1990`."""
    if len(cell) < 2:
        return False
    at = text.find(cell)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(cell) : at + len(cell) + 1]
        if not any(sign.isalnum() for sign in around):
            return True
        at = text.find(cell, at + 1)
    return False
