"""Tables: as rows of text cut to Slack's limits, as Slack's blocks, or as plain text. Pure.

On a phone two columns are visible at once: so the column that names the rows comes first, and next
to it the one that the question is about."""

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
"""Limit of one Slack table, header included; the older kind of table has the same limit."""


@dataclass(frozen=True)
class Grid:
    """A markdown table, every row as wide as the header. Cells are text; between backticks is code,
    and no cell has other backticks."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold_cells: tuple[int, ...] = field(default=(), compare=False)
    """Number of cells with bold text in each column."""

    @property
    def size(self) -> int:
        """Characters of `compact`."""
        return sum(map(_line_size, (self.header, *self.rows)))

    @property
    def widths(self) -> list[int]:
        """Characters of each column's longest cell, as displayed."""
        columns = zip(self.header, *self.rows, strict=True)
        return [max(len(bare(cell)) for cell in column) for column in columns]

    def is_within(self, characters: int) -> bool:
        """Whether a line of this width holds all columns, with separators."""
        return sum(self.widths) + 3 * len(self.header) <= characters

    def ordered(self, columns: Sequence[int]) -> Grid:
        """The grid with its columns in this order."""

        def row(cells: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(cells[at] for at in columns)

        bold_cells = tuple(self.bold_cells[at] for at in columns) if self.bold_cells else ()
        return replace(
            self, header=row(self.header), rows=tuple(map(row, self.rows)), bold_cells=bold_cells
        )


def bare(cell: str) -> str:
    """A cell's text without backticks."""
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
    """A table as a code block in the fewest characters."""
    lines = [" | ".join(map(bare, row)) for row in (grid.header, *grid.rows)]
    return "```\n" + "\n".join(lines) + "\n```"


def _line_size(row: Sequence[str]) -> int:
    return sum(len(cell) + 3 for cell in row)


def aligned(grid: Grid, widest: int = 90) -> str:
    """A table as a code block with aligned columns, or as a list when it is too wide."""
    if grid.is_within(widest):
        widths = grid.widths
        rows = [tuple(map(bare, row)) for row in (grid.header, *grid.rows)]
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (rows[0], tuple("-" * width for width in widths), *rows[1:])
        ]
        return "```\n" + "\n".join(lines) + "\n```"
    return "\n".join(f"- {row_text(grid.header, row, f'**{row[0]}**')}" for row in grid.rows)


def row_text(header: Sequence[str], row: Sequence[str], title: str) -> str:
    """`title`, then each further cell with its column's name."""
    cells = list(zip(header, row, strict=True))[1:]
    details = "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)
    return f"{title}: {details}" if details else title


_ROW_NUMBER = re.compile(r"#?(\d{1,4})[.)]?")


@dataclass(frozen=True, kw_only=True)
class TableContext:
    """Context for ordering and naming the tables of one answer."""

    question: str = ""
    prose: str = ""
    """The answer's text around its tables."""
    quotes: tuple[str, ...] = ()
    """The answer's citations, verbatim."""
    places: Mapping[str, str] = field(default_factory=dict)
    """`n` of a citation `[n]` → the cited place."""

    def caption(self, grid: Grid, before: str) -> str:
        """A caption: the place that its cells cite, or else the text before it; without a citation
        the number of rows."""
        cells = " ".join(cell for row in grid.rows for cell in row)
        marks = [*CITATION.findall(cells), *reversed(CITATION.findall(before))]
        cited = (self.places[mark] for mark in marks if mark in self.places)
        return next(cited, row_count(grid))


def row_count(grid: Grid) -> str:
    return f"{len(grid.rows)} rows" if len(grid.rows) > 1 else "1 row"


def with_requested_first(grid: Grid, about: TableContext) -> Grid:
    """The column that names the rows first, then the requested one, then the others in order."""
    label = label_column(grid)
    requested = requested_column(grid, about, label)
    first = [label] if requested is None else [label, requested]
    return grid.ordered([*first, *(at for at in range(len(grid.header)) if at not in first)])


def label_column(grid: Grid) -> int:
    """The first column that names its rows: no row numbers, and no cell twice."""
    for at in range(len(grid.header)):
        cells = [bare(row[at]) for row in grid.rows]
        if all(cells) and not _is_running(cells) and len(set(cells)) == len(cells):
            return at
    return 0


def _is_running(cells: Sequence[str]) -> bool:
    """Whether the cells are row numbers, from 0 or 1."""
    numbers = [int(match[1]) if (match := _ROW_NUMBER.fullmatch(cell)) else -1 for cell in cells]
    return numbers in (list(range(len(cells))), list(range(1, len(cells) + 1)))


