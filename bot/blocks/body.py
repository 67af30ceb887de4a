"""Bodies of Slack messages, cut to Slack's sizes: markdown, passages, the list of sources. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, repeat

from agents.answer import Answer, Citation, Passage
from bot.blocks.kit import Json, age, context, link, section, short
from bot.blocks.markdown import Prose, fit_pieces, segments
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, sanitize_mrkdwn
from bot.blocks.tables import (
    MAX_CAPTION,
    MAX_COLUMNS,
    MAX_ROWS,
    Grid,
    TableContext,
    aligned,
    data_table_block,
    row_count,
    slices,
    table_lines,
    with_requested_first,
)
from loaders.text.plain import read_blocks

BODY_LIMIT = 8_500
"""Characters of answer per message: leaves room for sources, buttons and the fallback. Slack fails
near 13,200 per message, although a block may have 12,000."""

MAX_BLOCKS = 35
"""Slack accepts 50: sources and buttons follow, and older markup takes more blocks."""

SizedBlock = tuple[Json, int]
"""A block and its characters."""


def bodies(blocks: Iterable[SizedBlock]) -> Iterator[list[Json]]:
    """The blocks of each message: as many as fit, in every fallback version."""
    body: list[Json] = []
    used = 0
    for block, size in blocks:
        if body and (used + size > BODY_LIMIT or len(body) >= MAX_BLOCKS):
            yield body
            body, used = [], 0
        body.append(block)
        used += size
    yield body or [markdown("I have nothing to say to that.")]


def body_blocks(text: str, links: Links, about: TableContext) -> Iterator[SizedBlock]:
    """`text`: from `sanitize_markdown`."""
    before = ""
    for part in segments(text):
        if isinstance(part, Prose):
            before = part.text
            yield from prose_blocks(part.text, links)
        elif len(part.header) > MAX_COLUMNS or not part.rows:
            yield from prose_blocks(aligned(part), links)
        else:
            for grid in slices(with_requested_first(part, about), BODY_LIMIT - 500):
                yield data_table_block(grid, about.caption(part, before)), grid.size + MAX_CAPTION


def prose_of(text: str) -> str:
    """The text without its tables."""
    return "\n".join(part.text for part in segments(text) if isinstance(part, Prose))


def prose_blocks(text: str, links: Links) -> Iterator[SizedBlock]:
    # A cut may split what made a piece safe, so each piece is sanitized by itself.
    for piece in fit_pieces(text, BODY_LIMIT, lambda cut: sanitize_markdown(cut, links)):
        yield markdown(piece), len(piece)


def markdown(text: str) -> Json:
    return {"type": "markdown", "text": text}


def body_text(blocks: Sequence[Json]) -> str:
    """The text of a body's blocks, without markup of tables."""
    texts: list[str] = []
    for block in blocks:
        texts += table_lines(block) if block["type"] == "data_table" else [block["text"]]
    return "\n".join(texts)


PICTURE_NOTE = ":frame_with_picture: a picture there"
DESCRIPTION_NOTE = f"{PICTURE_NOTE}, as a model described it"
"""Above a passage."""
MAX_SOURCE_CHARS = 2_700
"""Characters of all lines; a section takes 3,000."""


def source_lines(answer: Answer, now: datetime) -> list[str]:
    """A heading, then a line for each place, grouped by document; empty without places.

    Title and age of a document appear once, and each place appears once."""
    if answer.passages:
        return _cut_to_limit("*Passages shown*", _lines(answer.citations, now, numbered=False))
    if not answer.citations:
        return _cut_to_limit("*Nearest documents*", _lines(answer.nearest, now, numbered=False))
    origin = f" from *{sanitize_mrkdwn(answer.from_title)}*" if answer.from_title else ""
    return _cut_to_limit(f"*Sources*{origin}", _lines(answer.citations, now, numbered=True))


def passage_title(citation: Citation, now: datetime, *, dated: bool) -> str:
    """A link to the passage, with its age when `dated`."""
    place = f"*{link(citation.url, place_name(citation))}*"
    return _with_details(place, citation, now if dated else None, DESCRIPTION_NOTE)


