"""Whether a value stands in the row and under the header of a table that some words mean.

The words are those of a question, or of the claim itself that states the value. A row is meant by
the words of its label and of its other cells, a column by those of its header; each word counts by
its rarity in the table. The value is misplaced when another row or column, with another value, is
meant by the same words and more."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache

from agents.checks.claims import Claim, source_label
from agents.checks.statements import (
    AskerTerms,
    CitedText,
    label_of,
    plain_figures,
    with_synonyms,
)
from agents.extractive.table import UNDER, in_a_line
from enrichment.chunk import ChunkTable
from enrichment.language.quantities import quantities, without_quantities
from enrichment.language.words import naming_words

_MARGIN = 0.7
"""How much more another place must be meant than a value's own. A word that one row of three has
counts ln 3.5 = 1.25."""
_BESIDE = 0.6
"""What a word counts in a cell beside the label."""
_MISSING = 0.3
"""What a word of a label or header costs that isn't among the words."""
_STATED = 0.5
"""Share of a cell's words, by rarity, from which on a text states it."""
_EXPLAINED = re.compile(r"\([^()]{0,200}\)")
_DIGITS = re.compile(r"\d[\d.,:]*")
_CLAUSES = re.compile(r"[;\n]")

Terms = frozenset[str]
"""Stems of words, and figures: `#90` as written, `#time:5400` with the measure."""
_Rarity = Callable[[str], float]


def terms_of(text: str) -> Terms:
    text = plain_figures(text)
    amounts = quantities(text)
    terms: set[str] = set()
    for one in amounts:
        digits = _DIGITS.search(one.text)
        if one.measure:
            terms.add(f"#{one.measure}:{one.value}")
        if digits or not one.measure:
            terms.add("#" + (digits[0].replace(",", "").rstrip(".:") if digits else one.value))
    return frozenset(terms | naming_words(without_quantities(text, amounts)).keys())


@dataclass(frozen=True)
class Misplaced:
    """A stated value, and the place that is meant instead of its own."""

    value: str
    here: str
    """Label of its row, or its header."""
    meant: float
    """How much its own row is meant."""
    margin: float = 0.0
    """How much more the other place is meant; 0 without one."""
    other: str = ""
    """What stands there."""
    there: str = ""


def misplaced(
    text: str, words: Terms, tables: Sequence[ChunkTable], *, by_question: bool
) -> Misplaced | None:
    """The value that a text states in another place than these words mean, which are those of the
    question or its own; None when one of its values stands right, or when it states none.

    A table whose rows the words don't mean decides nothing where another one's are meant."""
    results = [_grid(table).verdict(text, words, by_question) for table in tables]
    verdicts = [one for one in results if one]
    decisive = [one for one in verdicts if one.meant > 0 or one.margin > 0] or verdicts
    best = min(decisive, key=lambda one: one.margin, default=None)
    return best if best and best.margin >= _MARGIN else None


def cell_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """The fault of a claim that names a row or column and states another one's cell; else ''."""
    same = (*asker.same, *evidence.same)
    for text, about in _statements(claim):
        words = with_synonyms(terms_of(f"{claim.around} {about}"), same)
        if fault := misplaced(text, words, evidence.tables, by_question=False):
            has = f"{fault.other!r} for {fault.there!r}, not {fault.value!r}"
            return f"{source_label(claim)} has {has}"
    return ""


def _statements(claim: Claim) -> Iterator[tuple[str, str]]:
    """(value, its place) for each cell of a row; for a clause both are the clause."""
    for clause in () if claim.cells else _CLAUSES.split(claim.text):
        yield clause, clause
    for header, cell in claim.cells[1:]:
        yield cell, f"{claim.cells[0][1]} {header}"


@dataclass(frozen=True)
class _Cell:
    """One line of a cell."""

    row: int
    column: int
    text: str
    terms: Terms

    @property
    def figures(self) -> Terms:
        return _figures(self.terms)


