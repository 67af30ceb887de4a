"""Checks that a claim takes a table's values from the rows and columns that it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import product

from agents.checks.claims import Claim
from agents.checks.statements import (
    AskerTerms,
    CitedText,
    label_of,
    plain_figures,
    with_synonyms,
)
from agents.extractive.table import UNDER, in_a_line
from enrichment.chunk import ChunkTable
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import codes, is_code, stems, tokens

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_OPTIONAL = re.compile(r"\([^)]*\)")
_ENUMERATED = 4
"""A sentence with more values lists several rows, and its words do not assign them."""
_SUBJECT = 0.5
"""Share of a claim's words in a sentence of the source about the same subject."""
_RATE = re.compile(r"(?:an?|per|each|every)\b", re.IGNORECASE)
_BARE = 4
"""A claim with more words than these has its own subject, and not that of the question."""
_CLAUSE = re.compile(r"[,;:()](?!\d)")
_ASSIGNS = re.compile(r"(?:\bis|\bare|[:=])\W*\Z", re.IGNORECASE)
"""Between a header and its value."""


@dataclass(frozen=True)
class _Text:
    """A cell's or a claim's text: its figures, and its words in one form."""

    text: str

    @cached_property
    def figures(self) -> tuple[Quantity, ...]:
        return tuple(
            one
            for one in quantities(plain_figures(self.text))
            if any(map(str.isdigit, one.text)) or (one.measure and not _RATE.match(one.text))
        )

    @cached_property
    def key(self) -> object:
        """Same for values that can't be told apart in a sentence."""
        return tuple((one.measure, one.value) for one in self.figures) or self.words

    @cached_property
    def words(self) -> str:
        return in_a_line(self.text)

    def states(self, cell: _Text) -> bool:
        """Whether it has the cell's figures, or its words verbatim."""
        if cell.figures:
            return all(any(_same(one, other) for other in self.figures) for one in cell.figures)
        return len(cell.words) > len("  a") and cell.words in self.words

    def differs(self, value: _Text) -> bool:
        """Whether neither has the other's figures or words."""
        return bool(self.words.strip()) and not self.states(value) and not value.states(self)

    def compares(self, value: _Text) -> bool:
        """Whether both have figures of one measure."""
        measures = {one.measure for one in value.figures}
        return any(one.measure in measures for one in self.figures)

    def beyond(self, value: _Text) -> tuple[Quantity, ...]:
        """Its figures that the value does not have."""
        return tuple(
            one for one in self.figures if not any(one.agrees(other) for other in value.figures)
        )

    @property
    def is_distinctive(self) -> bool:
        """Whether it is too specific to be in a sentence by coincidence."""
        return (
            bool(self.figures) or len(stems(self.text)) > 1 or any(map(is_code, tokens(self.text)))
        )


def _same(one: Quantity, other: Quantity) -> bool:
    return one.agrees(other) and bool(one.measure) == bool(other.measure)


class _Named:
    """Which of several labels some words name."""

    def __init__(self, labels: Mapping[int, str], words: frozenset[str]) -> None:
        own = {at: _stems(label) for at, label in labels.items()}
        common = frozenset.intersection(*own.values()) if len(set(own.values())) > 1 else None
        self._shared = {
            at: frozenset(w for w in label & words if not w.isdigit()) - (common or frozenset())
            for at, label in own.items()
        }
        counts = Counter(code for label in labels.values() for code in codes(label))
        whole = {
            at: own[at] & words
            for at, label in labels.items()
            if (needed := _stems(_OPTIONAL.sub(" ", label)) or own[at])
            and (
                needed <= words
                or any(counts[code] == 1 and stems(code) <= words for code in codes(label))
            )
        }
        best = whole or {at: shared for at, shared in self._shared.items() if shared}
        self.is_whole = bool(whole)
        self.best = [
            at for at, shared in best.items() if not any(shared < other for other in best.values())
        ]

    def passes_over(self, at: int, level: _Level) -> bool:
        """Whether it names others and not this one: as a whole, or in more words."""
        if self.is_whole and level is _Level.WHOLE:
            return at not in self.best
        shared = self._shared.get(at, frozenset())
        return bool(shared) and any(shared < self._shared[best] for best in self.best)


