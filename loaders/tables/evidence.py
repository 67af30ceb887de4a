"""Whether the first row of a grid names its columns, by the shape of the values below it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

Texts = Sequence[Sequence[str]]
"""Rows of one width."""

_SAMPLE = 100
"""Rows that are compared with the first one."""
_MOST = 0.8
"""Share of a column's values that have a shape in common."""
_RUNS = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|\s+")
_WORDS = re.compile(r"[aA ]*")
_LONGER = 2.0
"""A column of sentences is longer than its name by this factor."""


def names_columns(rows: Texts) -> float:
    """Positive when the first row names columns, negative when it is one record more, 0 when
    nothing tells.

    A column votes for a name when its values have a shape that its first cell lacks (`help-ledger`
    below `Channel`), and for a record when the first cell has it too (`10.0.0.2` below `10.0.0.1`).
    Years or numbers that count up from left to right are names."""
    if len(rows) < 2:
        return 0.0
    body = rows[1 : _SAMPLE + 1]
    series = _count_up([rows[0], *body]) or _same_shape(rows[0], body)
    votes = 0.0
    for column, name in enumerate(rows[0]):
        values = [row[column].strip() for row in body if row[column].strip()]
        votes += 1.0 if column in series else _vote(name.strip(), values)
    return votes


def is_form(rows: Texts) -> bool:
    """Whether two columns are names and values of one thing: the values are of several kinds."""
    kinds = Counter(any(map(str.isdigit, row[-1])) for row in rows if row[-1].strip())
    return len(rows[0]) == 2 and len(kinds) == 2 and len(rows) > 2 and min(kinds.values()) > 1


def shape(text: str) -> str:
    """Runs of digits as `9`, of small letters as `a`, of capitals as `A`, of both as `Aa`."""
    return _RUNS.sub(_run, text)


def is_number(text: str) -> bool:
    return any(letter.isdigit() for letter in text) and not any(map(str.isalpha, text))


def _run(match: re.Match[str]) -> str:
    run = match[0]
    if run[0].isdigit():
        return "9"
    if run.isspace():
        return " "
    return "a" if run.islower() else "A" if run.isupper() else "Aa" if run.istitle() else "a"


def _vote(name: str, values: Sequence[str]) -> float:
    if not name or not values:
        return 0.0
    if name in values:
        return -1.0
    shapes = Counter(shape(value) for value in values)
    common, count = shapes.most_common(1)[0]
    if count >= _MOST * len(values):
        same = shape(name) == common
        if not _WORDS.fullmatch(common):
            return -1.0 if same or is_number(name) else 1.0
        return 0.0 if same else 0.5
    with_digits = sum(any(letter.isdigit() for letter in value) for value in values)
    if with_digits >= _MOST * len(values):
        return -1.0 if is_number(name) else -0.5 if any(map(str.isdigit, name)) else 1.0
    if any(len(value) > 1 and value == other for value, other in pairwise(sorted(values))):
        return 0.5  # a name that none of the recurring values is
    length = sum(map(len, values)) / len(values)
    return 0.5 if length > _LONGER * len(name) + 10 else 0.0


def _count_up(rows: Texts) -> set[int]:
    """Columns where the first row has whole numbers, each one more than the last, as years are.
    Empty when the rows below count up too."""
    columns = [column for column, text in enumerate(rows[0]) if text.strip().isdecimal()]
    if len(columns) < 2 or not _is_run(rows[0], columns):
        return set()
    return set() if any(_is_run(row, columns) for row in rows[1:]) else set(columns)


def _same_shape(first: Sequence[str], body: Texts) -> set[int]:
    """Columns named by dates or the like: several, all of one shape, which no value below has."""
    shapes = {column: shape(text.strip()) for column, text in enumerate(first) if is_number(text)}
    if len(shapes) < 2 or len({*shapes.values()}) > 1 or "9" in shapes.values():
        return set()
    below = {shape(row[column].strip()) for row in body for column in shapes}
    return set() if below & {*shapes.values()} else {*shapes}


def _is_run(row: Sequence[str], columns: Sequence[int]) -> bool:
    numbers = [
        int(text[:9]) if (text := row[column].strip()).isdecimal() else 0 for column in columns
    ]
    return all(after == before + 1 for before, after in pairwise(numbers))
