"""Passages found, as the body of a Slack message: each a title that opens it, and what it says.
Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from agents.answer import Answer
from bot.message.blockkit import section
from bot.message.body_blocks import (
    BODY_LIMIT,
    Sized,
    is_native,
    prose_blocks,
    table_block,
)
from bot.message.defang import defang
from bot.message.harmless.web_address import Links
from bot.message.slack_markdown import Grid, Prose, aligned, segments
from bot.message.source_lines import place
from loaders.markdown_parser import read_blocks

ON_A_PHONE = 36
"""Characters of code that a phone shows in a line; a wider table reads better as a list."""


def passage_blocks(answer: Answer, links: Links, now: datetime) -> Iterator[Sized]:
    """The lead, then title and excerpt of each passage; of their tables the first is a native
    one, since Slack takes one a message."""
    yield from prose_blocks(defang(answer.lead, links), links)
    has_table = False
    for passage in answer.passages:
        title = place(passage.citation, now, bold=True)
        yield section(title), len(title)
        for part in segments(defang(passage.text, links)):
            if isinstance(part, Prose):
                yield from prose_blocks(_quoted(part.text), links)
            elif has_table or not _fits(part):
                yield from prose_blocks(aligned(part, ON_A_PHONE), links)
            else:
                has_table = True
                yield table_block(part), part.size


def _fits(grid: Grid) -> bool:
    return is_native(grid) and grid.size <= BODY_LIMIT // 2


def _quoted(markdown: str) -> str:
    """Sentences as a quote; lists and code are told apart from our own words by themselves."""
    lines = markdown.split("\n")
    for token in read_blocks(markdown):
        if token.type == "paragraph_open" and token.level == 0 and token.map:
            first, end = token.map
            lines[first:end] = [f"> {line}" for line in lines[first:end]]
            # Without an empty line what follows may be read as part of the quote.
            lines[end - 1] += "\n"
    return "\n".join(lines)