class _Grid:
    """A table with the words of its rows and columns."""

    def __init__(self, table: ChunkTable) -> None:
        self.first = table.label_columns
        self.cells = [[_Text(cell) for cell in row] for row in table.rows]
        self.labels = {row: label_of(table, row) for row in range(len(table.rows))}
        self.headers = {
            at: header for at, header in enumerate(table.header) if at >= self.first and header
        }

    def values(self, text: _Text) -> list[_Text]:
        """Each value that a text states."""
        stated = [cell for row in self.cells for cell in row[self.first :] if text.states(cell)]
        stated.sort(key=lambda cell: cell.words in text.words)
        return [*{cell.key: cell for cell in stated}.values()]

    def holders(self, value: _Text) -> list[tuple[int, int]]:
        return [
            (row, column)
            for row, cells in enumerate(self.cells)
            for column, cell in enumerate(cells)
            if column >= self.first and cell.states(value)
        ]

    def cell(self, row: int, column: int) -> _Text:
        cells = self.cells[row]
        return cells[column] if column < len(cells) else _Text("")

    def rows(self, words: frozenset[str]) -> _Named:
        return _Named(self.labels, words)

    def columns(self, words: frozenset[str]) -> _Named:
        """Among columns of one name in different groups, those whose group is named too."""
        return _Named({at: one.replace(UNDER, " ") for at, one in self.headers.items()}, words)

    def assigned(self, before: str) -> list[int]:
        """The columns whose header stands right before a value, the longest header."""
        leaves = {at: in_a_line(one.split(UNDER)[-1]) for at, one in self.headers.items()}
        fitting = {
            at: len(leaf) for at, leaf in leaves.items() if leaf.strip() and before.endswith(leaf)
        }
        return [at for at, length in fitting.items() if length == max(fitting.values())]


def cell_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """The fault of a claim that names a row or column and states another one's cell; else ''."""
    grids = [(number, _Grid(table)) for number, table in evidence.tables]
    for text, about, header in _cell_statements(claim):
        stated = _Text(text)
        values = {one.key: one for _, grid in grids for one in grid.values(stated)}
        if len(values) > _ENUMERATED:
            continue
        for value in values.values():
            statement = _Statement(stated, value, about, header, asker, evidence)
            verdicts = [(number, one) for number, grid in grids if (one := statement.verdict(grid))]
            best = max((one.named_by for _, one in verdicts), default=_Level.NONE)
            faults = [
                (number, one.fault)
                for number, one in verdicts
                if one.named_by == best and one.fault
            ]
            fits = any(one.named_by == best and not one.fault for _, one in verdicts)
            is_explicit = best is _Level.WITH_HEADER
            if faults and not fits and (is_explicit or not statement.is_in_prose()):
                number, fault = faults[0]
                return f"source {number} has {fault}"
    return ""


def _cell_statements(claim: Claim) -> Iterator[tuple[str, str, str]]:
    """(value, its subject, its header) for each cell of a row; for a sentence both are the
    sentence."""
    if not claim.cells:
        yield claim.text, f"{claim.around} {claim.text}", ""
        return
    label = claim.cells[0][1]
    for header, cell in claim.cells[1:]:
        yield cell, f"{claim.around} {label} {header}", header


class _Level(IntEnum):
    """How a row is named; a better naming decides."""

    NONE = 0
    BY_QUESTION = 1
    IN_PART = 2
    WHOLE = 3
    WITH_HEADER = 4


@dataclass(frozen=True)
class _Verdict:
    named_by: _Level
    fault: str = ""


