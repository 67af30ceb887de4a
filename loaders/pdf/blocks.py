"""Lines and tables of a PDF in reading order → blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from loaders.assemble import BlockWriter
from loaders.pdf.columns import Lines
from loaders.pdf.joining import HYPHENS, WORD, Joiner, TableWriter
from loaders.pdf.lines import ITEM, RawTable, Segment, fits, pitch_of
from loaders.text.markdown import clean, escape

_LARGE = 1.14
"""A heading's size in sizes of the text, when it has no other sign."""
_MAX_HEADING = 200
"""Characters of a heading."""
_SECTION = re.compile(r"\d{1,2}(?:\.\d{1,2})+\.?")
_SENTENCE_END = re.compile(r"[.!?:;…。][\"”')\]]*$")


@dataclass(slots=True)
class Line:
    text: str
    page: int
    size: float
    bold: bool
    mono: bool
    indent: float
    """Ems from the left edge of its column."""
    is_soft: bool = False
    """The layout broke the line, so the text goes on in the next one."""
    starts: bool = True
    """Starts a paragraph or an item."""
    is_running: bool = False
    """A header or footer, which is no heading of the text."""


@dataclass(slots=True)
class PageTable:
    table: RawTable
    page: int


Piece = Line | PageTable


def to_lines(part: Lines, page: int) -> list[Line]:
    """Lines of one column, with what the layout says about their paragraphs."""
    segments = part.lines
    left = min(one.x0 for one in segments)
    pitch = pitch_of([[one] for one in segments])
    margins = _margins(segments)
    result: list[Line] = []
    for i, one in enumerate(segments):
        below = segments[i + 1] if i + 1 < len(segments) else None
        size = max(one.size, 1.0)
        line = Line(
            text=_spaced(one, margins[i]) if one.mono else clean(one.text),
            page=page,
            size=one.size,
            bold=one.bold,
            mono=one.mono,
            indent=(one.x0 - left) / size,
        )
        if below is not None:
            line.is_soft = not fits(one, below, part.right - one.x0)
        if i:
            line.starts = _starts(segments[i - 1], one, result[-1], line, pitch)
        result.append(line)
    return result


def _margins(segments: Sequence[Segment]) -> list[float]:
    """The left edge of the lines of the same pitch that stand together, of each line."""
    return [
        left
        for _, group in groupby(segments, lambda one: one.mono)
        for run in [list(group)]
        for left in [min(one.x0 for one in run)] * len(run)
    ]


def _spaced(one: Segment, left: float) -> str:
    """A line of fixed pitch with its spaces."""
    letter = max(0.6 * one.size, 1.0)
    indent = round((one.x0 - left) / letter)
    text = ""
    for word in one.words:
        column = indent + round((word.x0 - one.x0) / letter)
        text += " " * max(column - len(text), 1 if text else 0) + word.text
    return text


def _starts(above: Segment, one: Segment, line_above: Line, line: Line, pitch: float) -> bool:
    step = one.base - above.base
    usual = min(pitch, 1.6 * one.size) or 1.3 * one.size
    is_apart = step > 1.3 * max(usual, 1.05 * one.size) or step < 0
    is_styled = not 0.92 < one.size / max(above.size, 0.1) < 1.08 or above.bold != one.bold
    is_level = abs(line.indent - line_above.indent) < 0.1 and ITEM.match(line_above.text)
    is_inside = (
        line_above.is_soft
        and not (is_level or is_styled)
        and not _SENTENCE_END.search(line_above.text)
    )
    marks = bool(ITEM.match(line.text) or _SECTION.match(line.text)) and not is_inside
    is_indented = 0.8 < line.indent - line_above.indent < 6 and line_above.starts is False
    if line.mono != line_above.mono or (line.mono and is_apart):
        return True
    return is_apart or (is_styled and not line_above.is_soft) or marks or is_indented