class _Grid:
    """A table with the terms of its cells and headers."""

    def __init__(self, table: ChunkTable) -> None:
        self._table = table
        self._first = max(1, table.label_columns)
        self._cells = [
            [
                [_Cell(row, at, line, terms_of(line)) for line in cell.split("\n") if line.strip()]
                for at, cell in enumerate(cells)
            ]
            for row, cells in enumerate(table.rows)
        ]
        self._terms = [[_union(one.terms for one in cell) for cell in row] for row in self._cells]
        self._headers = [terms_of(one.replace(UNDER, " ")) for one in table.header]
        self._labels = [_union(row[: self._first]) for row in self._terms]
        self._names = [self._names_of(row) for row in range(len(table.rows))]
        self._rarity = _rarity([_union(row) for row in self._terms])
        self._header_rarity = _rarity(self._headers)

    def _names_of(self, row: int) -> list[Terms]:
        """The label, the label without explanations in parentheses, and its lines."""
        label = self._cells[row][: self._first]
        bare = terms_of(_EXPLAINED.sub(" ", label_of(self._table, row)))
        lines = [one.terms for one in label[0]] if len(label) == 1 else []
        return [self._labels[row], bare, *lines]

    def verdict(self, text: str, words: Terms, by_question: bool) -> Misplaced | None:
        """The value that stands most nearly right; None when the text states none. What the
        question says itself is no value; a label is one where the text has nothing else of the
        table; a claim has its values verbatim."""
        stated = self._stated(text)
        values = [one for one in stated if one.column >= self._first]
        if by_question:
            values = [one for one in values or stated if not one.terms <= words]
        else:
            line = in_a_line(text)
            values = [one for one in values if one.figures or in_a_line(one.text) in line]
        places, rows = {(one.row, one.column) for one in stated}, cache(self._rows)
        verdicts = (
            self._verdict(one, own, rows(own, one.column), places)
            for one in values
            for own in (words if by_question else words - one.terms,)
        )
        return min(verdicts, key=lambda one: (one.margin, -one.meant), default=None)

    def _stated(self, text: str) -> list[_Cell]:
        """The longest that fits: `Non production` doesn't state `Production`."""
        claim, line = terms_of(text), in_a_line(text)
        cells = (one for row in self._cells for cell in row for one in cell)
        stated = {one: in_a_line(one.text) for one in cells if self._states(claim, one)}
        verbatim = {one for one in stated.values() if one in line}
        return [
            one
            for one, own in stated.items()
            if not any(own != longer and own in longer for longer in verbatim)
        ]

    def _states(self, claim: Terms, cell: _Cell) -> bool:
        if figures := cell.figures:
            measured = {one for one in figures if ":" in one}
            if measured and any(":" in one for one in _figures(claim)):
                return measured <= claim
            return figures - measured <= claim
        # Words that every row has count a little too.
        weights = {word: self._rarity(word) + 0.01 for word in cell.terms}
        own = sum(weight for word, weight in weights.items() if word in claim)
        return bool(weights) and own >= _STATED * sum(weights.values())

    def _verdict(
        self, cell: _Cell, words: Terms, rows: Sequence[_Place], stated: Set[tuple[int, int]]
    ) -> Misplaced:
        row, column = cell.row, cell.column
        own = rows[row].meant
        columns = self._columns(cell, words)
        others = [(0.0, row, column, "")]
        others += [
            (place.margin_over(rows[row]), at, column, label_of(self._table, at))
            for at, place in enumerate(rows)
            if place.meant > own and self._is_other(at, column, stated)
        ]
        others += [
            (place.margin_over(columns[column]), row, at, self._table.header[at])
            for at, place in columns.items()
            if self._is_other(row, at, stated)
        ]
        margin, other_row, other_column, there = max(others)
        is_row = other_column == column
        here = label_of(self._table, row) if is_row else self._table.header[column]
        other = self._table.rows[other_row][other_column]
        return Misplaced(cell.text, here, own, margin, other, there)

    def _is_other(self, row: int, column: int, stated: Set[tuple[int, int]]) -> bool:
        """Whether a place has a value, and another one than what is stated."""
        terms = self._terms[row]
        return column < len(terms) and bool(terms[column]) and (row, column) not in stated

    def _rows(self, words: Terms, column: int) -> list[_Place]:
        """The rows as places of a value in this column. Its header's words name no row, and neither
        does the label when the value is a label."""
        words = words - (self._headers[column] if column < len(self._headers) else Terms())
        places = []
        for row, terms in enumerate(self._terms):
            others = [one for at, one in enumerate(terms) if at != column and at >= self._first]
            names = self._names[row] if column >= self._first else ()
            places.append(_Place(words, names, _union(others), self._rarity))
        return places

    def _columns(self, cell: _Cell, words: Terms) -> Mapping[int, _Place]:
        """The columns whose value in the cell's row has figures, or none, as the cell."""
        row, has_figures = self._terms[cell.row], bool(cell.figures)
        return {
            at: _Place(words, (self._headers[at],), Terms(), self._header_rarity)
            for at in range(self._first, min(len(self._headers), len(row)))
            if at == cell.column or bool(_figures(row[at])) == has_figures
            if cell.column in range(self._first, len(self._headers))
        }


class _Place:
    """A row or a column, and how much some words mean it."""

    def __init__(
        self, words: Terms, names: Sequence[Terms], others: Terms, rarity: _Rarity
    ) -> None:
        """`names`: several ways to name it; `others`: what else its row has."""
        self._words, self._names, self._rarity = words, names, rarity
        self._every_name = _union(names)
        self._named = words & (self._every_name | others)
        by_name = max((self._named_by(name) for name in names), default=0.0)
        self.meant = max(0.0, by_name + _BESIDE * self._weight(self._named - self._every_name))

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(map(self._rarity, terms))

    def _named_by(self, name: Terms) -> float:
        missing = (one for one in name - self._words if one[0] != "#")
        named = self._words & name
        return self._weight(named) - _MISSING * self._weight(missing) if named else 0.0

    def margin_over(self, own: _Place) -> float:
        """How much more it is meant than a value's own place: 0 where the words have something of
        that one which this one lacks; less where they lack some of what tells its name from that
        one's."""
        if not own._named <= self._named:
            return 0.0
        shares = [
            self._weight(self._words & telling) / total
            for name in self._names
            for telling in (
                {one for one in name - own._every_name if one[0] != "#" or one in self._words},
            )
            if (total := self._weight(telling))
        ]
        return (self.meant - own.meant) * (max(shares, default=0.0) or _BESIDE)


def _rarity(groups: Sequence[Terms]) -> _Rarity:
    counts = Counter(word for group in groups for word in group)
    return lambda word: max(0.0, math.log((len(groups) + 0.5) / max(1, counts[word])))


def _figures(terms: Terms) -> Terms:
    return frozenset(one for one in terms if one[0] == "#")


def _union(some: Iterable[Terms]) -> Terms:
    return Terms().union(*some)


_grid = lru_cache(maxsize=32)(_Grid)