def place_name(citation: Citation) -> str:
    """Title and heading."""
    parts = (citation.title, _heading(citation))
    return " › ".join(short(part, 120) for part in parts if part) or citation.document


def part_name(citation: Citation) -> str:
    """The heading, for use where the title is shown below."""
    return short(_heading(citation) or citation.title, 120) or citation.document


def _lines(citations: Sequence[Citation], now: datetime, *, numbered: bool) -> list[str]:
    documents: dict[str, dict[str, list[Citation]]] = {}
    for one in citations:
        # A tool result has no document, and is listed under its own title.
        places = documents.setdefault(one.document or one.title, {})
        key = f"{one.url} {_heading(one)} {one.page} {one.from_picture}"
        places.setdefault(key, []).append(one)
    lines = []
    for places in documents.values():
        for number, same in enumerate(places.values()):
            mark = " ".join(f"[{one.number}]" for one in same) if numbered else "•"
            lines.append(f"{mark} {_place(same[0], now if number == 0 else None)}")
    return lines


def _place(citation: Citation, first_at: datetime | None) -> str:
    """A link to the place; `first_at`: now, for a document's first place, with title and age."""
    further = f"… › {short(_heading(citation) or citation.title, 120)}"
    place = link(citation.url, place_name(citation) if first_at else further)
    return _with_details(place, citation, first_at, PICTURE_NOTE)


def _with_details(place: str, citation: Citation, now: datetime | None, picture: str) -> str:
    """Adds the document's path where no link opens it, the page, the age when `now` is given, and
    `picture` if it is from one."""
    path = "" if citation.url else sanitize_mrkdwn(short(citation.document, 120))
    page = f"page {citation.page}" if citation.page else ""
    updated = age(citation.modified_at, now) if now else ""
    note = picture if citation.from_picture else ""
    return " · ".join(part for part in (place, path, page, updated, note) if part)


def _heading(citation: Citation) -> str:
    return citation.heading if citation.heading != citation.title else ""


def _cut_to_limit(heading: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    visible, used = [heading], len(heading)
    for line in lines:
        if used + len(line) > MAX_SOURCE_CHARS:
            visible.append(f"…and {len(lines) - len(visible) + 1} more")
            break
        visible.append(line)
        used += len(line) + 1
    return visible


ON_A_PHONE = 36
"""Characters of a line of code."""
FEW_ROWS = 2
"""A wider table with no more rows than this becomes a list: it needs no sorting."""


def passage_blocks(answer: Answer, links: Links, now: datetime) -> Iterator[SizedBlock]:
    """The lead, then title and excerpt of each passage."""
    yield from prose_blocks(sanitize_markdown(answer.lead, links), links)
    dated_documents: set[str] = set()
    for passage, origin in _with_origins(answer):
        if origin:
            line = f"From *{sanitize_mrkdwn(origin)}*"
            yield context([line]), len(line)
        cited = passage.citation
        title = passage_title(cited, now, dated=cited.document not in dated_documents)
        dated_documents.add(cited.document)
        yield section(title), len(title)
        for part in segments(sanitize_markdown(passage.text, links)):
            if isinstance(part, Prose):
                yield from prose_blocks(_quote(part.text), links)
                continue
            grid = with_requested_first(part, TableContext(question=answer.standalone_question))
            if _is_native(grid):
                caption = row_count(grid)  # the title is shown above the table
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


def _quote(markdown: str) -> str:
    """Paragraphs as quotes; lists and code already look different from the bot's own text."""
    lines = markdown.split("\n")
    for token in read_blocks(markdown):
        if token.type == "paragraph_open" and token.level == 0 and token.map:
            first, end = token.map
            lines[first:end] = [f"> {line}" for line in lines[first:end]]
            # Without an empty line the next block may be read as part of the quote.
            lines[end - 1] += "\n"
    return "\n".join(lines)
