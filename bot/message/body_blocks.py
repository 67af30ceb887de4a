"""Markdown as the body of Slack messages: prose and tables, each as large as Slack takes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bot.message.blockkit import Json
from bot.message.defang import defang
from bot.message.harmless.web_address import Links
from bot.message.slack_markdown import Prose, fitting, segments
from bot.message.tables.asked_column import About, asked_first
from bot.message.tables.grid import MAX_COLUMNS, aligned, slices
from bot.message.tables.table_blocks import MAX_CAPTION, data_table_block, rows_said

BODY_LIMIT = 8_500
"""Characters of answer per message: leaves room for sources, buttons and the fallback. Slack fails
near 13,200 of a whole message, although a block may have 12,000."""

MOST_BLOCKS = 35
"""Of 50: sources and buttons follow, and a long text is several blocks in the older markup."""

Sized = tuple[Json, int]
"""A block and its characters."""


def bodies(blocks: Iterable[Sized]) -> Iterator[list[Json]]:
    """Blocks of each message: as much as fits, in every form that the message may take."""
    body: list[Json] = []
    used = 0
    for block, size in blocks:
        if body and (used + size > BODY_LIMIT or len(body) >= MOST_BLOCKS):
            yield body
            body, used = [], 0
        body.append(block)
        used += size
    yield body or [markdown("I have nothing to say to that.")]


def body_blocks(text: str, links: Links, about: About) -> Iterator[Sized]:
    """Of a text that `defang` made harmless."""
    before = ""
    for part in segments(text):
        if isinstance(part, Prose):
            before = part.text
            yield from prose_blocks(part.text, links)
        elif len(part.header) > MAX_COLUMNS or not part.rows:
            yield from prose_blocks(aligned(part), links)
        else:
            for grid in slices(asked_first(part, about), BODY_LIMIT - 500):
                yield data_table_block(grid, about.named(part, before)), grid.size + MAX_CAPTION


def around_tables(text: str) -> str:
    """The words beside the tables of a text."""
    return "\n".join(part.text for part in segments(text) if isinstance(part, Prose))


def prose_blocks(text: str, links: Links) -> Iterator[Sized]:
    # A cut may part what made a piece harmless, so each is looked at by itself.
    for piece in fitting(text, BODY_LIMIT, lambda cut: defang(cut, links)):
        yield markdown(piece), len(piece)


def markdown(text: str) -> Json:
    return {"type": "markdown", "text": text}


def words_said(blocks: Sequence[Json]) -> str:
    """What stands in the blocks of a body, without what only looks different."""
    said: list[str] = []
    for block in blocks:
        said += rows_said(block) if block["type"] == "data_table" else [block["text"]]
    return "\n".join(said)
