"""What speaks for each cell of a table being the one that a question asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.extractive.relevance import Aspect
from agents.extractive.table import (
    UNDER,
    cell_at,
    group_heads,
    header_at,
    in_a_line,
    label_path,
    row_label,
    says_nothing,
)
from agents.extractive.value_types import (
    column_kinds,
    fits,
    kinds_named_by,
    kinds_of,
    requested_kinds,
)
from enrichment.chunk import ChunkTable
from enrichment.language.words import naming_words, stems

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Values = NDArray[Any]
"""Flags or numbers."""

_TOTALS = stems("total all overall both sum combined altogether whole")
_SHARE = re.compile(r"%|\bper ?cent|\b(?:percentages?|proportions?|shares?|pct)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:chang|increas|decreas|declin|differen|grow|grew|rise|rose|fell|drop|gain|loss)",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no|not|non|never|without|except|excluding|other than|cannot)\b|n['’]t\b", re.IGNORECASE
)
_WHICH = re.compile(r"\b(?:which|what|who|whose)\b", re.IGNORECASE)
_SAMPLE = 8
"""Cells that show a column's kind of value."""
_MIN_STEM, _ALIKE = 5, 0.75
"""Length of the beginning that two forms of one word share, and its share of the longer one:
`guilt`, `guilti`."""


@dataclass(frozen=True, kw_only=True)
class TableRead:
    """A table of the context, with all its rows."""

    table: ChunkTable
    around: str
    """Title, tab and headings above it."""
    strengths: Mapping[int, float]
    """Row → log-odds that it holds a part of the answer; only rows in the context."""
    behind: float
    """Log-odds by which its best row is weaker than the best statement of the context, ≥ 0."""


class QuestionWords:
    """A question's words, to find in the texts of a table."""

    def __init__(self, aspect: Aspect) -> None:
        self.text = aspect.text
        self.words = tuple(aspect.weights)
        rarity = np.array([aspect.weights[word] for word in self.words], dtype=np.float64)
        self.weights: Numbers = rarity / (rarity.sum() or 1.0)
        """Share of the question's rarity, of each word."""
        self.kind = next((one.kind for one in requested_kinds(aspect.text)), "")
        self._aspect = aspect
        ways = {word for each in aspect.same.values() for way in each for word in way}
        self._known = aspect.weights.keys() | ways
        self._beginnings = {word[:3] for word in self._known}
        self._line = in_a_line(aspect.text)
        self._held: dict[str, Flags] = {}
        asking = {word for one in requested_kinds(aspect.text) for word in one.words}
        self.asking: Flags = np.array([word in asking for word in self.words], dtype=bool)
        """Words of the interrogative phrase, which no table needs to hold."""

    def held_by(self, texts: Sequence[str]) -> Flags:
        """(texts, words): whether a text has the word, another form of it or an equivalent."""
        for text in texts:
            if text not in self._held:
                self._held[text] = self._look(text)
        held = [self._held[text] for text in texts]
        return np.array(held, dtype=bool).reshape(len(texts), len(self.words))

    def _look(self, text: str) -> Flags:
        lowered = text.casefold()
        if not any(beginning in lowered for beginning in self._beginnings):
            return np.zeros(len(self.words), dtype=bool)
        theirs = stems(text)
        named = self._aspect.named_in(theirs)
        return np.array([word in named or _has_form(word, theirs) for word in self.words])

    def share_named(self, texts: Sequence[str]) -> Numbers:
        """Of each text, the share of its words that the question has, 0–1."""
        shares = []
        for text in texts:
            names = naming_words(text).keys()
            named = sum(word in self._known or _has_form(word, self._known) for word in names)
            shares.append(named / len(names) if names else 0.0)
        return np.array(shares)

    def is_verbatim(self, text: str) -> bool:
        line = in_a_line(text)
        return bool(line.strip()) and line in self._line


def _has_form(word: str, others: Set[str]) -> bool:
    """Whether another stem begins like the word, and differs only in its ending."""
    return len(word) >= _MIN_STEM and any(
        other.startswith(word[: math.ceil(max(_MIN_STEM, _ALIKE * max(len(word), len(other))))])
        for other in others
    )


class _Grid:
    """A table's texts by row and column; rows that only head a group are left out."""

    def __init__(self, read: TableRead) -> None:
        table = read.table
        heads = group_heads(table)
        self.rows = [row for row, above in enumerate(heads) if above is not None]
        width = max(map(len, table.rows), default=0)
        self.labels = [row_label(table, row) for row in self.rows]
        self.groups = [label_path(table, heads[row] or ()) for row in self.rows]
        self.headers = [header_at(table, column) for column in range(width)]
        self.upper, _, self.own = zip(*(one.rpartition(UNDER) for one in self.headers), strict=True)
        self.cells = [[cell_at(table, row, at) for at in range(width)] for row in self.rows]
        self.empty = np.array([[says_nothing(cell) for cell in row] for row in self.cells])
        self.is_label: Flags = np.arange(width) < table.label_columns
        self.is_value: Flags = self.is_label if self.is_label.all() else ~self.is_label
        labels = " ".join(table.header[: table.label_columns])
        self.around = f"{read.around} {table.caption} {labels}"


def cell_features(
    read: TableRead, question: QuestionWords
) -> tuple[list[int], Mapping[str, Values]]:
    """(rows that hold values; feature → its values, which broadcast to (rows, columns)).

    `direct_answer.WEIGHTS` says what each feature is."""
    if not read.table.rows or not read.table.rows[0]:
        return [], {}
    grid = _Grid(read)
    if not grid.rows:
        return [], {}
    words = _word_features(grid, question)
    behind = [read.strengths.get(row, np.nan) for row in grid.rows]
    unseen, best = np.isnan(behind), max(read.strengths.values(), default=0.0)
    search = {
        "behind": np.array(read.behind),
        "row behind": _down(np.where(unseen, 0.0, best - np.array(behind))),
        "row unseen": _down(unseen),
    }
    return grid.rows, {**words, **_sign_features(grid, question, words["left over"]), **search}