class _Statement:
    """One value that a claim states."""

    def __init__(
        self,
        stated: _Text,
        value: _Text,
        about: str,
        header: str,
        asker: AskerTerms,
        evidence: CitedText,
    ) -> None:
        self._stated, self._value, self._evidence = stated, value, evidence
        phrase = r"\W+".join(map(re.escape, tokens(value.text)))
        verbatim = re.search(phrase, stated.text, re.IGNORECASE)
        # Words of the value itself name neither a row nor a column.
        self._about = re.sub(phrase, " ", about, flags=re.IGNORECASE) if verbatim else about
        self._own = _stems(self._about)
        self._same = (*asker.same, *evidence.same)
        self._asked = asker.words
        start = (
            verbatim.start()
            if verbatim
            else min(
                (f.start for f in stated.figures if any(_same(f, v) for v in value.figures)),
                default=0,
            )
        )
        opens = max((match.end() for match in _CLAUSE.finditer(stated.text, 0, start)), default=0)
        closes = _CLAUSE.search(stated.text, start)
        clause = stated.text[opens : closes.start() if closes else None]
        self._clause = stems(clause.replace(stated.text[start:][: len(value.text)], " "))
        before = _ASSIGNS.sub("", stated.text[:start])
        self._header = in_a_line(header or (before if before != stated.text[:start] else ""))

    def is_in_prose(self) -> bool:
        """Whether a sentence about the same subject has the value too."""
        return any(
            one.table is None
            and len(self._clause & one.stems) >= _SUBJECT * len(self._clause)
            and _Text(one.text).states(self._value)
            for one in self._evidence.statements
        )

    def verdict(self, grid: _Grid) -> _Verdict | None:
        """None where the table does not decide."""
        holders = grid.holders(self._value)
        if not holders:
            return None
        assigned = grid.assigned(self._header)
        own = _stems(self._without_header(grid, assigned))
        words = with_synonyms(own, self._same)
        rows = grid.rows(words)
        level = _Level.WHOLE if rows.is_whole else _Level.IN_PART
        if not rows.best and len(self._own) <= _BARE:
            rows = grid.rows(with_synonyms(own | self._asked, self._same))
            level = _Level.BY_QUESTION
        if not rows.best:
            return None
        if assigned and level is _Level.WHOLE:
            cells = [(grid.cell(row, at), at) for row in rows.best for at in assigned]
            other = next(((cell, at) for cell, at in cells if cell.words.strip()), None)
            if other and not any(cell.states(self._value) for cell, _ in cells):
                return _Verdict(_Level.WITH_HEADER, self._under(grid, *other))
            return _Verdict(_Level.WITH_HEADER)
        right = [one for one in holders if not rows.passes_over(one[0], level)]
        if not right:
            return self._other_row(grid, rows, {at for _, at in holders}, level)
        columns = grid.columns(with_synonyms(self._own, self._same))
        if not columns.best and len(self._own) <= _BARE:
            columns = grid.columns(with_synonyms(self._own | self._asked, self._same))
        return self._other_column(grid, columns, right, level)

    def _without_header(self, grid: _Grid, assigned: Sequence[int]) -> str:
        text = self._about
        for at in assigned:
            phrase = r"\W+".join(map(re.escape, tokens(grid.headers[at].split(UNDER)[-1])))
            text = re.sub(phrase, " ", text, flags=re.IGNORECASE)
        return text

    def _other_row(
        self, grid: _Grid, rows: _Named, columns: Iterable[int], level: _Level
    ) -> _Verdict | None:
        named = grid.columns(with_synonyms(self._own, self._same)).best
        for row, column in product(rows.best, columns):
            if not (self._value.figures or (column in named and self._value.is_distinctive)):
                continue
            cell = grid.cell(row, column)
            if bool(cell.figures) == bool(self._value.figures) and self._is_instead(cell):
                label = grid.labels[row]
                return _Verdict(level, f"{cell.text!r} for {label!r}, not {self._value.text!r}")
        return None

    def _other_column(
        self, grid: _Grid, columns: _Named, right: Sequence[tuple[int, int]], level: _Level
    ) -> _Verdict:
        fits = any(not columns.passes_over(column, _Level.WHOLE) for _, column in right)
        if self._value.figures and columns.best and not fits:
            for (row, _), column in product(right, columns.best):
                cell = grid.cell(row, column)
                if cell.compares(self._value) and self._is_instead(cell):
                    return _Verdict(level, self._under(grid, cell, column))
        return _Verdict(level)

    def _under(self, grid: _Grid, cell: _Text, column: int) -> str:
        return f"{cell.text!r} under {grid.headers[column]!r}, not {self._value.text!r}"

    def _is_instead(self, cell: _Text) -> bool:
        """Whether a cell has another value, which the claim does not state beside this one."""
        return (
            cell.differs(self._value)
            and not self._stated.states(cell)
            and not any(
                one.agrees(other)
                for one in cell.beyond(self._value)
                for other in self._stated.figures
            )
        )


def _stems(text: str) -> frozenset[str]:
    return stems(_THOUSANDS.sub("", plain_figures(text)))
