"""The cited sources as comparable statements: sentences, list items and table rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from agents.context.sources import Source
from enrichment.chunk import ChunkTable, Unit
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import sentences, stems


@dataclass(frozen=True, eq=False)
class CitedStatement:
    number: int
    """Number of its source."""
    text: str
    placed: str
    """The text with its heading and, for a row, the header of each cell."""
    table: ChunkTable | None = None
    row: int = 0

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.placed) | stems(self.text)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        if self.table is None:
            return quantities(self.text)
        return tuple(one for cell in self.table.rows[self.row] for one in quantities(cell))


class CitedText:
    """The text of one claim's sources, indexed for comparison."""

    def __init__(
        self, numbers: Sequence[int], sources: Sequence[Source], marks: Sequence[str] = ()
    ) -> None:
        self.statements: list[CitedStatement] = []
        places: list[str] = []
        texts: list[str] = []
        for number in numbers:
            source = sources[number - 1]
            places += [source.place, *marks[number - 1 : number]]
            texts += [source.text, *(chunk.index_text for chunk in source.chunks)]
            self.statements += _statements(number, source)
        self.place = stems(" ".join(places))
        self.text = "\n".join([*places, *(one.placed for one in self.statements), *texts])
        self.lower = self.text.casefold()
        self.stems = self.place | stems(self.text)
        self.beginnings = frozenset(one[:5] for one in self.stems if len(one) >= 5)
        self.quantities = quantities(self.text)
        self._holding: dict[str, list[int]] = defaultdict(list)
        for place, statement in enumerate(self.statements):
            for word in statement.stems:
                self._holding[word].append(place)

    def has(self, amount: Quantity) -> bool:
        """Whether the sources hold a figure. A bare number counts for a figure with a unit only
        where its statement, heading or header has the unit."""
        if any(
            amount.agrees(other) and amount.measure == other.measure for other in self.quantities
        ):
            return True
        if not amount.measure:
            return any(amount.agrees(other) for other in self.quantities)
        unit = stems(amount.text)
        return any(
            amount.agrees(other) and not other.counts and unit & statement.stems
            for statement in self.statements
            for other in statement.quantities
            if not other.measure
        )

    def overlap(self, words: frozenset[str]) -> Mapping[int, float]:
        """Index of a statement → share of the words in it, 0–1; rare words weigh more."""
        weights: dict[int, float] = defaultdict(float)
        total = 0.0
        for word in words:
            holding = self._holding.get(word, [])
            weight = 1 / (1 + len(holding)) ** 0.5
            if holding:
                total += weight
            for place in holding:
                weights[place] += weight
        return {place: value / total for place, value in weights.items()} if total else {}

    @cached_property
    def tables(self) -> list[tuple[int, ChunkTable]]:
        by_id: dict[int, tuple[int, ChunkTable]] = {}
        for statement in self.statements:
            if statement.table is not None:
                by_id.setdefault(id(statement.table), (statement.number, statement.table))
        return list(by_id.values())


def _statements(number: int, source: Source) -> list[CitedStatement]:
    statements: list[CitedStatement] = []
    for chunk in source.chunks:
        heading = " ".join(chunk.heading_path[-1:])
        if not chunk.units:
            statements += [
                CitedStatement(number, one, f"{heading} {one}") for one in sentences(chunk.text)
            ]
        for unit in chunk.units:
            statements.append(_statement(number, unit, chunk.table, heading))
    return statements


def _statement(number: int, unit: Unit, table: ChunkTable | None, heading: str) -> CitedStatement:
    placed = f"{heading} {unit.index_text}"
    if unit.row is not None and table is not None and unit.row < len(table.rows):
        return CitedStatement(number, unit.text, placed, table, unit.row)
    return CitedStatement(number, unit.text, placed)


@dataclass(frozen=True)
class AskerTerms:
    """Words, figures and synonyms that an answer may take from the question and the glossary."""

    words: frozenset[str]
    lower: str
    figures: tuple[Quantity, ...]
    same: Mapping[str, frozenset[str]]
    """Stem → stems of its equivalents in the glossary."""
    today: tuple[Quantity, ...] = ()


def asker_terms(
    text: str, glossary: Mapping[str, Sequence[str]], today: str | date = ""
) -> AskerTerms:
    same: dict[str, frozenset[str]] = {}
    for abbreviation, meanings in glossary.items():
        forms = stems(" ".join((abbreviation, *meanings)))
        for word in forms:
            same[word] = same.get(word, frozenset()) | forms
    dates = tuple(one for one in quantities(str(today)) if one.measure == "date")
    return AskerTerms(stems(text), text.casefold(), quantities(text), same, dates)
