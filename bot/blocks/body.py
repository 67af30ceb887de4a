"""Where an answer was read, as lines that open it. Pure.

Markdown as the body of Slack messages: prose and tables, each as large as Slack takes. Pure.

Passages found, as the body of a Slack message: each a title that opens it, and what it says.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, repeat

from agents.answer import Answer, Citation, Passage
from bot.blocks.kit import Json, age, context, link, section, short
from bot.blocks.markdown import Prose, fitting, segments
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, sanitize_mrkdwn
from bot.blocks.tables import (
    MAX_CAPTION,
    MAX_COLUMNS,
    MAX_ROWS,
    About,
    Grid,
    aligned,
    asked_first,
    data_table_block,
    rows_of,
    rows_said,
    slices,
)
from loaders.text.plain import read_blocks

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
    for piece in fitting(text, BODY_LIMIT, lambda cut: sanitize_markdown(cut, links)):
        yield markdown(piece), len(piece)


def markdown(text: str) -> Json:
    return {"type": "markdown", "text": text}


def words_said(blocks: Sequence[Json]) -> str:
    """What stands in the blocks of a body, without what only looks different."""
    said: list[str] = []
    for block in blocks:
        said += rows_said(block) if block["type"] == "data_table" else [block["text"]]
    return "\n".join(said)


PICTURED = ":frame_with_picture: a picture there"
DESCRIBED = f"{PICTURED}, as a model described it"
"""Above a passage; an answer says so in its own words."""
LIMIT = 2_700
"""Characters of all lines; a section takes 3,000."""


def source_lines(answer: Answer, now: datetime) -> list[str]:
    """A heading, then a line for each place, those of one document together; empty without any.

    A document says its title and age once, and a place comes once: twice tells nothing."""
    if answer.passages:
        return _fitting("*Passages shown*", _lines(answer.citations, now, numbered=False))
    if not answer.citations:
        return _fitting("*Nearest documents*", _lines(answer.nearest, now, numbered=False))
    origin = f" from *{sanitize_mrkdwn(answer.from_title)}*" if answer.from_title else ""
    return _fitting(f"*Sources*{origin}", _lines(answer.citations, now, numbered=True))


def titled(citation: Citation, now: datetime, *, dated: bool) -> str:
    """What stands above a passage: a link to it, and its age unless that was told before."""
    opened = f"*{link(citation.url, place_name(citation))}*"
    return _told(opened, citation, now if dated else None, DESCRIBED)


def place_name(citation: Citation) -> str:
    """Title and heading."""
    parts = (citation.title, _heading(citation))
    return " › ".join(short(part, 120) for part in parts if part) or citation.document


def part_name(citation: Citation) -> str:
    """Its heading, for where the title is told below."""
    return short(_heading(citation) or citation.title, 120) or citation.document


def _lines(citations: Sequence[Citation], now: datetime, *, numbered: bool) -> list[str]:
    documents: dict[str, dict[str, list[Citation]]] = {}
    for one in citations:
        # What a tool said is of no document, and comes under its own title.
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
    """A link to it; `first_at`: now, of the first place of a document, which says title and age."""
    further = f"… › {short(_heading(citation) or citation.title, 120)}"
    opened = link(citation.url, place_name(citation) if first_at else further)
    return _told(opened, citation, first_at, PICTURED)


def _told(opened: str, citation: Citation, now: datetime | None, picture: str) -> str:
    """With its page, its age where it is `now`, and whether it is a picture."""
    page = f"page {citation.page}" if citation.page else ""
    told = age(citation.modified_at, now) if now else ""
    pictured = picture if citation.from_picture else ""
    return " · ".join(part for part in (opened, page, told, pictured) if part)


def _heading(citation: Citation) -> str:
    return citation.heading if citation.heading != citation.title else ""


def _fitting(heading: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    shown, used = [heading], len(heading)
    for line in lines:
        if used + len(line) > LIMIT:
            shown.append(f"…and {len(lines) - len(shown) + 1} more")
            break
        shown.append(line)
        used += len(line) + 1
    return shown


ON_A_PHONE = 36
"""Characters of a line of code."""
FEW_ROWS = 2
"""A wider table of no more rows is read at once as a list, and needs no sorting."""


def passage_blocks(answer: Answer, links: Links, now: datetime) -> Iterator[Sized]:
    """The lead, then title and excerpt of each passage."""
    yield from prose_blocks(sanitize_markdown(answer.lead, links), links)
    dated: set[str] = set()
    for passage, origin in _with_origins(answer):
        if origin:
            said = f"From *{sanitize_mrkdwn(origin)}*"
            yield context([said]), len(said)
        cited = passage.citation
        title = titled(cited, now, dated=cited.document not in dated)
        dated.add(cited.document)
        yield section(title), len(title)
        for part in segments(sanitize_markdown(passage.text, links)):
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