def _word_features(grid: _Grid, question: QuestionWords) -> dict[str, Values]:
    weights, held_by = question.weights, question.held_by
    in_header, in_own_label = held_by(grid.headers), held_by(grid.labels)
    in_label = in_own_label | held_by(grid.groups)
    in_cell = np.stack([held_by(row) for row in grid.cells]) & grid.is_value[:, None]
    in_others = in_cell.sum(axis=1, keepdims=True) > in_cell
    digits = np.array([word.isdigit() for word in question.words], dtype=bool)
    named = in_label[:, None] | in_header | held_by([grid.around]) | question.asking
    held = named | in_others
    rare_row = in_label @ (weights * _rarity(in_label))
    rare_column = in_header @ (weights * _rarity(in_header[grid.is_value]))
    of_header, covered = in_header @ weights, held @ weights
    of_any_header = in_header[grid.is_value].any(axis=0)
    return {
        "row": _down(rare_row - rare_row.max()),
        "row named": _down(question.share_named(grid.labels)),
        "row verbatim": _down([question.is_verbatim(label) for label in grid.labels]),
        "group named": _down(question.share_named(grid.groups)),
        "digits alone": _down(in_label.any(axis=1) & ~(in_label & ~digits).any(axis=1)),
        "column": rare_column - rare_column[grid.is_value].max(),
        "column words": of_header - of_header[grid.is_value].max(),
        "column named": question.share_named(grid.own),
        "upper words": held_by(grid.upper) @ weights,
        "upper named": question.share_named(grid.upper),
        "other cells": (in_others & ~named) @ (weights * _rarity(np.asarray(in_cell.any(axis=1)))),
        "covered": covered,
        "covered best": covered - covered[:, grid.is_value].max(),
        "left over": np.where(held, 0.0, weights).max(axis=-1, initial=0.0),
        "other row": (in_label.any(axis=0) & ~(in_label[:, None] | in_header)) @ weights,
        "other column": (of_any_header & ~(in_label[:, None] | in_header)) @ weights,
        "twice": (in_label[:, None] & in_header) @ weights,
        "label": grid.is_label.astype(float),
        "label asked": grid.is_label * float(
            _WHICH.search(question.text) is not None and bool((in_others & ~named).any())
        ),
    }  # fmt: skip


def _rarity(held: Flags) -> Values:
    """Of each word, among the rows or columns that may have it."""
    return np.asarray(np.log((len(held) + 1) / (held.sum(axis=0) + 1)))


def _sign_features(grid: _Grid, question: QuestionWords, left_over: Values) -> dict[str, Values]:
    """Kinds of value, shares, changes, negations and totals, asked for and there."""
    share = _has(_SHARE, grid.headers) | _down(_has(_SHARE, grid.groups))
    share = share | np.array([["%" in cell for cell in row] for row in grid.cells])
    if not share[:, grid.is_value].any():
        share |= _SHARE.search(grid.around) is not None
    change = _has(_CHANGE, grid.headers) | _down(_has(_CHANGE, grid.labels))
    negated_row, negated = _down(_has(_NEGATION, grid.labels)), _has(_NEGATION, grid.headers)
    negates_any = negated_row.any() or negated.any()
    total_row = _down([bool(_TOTALS & stems(label)) for label in grid.labels])
    total = np.array([bool(_TOTALS & stems(header)) for header in grid.headers])
    asks_share, asks_change, negates = (
        one.search(question.text) is not None for one in (_SHARE, _CHANGE, _NEGATION)
    )
    return {
        "empty": grid.empty,
        "number": np.array([[_is_number(cell) for cell in row] for row in grid.cells]),
        "kind": _kinds(grid, question.kind),
        "share": share & asks_share,
        "no share": ~share & asks_share,
        "share unasked": share & (not asks_share),
        "change": change & asks_change,
        "change unasked": change & (not asks_change),
        "total row": total_row,
        "total column": total,
        "total and left over": (total_row | total) * left_over,
        "negated row": negated_row & (not negates),
        "negated column": negated & (not negates),
        "not negated": ~(negated_row | negated) & (negates and negates_any),
    }


def _kinds(grid: _Grid, kind: str) -> Numbers:
    """Of each cell: 1 when it or its column holds this kind of value, -1 when not, 0 without a
    kind."""
    if not kind:
        return np.zeros(grid.empty.shape)
    fitting = np.array([[_fits(kind, cell) for cell in row] for row in grid.cells])
    for at, header in enumerate(grid.headers):
        cells = [row[at] for row in grid.cells if not says_nothing(row[at])][:_SAMPLE]
        named = column_kinds(header, cells).union(*map(kinds_named_by, header.split(UNDER)))
        fitting[:, at] |= fits(kind, named)
    return np.where(fitting, 1.0, -1.0)


def _fits(kind: str, cell: str) -> bool:
    """A number alone has the kind of its column."""
    return any(map(str.isalpha, cell)) and fits(kind, kinds_of(cell))


def _is_number(cell: str) -> bool:
    return any(map(str.isdigit, cell)) and sum(map(str.isalpha, cell)) < 3


def _has(pattern: re.Pattern[str], texts: Sequence[str]) -> Flags:
    return np.array([pattern.search(text) is not None for text in texts], dtype=bool)


def _down(values: ArrayLike) -> Values:
    """Values of the rows, as a column."""
    return np.asarray(values)[:, None]