@dataclass
class Body:
    """The pieces of a whole document, until its fonts and words are known."""

    pieces: list[Piece] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    letters: int = 0
    fixed: int = 0
    """Characters in a font of fixed pitch."""

    def add(self, lines: Sequence[Line]) -> None:
        if self.pieces and lines and self._goes_on(lines[0]):
            lines[0].starts = False
            last = self.pieces[-1]
            if isinstance(last, Line):
                last.is_soft = True
        self.pieces += lines
        for line in lines:
            count = len(line.text)
            self.letters += count
            self.fixed += count * line.mono
            self._count(line.text)

    def add_table(self, table: RawTable, page: int) -> None:
        last = next((one for one in reversed(self.pieces) if not _is_running(one)), None)
        if isinstance(last, PageTable) and last.table.is_like(len(table.edges)):
            is_beside = page == last.page and table.box[1] < last.table.box[1]
            table.goes_on = is_beside or page == last.page + 1
        self.pieces.append(PageTable(table, page))
        for cell in table.cells:
            for text, _ in cell.lines:
                self._count(text)

    def _count(self, text: str) -> None:
        words = WORD.findall(text.lower())
        if words and text.rstrip()[-1:] in HYPHENS:
            words.pop()
        self.words.update(words)

    def _goes_on(self, line: Line) -> bool:
        """Whether a paragraph goes on in the next column, or a word on the next page."""
        last = self.pieces[-1]
        return (
            isinstance(last, Line)
            and not last.mono
            and last.bold == line.bold
            and abs(last.size - line.size) < 0.6
            and (last.page == line.page or last.text[-1:] in HYPHENS)
            and not _SENTENCE_END.search(last.text)
            and line.text[:1].islower()
            and not ITEM.match(line.text)
        )

    def write(
        self, writer: BlockWriter, url: str, bookmarks: dict[int, list[tuple[str, int]]]
    ) -> None:
        pitches = [piece.mono for piece in self.pieces if isinstance(piece, Line)]
        is_all_fixed = self.fixed > 0.7 * self.letters and sum(pitches) > 0.8 * len(pitches)
        if is_all_fixed:
            for piece in self.pieces:
                if isinstance(piece, Line):
                    piece.mono = False
                    piece.text = " ".join(piece.text.split())
        levels = self._levels() if not bookmarks else {}
        titles = {
            page: {_key(title): level for title, level in entries}
            for page, entries in bookmarks.items()
        }
        join = Joiner(self.words)
        tables = TableWriter(writer, join)
        for group in _groups(self.pieces, titles):
            first = group[0]
            writer.page = first.page
            writer.url = f"{url}#page={first.page}"
            if isinstance(first, PageTable):
                tables.write(first.table)
            else:
                lines = [one for one in group if isinstance(one, Line)]
                _write_lines(writer, lines, join, titles.get(first.page, {}), levels)

    def _levels(self) -> dict[tuple[float, bool], int]:
        """Heading levels by size and weight. Bold text in the size of the body comes last."""
        sizes = Counter[tuple[float, bool]]()
        for piece in self.pieces:
            if isinstance(piece, Line) and not piece.mono:
                sizes[round(piece.size * 2) / 2, piece.bold] += len(piece.text)
        if not sizes:
            return {}
        body, is_bold = sizes.most_common(1)[0][0]
        large = sorted({size for size, _ in sizes if size >= _LARGE * body}, reverse=True)
        levels = {}
        for rank, size in enumerate(large, 1):
            levels[size, False] = levels[size, True] = min(rank, 6)
        if not is_bold:
            for size in {
                size for size, bold in sizes if bold and 0.95 * body <= size < _LARGE * body
            }:
                levels[size, True] = min(len(large) + 1, 6)
        return levels


def _is_running(piece: Piece) -> bool:
    return isinstance(piece, Line) and piece.is_running


def _groups(pieces: Iterable[Piece], titles: dict[int, dict[str, int]]) -> Iterable[list[Piece]]:
    """Pieces of one block: lines up to the next start; a line with a bookmark stands alone."""
    group: list[Piece] = []
    for piece in pieces:
        is_title = isinstance(piece, Line) and _key(piece.text) in titles.get(piece.page, {})
        last = group[-1] if group else None
        goes_on = (
            isinstance(last, Line)
            and isinstance(piece, Line)
            and (not piece.starts)
            and not is_title
        )
        if group and not goes_on:
            yield group
            group = []
        group.append(piece)
        if is_title:
            yield group
            group = []
    if group:
        yield group


def _write_lines(
    writer: BlockWriter,
    lines: list[Line],
    join: Joiner,
    titles: dict[str, int],
    levels: dict[tuple[float, bool], int],
) -> None:
    first = lines[0]
    if first.mono and all(line.mono for line in lines):
        text = "\n".join(line.text.rstrip() for line in lines)
        writer.add("code", text, text)
        return
    text = join([(line.text, line.is_soft) for line in lines])
    if not text.strip():
        return
    level = titles.pop(_key(text), None) or _heading_level(lines, text, levels)
    if level:
        title = " ".join(text.split())
        writer.heading(level, title, escape(title), writer.url)
        return
    item = ITEM.match(text)
    if item:
        marker = item[1] if any(sign.isalnum() for sign in item[1]) else "-"
        rest = text[item.end() :]
        depth = max(0, min(int(first.indent / 2), 8))
        writer.add("list_item", rest, escape(rest), marker=marker, level=depth)
    else:
        writer.add("paragraph", text, escape(text))


def _heading_level(lines: list[Line], text: str, levels: dict[tuple[float, bool], int]) -> int:
    if (
        len(text) > _MAX_HEADING
        or len(lines) > 3
        or lines[0].is_running
        or not any(sign.isalpha() for sign in text)
    ):
        return 0
    kinds = {(round(line.size * 2) / 2, line.bold) for line in lines}
    ranks = [levels.get(kind, 0) for kind in kinds]
    if not all(ranks):
        return 0
    is_list = len(lines) > 2 and not all(line.is_soft or line.bold for line in lines[:-1])
    is_sentence = is_list or (bool(re.search(r"[.;,:]$", text)) and len(text.split()) > 3)
    is_large = all((kind[0], False) in levels for kind in kinds)
    if is_sentence or (not is_large and (ITEM.match(text) or text.endswith(":"))):
        return 0
    return min(ranks)


def _key(title: str) -> str:
    return re.sub(r"\W+", " ", title).strip().lower()
