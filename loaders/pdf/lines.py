"""Words of a PDF page → segments and rows: what stands side by side, with and without gaps."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from loaders.pdf.page import Word

WIDE_GAP = 0.95
"""Ems between two words that belong to different cells or columns."""
MARKER = re.compile(r"(?:[-*+•◦▪‣●○■–—\uf000-\uf0ff]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)])")
ITEM = re.compile(rf"({MARKER.pattern})\s+(?=\S)")
_RAISED = str.maketrans("0123456789+-()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ")


Box = tuple[float, float, float, float]
"""x0, top, x1, bottom."""


@dataclass(slots=True)
class RawCell:
    """A cell's lines; of each, whether it ends where the layout broke it."""

    row: int
    column: int
    row_span: int = 1
    column_span: int = 1
    lines: list[tuple[str, bool]] = field(default_factory=list)
    bold: bool = False
    shade: str = ""


@dataclass(slots=True)
class RawTable:
    """`edges`: the columns' x boundaries, by which a table is found again on the next page."""

    box: Box
    cells: list[RawCell]
    height: int
    edges: tuple[float, ...]
    goes_on: bool = False
    """Continues the table before it, without repeating its head."""

    def is_like(self, width: int) -> bool:
        """Whether a table of this many columns may continue it."""
        return len(self.edges) == width

    def has_columns_of(self, other: RawTable) -> bool:
        """Whether both have columns of the same widths."""
        return self.is_like(len(other.edges)) and all(
            abs((a - self.edges[0]) - (b - other.edges[0])) < 3.0
            for a, b in zip(self.edges, other.edges, strict=True)
        )


@dataclass(slots=True)
class Segment:
    """Words that follow each other in one row; or a table that stands there."""

    words: list[Word]
    x0: float
    x1: float
    top: float
    bottom: float
    base: float
    size: float
    table: RawTable | None = None
    text: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.text = " ".join(word.text for word in self.words)

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)

    @property
    def mono(self) -> bool:
        return all(word.mono for word in self.words)


Row = list[Segment]
"""Segments from left to right."""


def segment(words: Sequence[Word]) -> Segment:
    largest = max(words, key=lambda word: word.size)
    return Segment(
        words=list(words),
        x0=min(word.x0 for word in words),
        x1=max(word.x1 for word in words),
        top=min(word.top for word in words),
        bottom=max(word.bottom for word in words),
        base=largest.base,
        size=largest.size,
    )


def table_segment(table: RawTable) -> Segment:
    x0, top, x1, bottom = table.box
    return Segment([], x0, x1, top, bottom, top, bottom - top, table)


def rows_of(words: Iterable[Word], *, gap: float = WIDE_GAP) -> list[Row]:
    """Rows from top to bottom. `gap`: in ems, between segments."""
    clusters: list[list[Word]] = []
    largest: list[Word] = []
    for word in sorted(words, key=lambda word: (word.base, word.x0)):
        for i in range(len(clusters) - 1, max(len(clusters) - 4, -1), -1):
            is_level = abs(word.base - largest[i].base) < 0.1 * word.size
            if _overlap(word, largest[i]) and (is_level or not _covers(word, clusters[i])):
                clusters[i].append(word)
                if word.size > largest[i].size:
                    largest[i] = word
                break
        else:
            clusters.append([word])
            largest.append(word)
    return [_segments(cluster, gap) for cluster in clusters]


def _overlap(a: Word, b: Word) -> bool:
    shared = min(a.bottom, b.bottom) - max(a.top, b.top)
    return shared >= 0.55 * min(a.bottom - a.top, b.bottom - b.top)


def _covers(word: Word, others: Iterable[Word]) -> bool:
    """Whether a word is printed over others, as text above or below them is in tight lines."""
    return any(
        min(word.x1, other.x1) - max(word.x0, other.x0) > 0.5 * min(word.size, other.size)
        and abs(word.base - other.base) > 0.1 * word.size
        for other in others
    )


def _segments(words: list[Word], gap: float) -> Row:
    words.sort(key=lambda word: word.x0)
    runs: list[list[Word]] = []
    end = 0.0
    for word in words:
        if runs:
            last = runs[-1][-1]
            size = max(word.size, last.size)
            if _is_reprint(word, last):
                continue
            if word.x0 - end < gap * size:
                _attach(runs[-1], word)
                end = max(end, word.x1)
                continue
        runs.append([word])
        end = word.x1
    return [segment(_in_reading_order(run)) for run in runs]


def _is_reprint(word: Word, last: Word) -> bool:
    """Whether a word is printed twice to look bold, or as its own shadow."""
    return (
        word.text in last.text
        and word.x1 <= last.x1 + 0.15 * word.size
        and abs(word.base - last.base) < 0.15 * word.size
    )


def _attach(run: list[Word], word: Word) -> None:
    """Adds a word; a raised number becomes part of the word before it."""
    last = run[-1]
    is_raised = word.size < 0.85 * last.size and last.base - word.base > 0.15 * last.size
    if is_raised and word.x0 - last.x1 < 0.15 * last.size and len(word.text) <= 4:
        run[-1] = Word(
            last.text + word.text.translate(_RAISED),
            last.x0, max(last.x1, word.x1), last.top, last.bottom,
            last.base, last.size, last.bold, last.mono,
        )  # fmt: skip
    else:
        run.append(word)


def _in_reading_order(run: list[Word]) -> list[Word]:
    """Words of a line that reads from right to left come in that order."""
    strong = [unicodedata.bidirectional(sign) for word in run for sign in word.text[:1]]
    leftward = sum(one in ("R", "AL") for one in strong)
    return run[::-1] if leftward > strong.count("L") else run


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def pitch_of(rows: Sequence[Row]) -> float:
    """The usual distance of two rows' baselines; 0 for a single row."""
    steps = [
        below[0].base - above[0].base
        for above, below in pairwise(rows)
        if above[0].table is None and below[0].table is None
    ]
    return statistics.median(steps) if steps else 0.0


def fits(line: Segment, below: Segment, width: float) -> bool:
    """Whether the first word of the line below would still fit on this line.

    If so, its author broke the line; otherwise the layout did."""
    first = below.words[0]
    return (line.x1 - line.x0) + 0.25 * line.size + (first.x1 - first.x0) <= width + 0.1
