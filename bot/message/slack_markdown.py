"""Markdown cut to Slack's sizes: prose in pieces that stand alone, tables as Slack tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from markdown_it.token import Token

from bot.message.harmless.harmless_words import unpinged, visible
from loaders.markdown_parser import read_blocks
from loaders.plain import plain_text

MAX_COLUMNS = 20
MAX_ROWS = 100
"""Of one Slack table, header included."""
MAX_CELL = 400
CODE = ("fence", "code_block")
SHORTEST = 200
"""Characters of a piece that isn't cut any more: written, it fits."""
LONGEST_FENCE = 20
"""Characters; a code block behind a longer fence isn't opened again when it is cut."""
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class Prose:
    text: str


@dataclass(frozen=True)
class Grid:
    """A markdown table: plain cells, every row as wide as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """Characters of all cells."""
        return sum(len(cell) for row in (self.header, *self.rows) for cell in row)

    @property
    def widths(self) -> list[int]:
        """Characters of the longest cell of each column."""
        return [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]

    def is_within(self, characters: int) -> bool:
        """Its columns stand side by side in so wide a line, each with room around it."""
        return sum(self.widths) + 3 * len(self.header) <= characters


def segments(markdown: str) -> Iterator[Prose | Grid]:
    """Prose and tables in order; tables inside code stay code."""
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    tokens = read_blocks(text)
    lines = text.split("\n")
    code = {line for token in tokens if token.type in CODE for line in _lines_of(token)}
    shown = [line if at in code else _BREAK.sub("\n", line) for at, line in enumerate(lines)]
    at = 0
    for start, rows in _tables(tokens):
        # By the specification a line of text right below a table is a row of it. Nobody means that.
        body = list(takewhile(lambda row: "|" in lines[row[0]], rows[1:]))
        if prose := "\n".join(shown[at:start]).strip("\n"):
            yield Prose(prose)
        yield Grid(rows[0][1], tuple(cells for _, cells in body))
        at = start + 2 + len(body)
    if prose := "\n".join(shown[at:]).strip("\n"):
        yield Prose(prose)


def _tables(tokens: Sequence[Token]) -> Iterator[tuple[int, list[tuple[int, tuple[str, ...]]]]]:
    """(first line, rows as (line, cells), the header first) of each table."""
    for at, token in enumerate(tokens):
        if token.type != "table_open":
            continue
        start = _lines_of(token).start
        rows: list[list[str]] = []
        for inner in takewhile(lambda one: one.type != "table_close", tokens[at:]):
            if inner.type == "tr_open":
                rows.append([])
            elif inner.type == "inline":
                rows[-1].append(_cell(inner.content))
        # The line of dashes is no row.
        places = [start, *range(start + 2, start + 1 + len(rows))]
        yield start, [(place, tuple(row)) for place, row in zip(places, rows, strict=True)]


def _lines_of(token: Token) -> range:
    return range(*(token.map or (0, 0)))


def _cell(markdown: str) -> str:
    """A cell's words: Slack's table cells show no markdown."""
    words = " · ".join(plain_text(markdown).strip().splitlines())
    return _cut_short(unpinged(visible(words)), MAX_CELL)


def _cut_short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def excerpt(markdown: str, limit: int) -> str:
    """How a text begins, in plain words: without markup, tables as one line for each row."""
    lines: list[str] = []
    for part in segments(markdown):
        if isinstance(part, Prose):
            lines.extend(_plain_lines(part.text))
        else:
            lines.extend(f"• {_named(part.header, row, row[0])}" for row in part.rows)
    return _cut_short("\n".join(line for line in lines if line), limit)


def _plain_lines(markdown: str) -> Iterator[str]:
    lists: list[str] = []
    sign = ""
    for token in read_blocks(markdown):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists.append(token.type)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif token.type == "list_item_open":
            mark = f"{token.info}{token.markup}" if token.info else "•"
            sign = f"{'  ' * (len(lists) - 1)}{mark} "
        elif token.type in CODE:
            yield from token.content.splitlines()
        elif token.type == "inline":
            for line in plain_text(token.content).splitlines():
                yield f"{sign}{line.strip()}"
                sign = " " * len(sign)
            sign = ""


def pieces(text: str, limit: int) -> Iterator[str]:
    """Prose in order, each piece at most `limit` characters: cut between paragraphs, else lines,
    else words. Code that is cut is closed and opened again."""
    while len(text) > limit:
        cut = _cut(text, limit)
        head, rest = text[:cut].rstrip(), text[cut:].lstrip("\n")
        if code := _open_code(head):
            # Within code, empty lines and indents count: only the line's end is cut away.
            head, rest = text[:cut], text[cut:].removeprefix("\n")
            head, rest = f"{head}\n{code.markup}", f"{_opener(code)}\n{rest}"
        yield head
        text = rest
    if text.strip():
        yield text


def fitting(text: str, limit: int, write: Callable[[str], str]) -> Iterator[str]:
    """Prose in pieces as `write` writes them, each at most `limit` characters then."""
    for piece in pieces(text, limit):
        written = write(piece)
        if len(written) <= limit or len(piece) < SHORTEST:
            if written.strip():
                yield written[:limit]
        else:
            yield from _halved(piece, limit, write)


def _halved(text: str, limit: int, write: Callable[[str], str]) -> Iterator[str]:
    for half in pieces(text, max(SHORTEST - 1, len(text) // 2)):
        yield from fitting(half, limit, write)


def _cut(text: str, limit: int) -> int:
    room = limit - 2 * LONGEST_FENCE  # for a closing fence
    for separator in ("\n\n", "\n", " "):
        cut = text.rfind(separator, room // 3, room)
        if cut > 0:
            return cut
    return room


def _open_code(text: str) -> Token | None:
    """The code block that is still open at the end of the text."""
    fences = [token for token in read_blocks(f"{text}\n") if token.type == "fence"]
    last = fences[-1] if fences else None
    if last is None or len(last.markup) > LONGEST_FENCE:
        return None
    # Its lines are the one that opens it, the content, and the one that closes it.
    closed = len(_lines_of(last)) == last.content.count("\n") + 2
    return None if closed else last


def _opener(code: Token) -> str:
    return f"{code.markup}{code.info.strip()[:40]}"


def slices(grid: Grid, characters: int) -> Iterator[Grid]:
    """Row groups that fit a Slack table, each with the header."""
    header_size = sum(map(len, grid.header))
    rows: list[tuple[str, ...]] = []
    size = header_size
    for row in grid.rows:
        width = sum(map(len, row))
        if rows and (len(rows) + 1 >= MAX_ROWS or size + width > characters):
            yield Grid(grid.header, tuple(rows))
            rows, size = [], header_size
        rows.append(row)
        size += width
    yield Grid(grid.header, tuple(rows))


def aligned(grid: Grid, widest: int = 90) -> str:
    """A table as prose: columns lined up in a code block, or one entry per row when too wide."""
    if grid.is_within(widest):
        widths = grid.widths
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (grid.header, tuple("-" * width for width in widths), *grid.rows)
        ]
        return "```\n" + "\n".join(lines).replace("```", "'''") + "\n```"
    return "\n".join(f"- {_named(grid.header, row, f'**{row[0]}**')}" for row in grid.rows)


def _named(header: Sequence[str], row: Sequence[str], title: str) -> str:
    """`title`, and each further cell with its column's name."""
    cells = list(zip(header, row, strict=True))[1:]
    named = "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)
    return f"{title}: {named}" if named else title
