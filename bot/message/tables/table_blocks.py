"""A table as Slack's blocks: the newest with pages and sorting, and the one before it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from bot.message.blockkit import Json, short
from bot.message.harmless.harmless_words import WORD, is_address, plain
from bot.message.tables.grid import Grid, bare

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
    header = [{"type": "raw_text", "text": plain(bare(cell)) or NOTHING} for cell in grid.header]
    columns = [_column(cells) for cells in zip(*grid.rows, strict=True)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return {
        "type": "data_table",
        "caption": short(plain(caption), MAX_CAPTION) or "Table",
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
