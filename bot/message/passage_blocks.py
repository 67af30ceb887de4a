"""Passages found, as the body of a Slack message: each a title that opens it, and what it says.
Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain, repeat

from agents.answer import Answer, Passage
from bot.message.blockkit import context, section
from bot.message.body_blocks import Sized, prose_blocks
from bot.message.defang import defang
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.harmless.web_address import Links
from bot.message.slack_markdown import Prose, segments
from bot.message.source_lines import titled
from bot.message.tables.asked_column import About, asked_first, rows_of
from bot.message.tables.grid import MAX_ROWS, Grid, aligned
from bot.message.tables.table_blocks import data_table_block
from loaders.text.plain import read_blocks

ON_A_PHONE = 36
"""Characters of a line of code."""
FEW_ROWS = 2
"""A wider table of no more rows is read at once as a list, and needs no sorting."""


def passage_blocks(answer: Answer, links: Links, now: datetime) -> Iterator[Sized]:
    """The lead, then title and excerpt of each passage."""
    yield from prose_blocks(defang(answer.lead, links), links)
    dated: set[str] = set()
    for passage, origin in _with_origins(answer):
        if origin:
            said = f"From *{mrkdwn(origin)}*"
            yield context([said]), len(said)
        cited = passage.citation
        title = titled(cited, now, dated=cited.document not in dated)
        dated.add(cited.document)
        yield section(title), len(title)
        for part in segments(defang(passage.text, links)):
            if isinstance(part, Prose):
                yield from prose_blocks(_quoted(part.text), links)
                continue
            grid = asked_first(part, About(question=answer.standalone_question))
            if _is_native(grid):
                caption = rows_of(grid)  # its title stands above
                yield data_table_block(grid, caption), grid.size + len(caption)
            else:
                yield from prose_blocks(aligned(grid, ON_A_PHONE), links)


def _with_origins(answer: Answer) -> Iterator[tuple[Passage, str]]:
    """Each passage; where domains were chosen from, the first of each with its domain's title."""
    groups = [(answer.from_title, answer.passages)]
    groups += [(one.title, one.passages) for one in answer.beside]
    for title, passages in groups:
        yield from zip(passages, chain([title], repeat("")), strict=False)


def _is_native(grid: Grid) -> bool:
    if not 0 < len(grid.rows) < MAX_ROWS:
        return False
    return len(grid.rows) > FEW_ROWS or grid.is_within(ON_A_PHONE)


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
