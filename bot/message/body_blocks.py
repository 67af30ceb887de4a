"""Markdown as the body of Slack messages: prose and tables, each as large as Slack takes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bot.message.blockkit import Json
from bot.message.defang import defang
from bot.message.harmless.harmless_words import WORD, is_address
from bot.message.harmless.web_address import Links
from bot.message.slack_markdown import MAX_COLUMNS, Grid, Prose, aligned, fitting, segments, slices

BODY_LIMIT = 8_500
"""Characters of answer per message: leaves room for sources, buttons and the fallback. Slack fails
near 13,200 of a whole message, although a block may have 12,000."""

Sized = tuple[Json, int]
"""A block and its characters."""


def bodies(blocks: Iterable[Sized]) -> Iterator[list[Json]]:
    """Blocks of each message: as much as fits, and one native table each, Slack's own limit."""
    body: list[Json] = []
    used, has_table = 0, False
    for block, size in blocks:
        table = block["type"] == "table"
        if body and (used + size > BODY_LIMIT or (table and has_table)):
            yield body
            body, used, has_table = [], 0, False
        body.append(block)
        used, has_table = used + size, has_table or table
    yield body or [markdown("I have nothing to say to that.")]


def body_blocks(text: str, links: Links) -> Iterator[Sized]:
    """Of a text that `defang` made harmless."""
    for part in segments(text):
        if isinstance(part, Prose) or len(part.header) > MAX_COLUMNS or not part.rows:
            prose = part.text if isinstance(part, Prose) else aligned(part)
            yield from prose_blocks(prose, links)
        else:
            for grid in slices(part, BODY_LIMIT - 500):
                yield table_block(grid), grid.size


def prose_blocks(text: str, links: Links) -> Iterator[Sized]:
    # A cut may part what made a piece harmless, so each is looked at by itself.
    for piece in fitting(text, BODY_LIMIT, lambda cut: defang(cut, links)):
        yield markdown(piece), len(piece)


def markdown(text: str) -> Json:
    return {"type": "markdown", "text": text}


def table_block(grid: Grid) -> Json:
    # A cell may not be empty, hence the no-break space.
    rows = [[_cell(cell or "\u00a0") for cell in row] for row in (grid.header, *grid.rows)]
    settings = [{"is_wrapped": True} for _ in grid.header]
    return {"type": "table", "rows": rows, "column_settings": settings}


def grid_of(table: Json) -> Grid:
    """The words of a table block."""
    texts = [tuple(map(_cell_words, row)) for row in table["rows"]]
    return Grid(texts[0], tuple(texts[1:]))


def words_said(blocks: Sequence[Json]) -> str:
    """What stands in the blocks of a body, without what only looks different."""
    said: list[str] = []
    for block in blocks:
        if block["type"] == "table":
            said.extend(" | ".join(map(_cell_words, row)) for row in block["rows"])
        else:
            said.append(block["text"])
    return "\n".join(said)


def _cell(text: str) -> Json:
    """Words; an address among them as code, which nobody makes a link of."""
    pieces: list[Json] = []
    at = 0
    for word in WORD.finditer(text):
        if is_address(word[0]):
            pieces += [_piece(text[at : word.start()]), _piece(word[0], style={"code": True})]
            at = word.end()
    if not pieces:
        return {"type": "raw_text", "text": text}
    shown = [piece for piece in [*pieces, _piece(text[at:])] if piece["text"]]
    section = {"type": "rich_text_section", "elements": shown}
    return {"type": "rich_text", "elements": [section]}


def _piece(text: str, **style: Json) -> Json:
    return {"type": "text", "text": text, **style}


def _cell_words(cell: Json) -> str:
    if cell["type"] == "raw_text":
        return str(cell["text"])
    return "".join(piece["text"] for piece in cell["elements"][0]["elements"])
