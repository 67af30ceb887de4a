"""A table as Slack's blocks: the newest with pages and sorting, and the one before it. Pure.

A table as rows of words, cut to what Slack takes, or written as text. Pure.

Which column of a table was asked for. Pure.

On a phone two columns are seen at once: the one that names the row, and the one beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from agents.answer import CITATION
from bot.blocks.kit import Json, short
from bot.blocks.sanitize.text import WORD, is_address, sanitize_plain
from enrichment.language.words import stems

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
        marks = [*CITATION.findall(cells), *reversed(CITATION.findall(before))]
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


PAGE = 10
"""Rows that are shown at once; a table of no more has one page."""
MAX_CAPTION = 120
NOTHING = "\u00a0"
"""A cell may not be empty."""

_AMOUNT = re.compile(
    r"(?P<before>[$€£¥#(\[~≤≥<>]{0,2}) ?"
    r"(?P<value>[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,6})?)"
    r"(?P<unit>(?: ?[^\W\d]| ?[%/°\])]){0,40})"
)
"""`90`, `$1,200.50`, `90 days`, `8 hours in total`, `[1]`."""


def data_table_block(grid: Grid, caption: str) -> Json:
    """With pages and sorting: columns of amounts in one unit are sorted by amount."""
    header = [
        {"type": "raw_text", "text": sanitize_plain(bare(cell)) or NOTHING} for cell in grid.header
    ]
    columns = [_column(cells) for cells in zip(*grid.rows, strict=True)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return {
        "type": "data_table",
        "caption": short(sanitize_plain(caption), MAX_CAPTION) or "Table",
        "rows": [header, *rows],
        "page_size": min(PAGE, len(rows)),
        "row_header_column_index": 0,
    }


def table_block(grid: Grid) -> Json:
    """Without pages and sorting, for a workspace that lacks the newer kind."""
    rows = [[_cell(cell or NOTHING) for cell in row] for row in (grid.header, *grid.rows)]
    settings = [{"is_wrapped": True} for _ in grid.header]
    return {"type": "table", "rows": rows, "column_settings": settings}


def grid_of(table: Json) -> Grid:
    """The words of a table block, of either kind."""
    texts = [tuple(map(_cell_words, row)) for row in table["rows"]]
    return Grid(texts[0], tuple(texts[1:]))


def rows_said(table: Json) -> list[str]:
    """Its rows as lines."""
    grid = grid_of(table)
    return [" | ".join(map(bare, row)) for row in (grid.header, *grid.rows)]


def _column(cells: Sequence[str]) -> list[Json]:
    amounts = [_amount(cell) for cell in cells]
    if all(amounts) and len({unit for _, unit in filter(None, amounts)}) == 1:
        return [
            {"type": "raw_number", "value": amount[0], "text": cell}
            for amount, cell in zip(filter(None, amounts), cells, strict=True)
        ]
    return [_cell(cell or NOTHING) for cell in cells]


def _amount(cell: str) -> tuple[float, str] | None:
    """(number, unit); `1 day` and `2 days` have one unit."""
    found = _AMOUNT.fullmatch(cell)
    if found is None:
        return None
    value = float(found["value"].replace(",", ""))
    unit = " ".join(word.removesuffix("s") for word in found["unit"].casefold().split())
    return (int(value) if value.is_integer() else value), f"{found['before']} {unit}"


def _cell(text: str) -> Json:
    """Words; code, and any address, in the style of code, of which nobody makes a link."""
    pieces: list[Json] = []
    for number, part in enumerate(text.split("`")):
        if number % 2:
            pieces.append(_piece(part, style={"code": True}))
        else:
            pieces += _prose(part)
    shown = [piece for piece in pieces if piece["text"]]
    if len(shown) <= 1 and not any("style" in piece for piece in shown):
        return {"type": "raw_text", "text": bare(text) or NOTHING}
    section = {"type": "rich_text_section", "elements": shown}
    return {"type": "rich_text", "elements": [section]}


def _prose(text: str) -> list[Json]:
    ends = [0]
    for word in WORD.finditer(text):
        if is_address(word[0]):
            ends += word.span()
    cuts = [text[start:end] for start, end in pairwise([*ends, len(text)])]
    return [
        _piece(cut, **({"style": {"code": True}} if number % 2 else {}))
        for number, cut in enumerate(cuts)
    ]


def _piece(text: str, **style: Json) -> Json:
    return {"type": "text", "text": text, **style}


def _cell_words(cell: Json) -> str:
    """As a grid has it."""
    if "elements" not in cell:
        return str(cell["text"]).replace(NOTHING, "")
    pieces = cell["elements"][0]["elements"]
    return "".join(f"`{p['text']}`" if "style" in p else p["text"] for p in pieces)