def requested_column(grid: Grid, about: TableContext, label: int) -> int | None:
    """The column that the question is about; None when the best score is 0 or shared."""
    others = [at for at in range(len(grid.header)) if at != label]
    scores = {at: _score(grid, at, about, label) for at in others}
    best = sorted(others, key=lambda at: -scores[at])
    if not best or scores[best[0]] <= 0:
        return None
    ahead = len(best) == 1 or scores[best[0]] > scores[best[1]]
    return best[0] if ahead else None


def _score(grid: Grid, at: int, about: TableContext, label: int) -> float:
    """Bold cells count most, then header words in the question, then cells repeated in the text."""
    is_bold = bool(grid.bold_cells and grid.bold_cells[at])
    header = stems(bare(grid.header[at])) - stems(bare(grid.header[label]))
    in_question = len(header & stems(about.question)) / len(header) if header else 0.0
    cells = [bare(row[at]) for row in grid.rows]
    in_prose = any(_occurs_in(cell, about.prose) for cell in cells)
    quoted = any(_is_only_quoted(grid, at, quote, label) for quote in about.quotes)
    return 4.0 * is_bold + 2.0 * in_question + in_prose + quoted


def _is_only_quoted(grid: Grid, at: int, quote: str, label: int) -> bool:
    """Whether the quote contains a cell of this column, and of no other but the label's."""
    columns = {
        column
        for column in range(len(grid.header))
        if column != label and any(_occurs_in(bare(row[column]), quote) for row in grid.rows)
    }
    return columns == {at}


def _occurs_in(cell: str, text: str) -> bool:
    """Whether the text has it as a whole word: `90` doesn't occur in `1990`."""
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
"""Rows per page."""
MAX_CAPTION = 120
EMPTY_CELL = "\u00a0"
"""A cell may not be empty."""

_AMOUNT = re.compile(
    r"(?P<before>[$€£¥#(\[~≤≥<>]{0,2}) ?"
    r"(?P<value>[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,6})?)"
    r"(?P<unit>(?: ?[^\W\d]| ?[%/°\])]){0,40})"
)
"""`90`, `$1,200.50`, `90 days`, `8 hours in total`, `[1]`."""


def data_table_block(grid: Grid, caption: str) -> Json:
    """Slack's newer table, with pages and sorting: amounts in one unit sort by amount."""
    header = [
        {"type": "raw_text", "text": sanitize_plain(bare(cell)) or EMPTY_CELL}
        for cell in grid.header
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
    """Slack's older table, without pages and sorting."""
    rows = [[_cell(cell or EMPTY_CELL) for cell in row] for row in (grid.header, *grid.rows)]
    settings = [{"is_wrapped": True} for _ in grid.header]
    return {"type": "table", "rows": rows, "column_settings": settings}


def grid_of(table: Json) -> Grid:
    """The text of a table block, of either kind."""
    texts = [tuple(map(_cell_text, row)) for row in table["rows"]]
    return Grid(texts[0], tuple(texts[1:]))


def table_lines(table: Json) -> list[str]:
    grid = grid_of(table)
    return [" | ".join(map(bare, row)) for row in (grid.header, *grid.rows)]


def _column(cells: Sequence[str]) -> list[Json]:
    amounts = [_amount(cell) for cell in cells]
    if all(amounts) and len({unit for _, unit in filter(None, amounts)}) == 1:
        return [
            {"type": "raw_number", "value": amount[0], "text": cell}
            for amount, cell in zip(filter(None, amounts), cells, strict=True)
        ]
    return [_cell(cell or EMPTY_CELL) for cell in cells]


def _amount(cell: str) -> tuple[float, str] | None:
    """(number, unit); `1 day` and `2 days` have one unit."""
    match = _AMOUNT.fullmatch(cell)
    if match is None:
        return None
    value = float(match["value"].replace(",", ""))
    unit = " ".join(word.removesuffix("s") for word in match["unit"].casefold().split())
    return (int(value) if value.is_integer() else value), f"{match['before']} {unit}"


def _cell(text: str) -> Json:
    """Text; code and addresses in code style, in which Slack makes no links."""
    pieces: list[Json] = []
    for number, part in enumerate(text.split("`")):
        if number % 2:
            pieces.append(_piece(part, style={"code": True}))
        else:
            pieces += _prose(part)
    visible = [piece for piece in pieces if piece["text"]]
    if len(visible) <= 1 and not any("style" in piece for piece in visible):
        return {"type": "raw_text", "text": bare(text) or EMPTY_CELL}
    section = {"type": "rich_text_section", "elements": visible}
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


def _cell_text(cell: Json) -> str:
    """The cell's text, as in a `Grid`."""
    if "elements" not in cell:
        return str(cell["text"]).replace(EMPTY_CELL, "")
    pieces = cell["elements"][0]["elements"]
    return "".join(f"`{p['text']}`" if "style" in p else p["text"] for p in pieces)
