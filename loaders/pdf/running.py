"""What is printed on every page of a PDF: running headers, footers and page numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from loaders.pdf.lines import Row, Segment

WINDOW = 3
"""Pages before and after one that are compared with it: chapters change their headers."""
_MAX_ROWS = 3
"""Rows of a header or footer."""
_MARGIN = 0.16
"""The part of a page's height, at its top and bottom, in which headers and footers stand."""
_SHIFT = 2.5
"""Points by which a header may stand higher or lower on another page."""
_GAP = 1.6
"""Ems from a header's baseline to that of the text: more than lines of one text have."""
_LABEL_WORDS = 3
"""Words of `Page 3 of 12`, besides its numbers."""
_NUMBER = re.compile(r"\d+|\b[ivxlc]{1,7}\b")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass
class Edges:
    """Rows of one page's top and bottom, from the outside inwards."""

    number: int
    top: list[Row]
    bottom: list[Row]
    near: frozenset[int]
    """Ids of those that the text follows closely."""


@dataclass
class RunningText:
    """Finds the rows of a page that its neighbors repeat."""

    _keys: set[str] = field(default_factory=set)

    def rows(self, page: Edges, others: Sequence[Edges]) -> tuple[list[Row], list[Row]]:
        """Rows that the page repeats, and those of them that it is the first to show."""
        repeated: list[Row] = []
        first: list[Row] = []
        for name in ("top", "bottom"):
            rows: list[Row] = []
            labels: set[int] = set()
            for row in getattr(page, name):
                kinds = [_kind(one, page, others, name) for one in row]
                if not all(kinds):
                    break
                rows.append(row)
                if all(kind == "label" for kind in kinds):
                    labels.add(id(row))
            rows = _block(rows, page.near)
            for row in rows:
                key = " ".join(_NUMBER.sub("#", one.text) for one in row)
                if key not in self._keys and id(row) not in labels:
                    first.append(row)
                self._keys.add(key)
            repeated += rows
        return repeated, first


def edges_of(number: int, rows: Sequence[Row], height: float, body_size: float) -> Edges:
    """`rows`: of the page, without its tables. Large text is a title, not a header."""
    small = [row for row in rows if max(one.size for one in row) <= 1.2 * body_size]
    top = [row for row in small[:_MAX_ROWS] if row[0].base < _MARGIN * height]
    bottom = [row for row in small[::-1][:_MAX_ROWS] if row[0].base > (1 - _MARGIN) * height]
    near = set()
    for above, below in pairwise(rows):
        if below[0].base - above[0].base < _GAP * max(above[0].size, below[0].size):
            near |= {id(above)} & set(map(id, top)) | {id(below)} & set(map(id, bottom))
    return Edges(number, top, bottom, frozenset(near))


def _block(rows: list[Row], near: frozenset[int]) -> list[Row]:
    """The outermost rows that stand together, and single rows apart from them and the text."""
    ends = [i for i, row in enumerate(rows, 1) if id(row) not in near]
    count = ends[0] if ends else 0
    while count < len(rows) and id(rows[count]) not in near:
        count += 1
    return rows[:count]


def _kind(one: Segment, page: Edges, others: Sequence[Edges], name: str) -> str:
    """`same` or `label` (with the page's number) when another page repeats it; otherwise ''."""
    for other in others:
        for row in getattr(other, name):
            for twin in row:
                if abs(twin.base - one.base) > _SHIFT or abs(twin.size - one.size) > 0.6:
                    continue
                if kind := _compare(one.text, twin.text, page.number - other.number):
                    return kind
    return ""


def _compare(text: str, twin: str, pages: int) -> str:
    if text == twin:
        return "same" if any(sign.isalpha() for sign in text) else ""
    if _NUMBER.sub("#", text) != _NUMBER.sub("#", twin):
        return ""
    numbers = zip(
        map(_value, _NUMBER.findall(text)), map(_value, _NUMBER.findall(twin)), strict=True
    )
    if any(a - b not in (0, pages) for a, b in numbers):
        return ""
    words = re.findall(r"[^\W\d_]+", _NUMBER.sub(" ", text))
    return "label" if len(words) <= _LABEL_WORDS else "same"


def _value(number: str) -> int:
    if number.isdecimal():
        return int(number[:9])
    values = [_ROMAN[sign] for sign in number]
    return sum(
        -value if any(later > value for later in values[i + 1 : i + 2]) else value
        for i, value in enumerate(values)
    )
