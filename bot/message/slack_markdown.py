"""Markdown cut to Slack's sizes: prose in pieces that stand alone, tables as Slack tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_COLUMNS = 20
MAX_ROWS = 100
"""Of one Slack table, header included."""
MAX_CELL = 400
_SEPARATOR = re.compile(r"^\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)*\|?\s*$")
_CODE_OPENS = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([\w+-]*)")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
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


def segments(markdown: str) -> Iterator[Prose | Grid]:
    """Prose and tables in order; tables inside code stay code."""
    lines = markdown.splitlines()
    prose: list[str] = []
    fence = ""
    at = 0
    while at < len(lines):
        fence = _fence_after(fence, lines[at])
        if not fence and _starts_table(lines, at):
            if text := "\n".join(prose).strip("\n"):
                yield Prose(text)
            prose = []
            end = at + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            yield _grid(lines[at], lines[at + 2 : end])
            at = end
            continue
        prose.append(_BREAK.sub("\n", lines[at]) if not fence else lines[at])
        at += 1
    if text := "\n".join(prose).strip("\n"):
        yield Prose(text)


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line; empty outside code."""
    match = _CODE_OPENS.match(line)
    if not match:
        return fence
    if not fence:
        return match[1]
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2]
    return "" if closes else fence


def _starts_table(lines: Sequence[str], at: int) -> bool:
    return (
        at + 1 < len(lines)
        and "|" in lines[at]
        and "|" in lines[at + 1]
        and bool(_SEPARATOR.match(lines[at + 1]))
    )


def _grid(header: str, rows: Sequence[str]) -> Grid:
    names = _cells(header)
    width = len(names)
    body = (_cells(row) for row in rows)
    return Grid(names, tuple((*row, *[""] * width)[:width] for row in body))


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(_plain(cell) for cell in _CELL_EDGE.split(inner))


def _plain(cell: str) -> str:
    """A cell's words: Slack's table cells show no markdown."""
    return _cut_short(_unmarked(_BREAK.sub(" · ", cell).replace("\\|", "|")), MAX_CELL)


def _unmarked(text: str) -> str:
    text = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", text)
    text = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    return re.sub(r"\\([\\`*_~\[\]<>#+.!-])", r"\1", text).replace("`", "").strip()


def _cut_short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def excerpt(markdown: str, limit: int) -> str:
    """How a text begins, in plain words: without markup, tables as one line for each row."""
    lines: list[str] = []
    for part in segments(markdown):
        if isinstance(part, Prose):
            lines.extend(_plain_line(line) for line in part.text.splitlines())
        else:
            lines.extend(_plain_line(_entry(part.header, row)) for row in part.rows)
    return _cut_short("\n".join(line for line in lines if line), limit)


def _plain_line(line: str) -> str:
    if _CODE_OPENS.match(line):
        return ""
    line = re.sub(r"^\s*(?:#{1,6}|>)\s+", "", line)
    line = re.sub(r"^(\s*)[-*+]\s+", r"\1• ", line)
    return re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"\1", _unmarked(line))


def pieces(text: str, limit: int) -> Iterator[str]:
    """Prose in order, each piece at most `limit` characters: cut between paragraphs, else lines,
    else words. Code that is cut is closed and opened again."""
    while len(text) > limit:
        cut = _cut(text, limit)
        head, rest = text[:cut].rstrip(), text[cut:].lstrip("\n")
        opener = _open_code(head)
        if opener:
            head, rest = f"{head}\n```", f"{opener}\n{rest}"
        yield head
        text = rest
    if text.strip():
        yield text


def _cut(text: str, limit: int) -> int:
    room = limit - 8  # for a closing fence
    for separator in ("\n\n", "\n", " "):
        cut = text.rfind(separator, room // 3, room)
        if cut > 0:
            return cut
    return room


def _open_code(text: str) -> str:
    """The line that opens the code block which is still open at the end of the text."""
    fence = opener = ""
    for line in text.splitlines():
        before, fence = fence, _fence_after(fence, line)
        if fence and not before:
            opener = line.strip()[:40]
    return opener if fence else ""


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
    widths = [max(map(len, column)) for column in zip(grid.header, *grid.rows, strict=True)]
    if sum(widths) + 3 * len(widths) <= widest:
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (grid.header, tuple("-" * width for width in widths), *grid.rows)
        ]
        return "```\n" + "\n".join(lines).replace("```", "'''") + "\n```"
    return "\n".join(_entry(grid.header, row) for row in grid.rows)


def _entry(header: Sequence[str], row: Sequence[str]) -> str:
    cells = list(zip(header, row, strict=True))[1:]
    named = "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)
    return f"- **{row[0]}**: {named}" if named else f"- **{row[0]}**"
