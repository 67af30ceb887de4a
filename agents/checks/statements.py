"""The cited sources as comparable statements: sentences, list items and table rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise

from agents.context.sources import Source
from enrichment.chunk import ChunkTable, Unit
from enrichment.language.foreign_words import language_of
from enrichment.language.phrases import abbreviations
from enrichment.language.quantities import (
    CURRENCIES,
    Quantity,
    figures,
    intervals,
    is_rounded,
    quantities,
    unit_in,
)
from enrichment.language.words import sentences, stems, tokens

_THOUSANDS = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d)?)[kK]\b(?!-)")
_CLOCK = re.compile(r"(?<![\w:.])(\d{1,2})(?::(\d\d))? ?(?:([ap])\.?m\b\.?|Uhr\b)", re.IGNORECASE)
_SHORT_CLOCK = re.compile(r"(?<![\w:.])(\d:\d\d)(?![\w:])")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_WORD = re.compile(r"[^\W_]+")
_SIGNS = re.compile(r"[\W_]+")
_DAYS_PER_MONTH = (28, 31)
_SECONDS_PER_DAY = 86_400
_BARE = re.compile(r"\d[\d.,]*")
_HOURS = re.compile(r"(?<![\w:.])(\d{1,2})(?= ?(?:[-–—]|bis) ?\d{1,2}(?::\d\d)? ?Uhr\b)")
_LARGE = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)?)[ -](thousand|million)\b", re.IGNORECASE)


def plain_figures(text: str) -> str:
    """The text with `10k` and `10 thousand` as 10000, with `2 pm`, `9:15` and `8-18 Uhr` as 14:00,
    09:15 and 08:00-18:00."""
    text = _LARGE.sub(_written_out, _HOURS.sub(r"\1 Uhr", text))
    text = _THOUSANDS.sub(lambda match: str(round(float(match[1]) * 1000)), text)
    text = _CLOCK.sub(_on_the_clock, text)
    return _SHORT_CLOCK.sub(r"0\1", text)


def _written_out(match: re.Match[str]) -> str:
    factor = 1_000 if match[2].lower() == "thousand" else 1_000_000
    return f"{float(match[1].replace(',', '.')) * factor:.0f}"


def _on_the_clock(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 if match[3] else int(match[1])
    return f"{hour + 12 * ((match[3] or '').lower() == 'p'):02}:{match[2] or '00'}"


def same_span(one: Quantity, other: Quantity) -> bool:
    """Whether a number of days and a number of months can mean the same: `90 days`, `3 months`."""
    if {one.measure, other.measure} != {"time", "months"}:
        return False
    spans = {each.measure: float(each.value) for each in (one, other)}
    shortest, longest = (spans["months"] * days * _SECONDS_PER_DAY for days in _DAYS_PER_MONTH)
    return shortest <= spans["time"] <= longest


_units_of = lru_cache(maxsize=256)(lambda header: tuple(map(unit_in, header)))


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
            return quantities(plain_figures(self.text))
        cells = self.table.rows[self.row]
        return tuple(one for cell in cells for one in quantities(plain_figures(cell)))

    @property
    def under_headers(self) -> tuple[Quantity, ...]:
        """The bare numbers of a row, with the units of their headers."""
        if self.table is None:
            return ()
        cells = zip(_units_of(self.table.header), self.table.rows[self.row], strict=False)
        return tuple(
            quantity
            for unit, cell in cells
            if unit and _BARE.fullmatch(cell.strip())
            for quantity in quantities(f"{cell.strip()} {unit}")
        )


class CitedText:
    """The text of one claim's sources, indexed for comparison."""

    def __init__(
        self, numbers: Sequence[int], sources: Sequence[Source], marks: Sequence[str] = ()
    ) -> None:
        self.statements: list[CitedStatement] = []
        self.tables = tables_of(sources[number - 1] for number in numbers)
        places: list[str] = []
        texts: list[str] = []
        for number in numbers:
            source = sources[number - 1]
            places += [source.place, *marks[number - 1 : number]]
            texts += [source.text, *(chunk.index_text for chunk in source.chunks)]
            self.statements += _statements(number, source)
        self.place = stems(" ".join(places))
        self.text = plain_figures(
            "\n".join([*places, *(one.placed for one in self.statements), *texts])
        )
        self.lower = self.text.casefold()
        self.stems = self.place | stems(self.text)
        self.beginnings = frozenset(one[:5] for one in self.stems if len(one) >= 5)
        self.quantities = (
            *quantities(self.text),
            *intervals(self.text),
            *(one for statement in self.statements for one in statement.under_headers),
        )
        self._hours = {one.value for one in self.quantities if ":" in one.value}
        self._holding: dict[str, list[int]] = defaultdict(list)
        for place, statement in enumerate(self.statements):
            for word in statement.stems:
                self._holding[word].append(place)

    @cached_property
    def language(self) -> str:
        return language_of(self.text)

    @cached_property
    def same(self) -> tuple[tuple[frozenset[str], ...], ...]:
        """Stems of abbreviations that the sources explain, and of their long forms."""
        return _forms((short, long) for short, long in abbreviations(self.text).items())

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in lower case."""
        return frozenset(_WORD.findall(self.lower))

    @cached_property
    def joined(self) -> frozenset[str]:
        """Its words, and pairs of neighbors, without signs between their letters."""
        spelled = [_SIGNS.sub("", word) for word in tokens(self.lower)]
        pairs = (f"{one}{other}" for one, other in pairwise(spelled))
        return frozenset((*spelled, *pairs))

    @cached_property
    def initials(self) -> str:
        return "".join(word[0] for word in _WORD.findall(self.lower))

    @cached_property
    def _figures(self) -> frozenset[str]:
        return figures(self.text) | frozenset(_YEAR.findall(self.text))

    def has(self, amount: Quantity) -> bool:
        """Whether the sources hold a figure. A bare number counts for a figure with a unit only
        where its statement, heading or header has the unit, or in another language."""
        if any(
            (bool(amount.measure) == bool(other.measure) and amount.agrees(other))
            or (amount.measure == other.measure and is_rounded(amount, other))
            or same_span(amount, other)
            for other in self.quantities
        ):
            return True
        symbol = CURRENCIES.get(amount.measure, "")
        if symbol and symbol in self.text:  # in a header, or for a whole price list
            bare = [other for other in self.quantities if not other.measure]
            return any(amount.agrees(other) or is_rounded(amount, other) for other in bare)
        if not amount.measure:
            digits = amount.text.replace(",", "")
            return (
                digits in self._figures
                or any(amount.agrees(one) for one in self.quantities)
                or any(f"{hour:02}:00" in self._hours for hour in _hours(amount))
            )
        if self.language not in ("", "English"):
            return any(amount.agrees(other) for other in self.quantities if not other.measure)
        unit = {word for word in stems(amount.text) if not word[0].isdigit()}
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


def tables_of(sources: Iterable[Source]) -> list[ChunkTable]:
    """The tables of the sources, each with all its rows that they hold."""
    parts: dict[str, list[ChunkTable]] = defaultdict(list)
    for source in sources:
        for chunk in source.chunks:
            if chunk.table is not None:
                parts[chunk.table.id].append(chunk.table)
    return [_joined(groups) for groups in parts.values()]


def _hours(amount: Quantity) -> tuple[int, ...]:
    """The hours of the day that a bare number may mean: 9 and 21 for `from 9`."""
    hour = int(amount.value) if amount.value.isdigit() else 0
    return tuple(one for one in (hour, hour + 12) if 0 < hour < one + 1 <= 24)


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
    same: tuple[tuple[frozenset[str], ...], ...]
    """Entries of the glossary: stems of the abbreviation and of each meaning."""
    today: tuple[Quantity, ...] = ()
    language: str = ""


def asker_terms(
    text: str, glossary: Mapping[str, Sequence[str]], today: str | date = ""
) -> AskerTerms:
    dates = tuple(one for one in quantities(str(today)) if one.measure == "date")
    same = _forms((short, *meanings) for short, meanings in glossary.items())
    amounts = quantities(plain_figures(text))
    return AskerTerms(stems(text), text.casefold(), amounts, same, dates, language_of(text))


def _forms(entries: Iterable[tuple[str, ...]]) -> tuple[tuple[frozenset[str], ...], ...]:
    return tuple(tuple(filter(None, map(stems, entry))) for entry in entries)


def label_of(table: ChunkTable, row: int) -> str:
    """The row's distinct label cells; without any, its first cell."""
    return " ".join(dict.fromkeys(table.rows[row][: max(1, table.label_columns)]))


def _joined(parts: Sequence[ChunkTable]) -> ChunkTable:
    """One table of its row groups, in their order."""
    return replace(parts[0], rows=tuple(row for one in parts for row in one.rows))


def with_synonyms(
    words: frozenset[str], same: Iterable[tuple[frozenset[str], ...]]
) -> frozenset[str]:
    """The words, and the other forms of each entry that they hold in one form."""
    for forms in same:
        if any(form <= words for form in forms):
            words = words.union(*forms)
    return words
