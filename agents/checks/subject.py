"""Whether an answer is about what was asked: the subject, the region, the role, the environment.

What an answer says stands in a row and a column of a table, or in a section of a document. Such a
place is the wrong one when a sibling of it, another row, column or section, has all words of the
question that it has, and further ones: `Restricted` where `Confidential` was cited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import MappingProxyType

from agents.answer import CITATION
from agents.checks.claims import Claim, claims_of, numbers_in
from agents.checks.statements import joined_rows, label_of
from agents.context.sources import Source
from agents.extractive.language import same_words
from agents.extractive.relevance import Aspect
from agents.extractive.table import UNDER, in_a_line
from enrichment.chunk import ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import naming_words, stems, tokens

_SEVERAL = 3
"""Words of a question from which on most of a name, instead of all of it, mean a place."""
_EXPLAINED = re.compile(r"\([^()]{0,200}\)")
_FAR_MORE = 3
"""Words of the question."""
_ALIKE = 0.5
"""Share of common words from which on two texts are editions of one."""
_TURNING = frozenset(
    {"without", "not", "non", "no", "before", "after", "above", "below", "under", "over"}
)
"""Function words by which two names may differ."""


class Terms(Aspect):
    """The naming words of a question, each of the same weight."""

    @classmethod
    def of(cls, question: str, glossary: Mapping[str, Sequence[str]]) -> Terms:
        weights = dict.fromkeys(_words(question), 1.0)
        return cls(text=question, weights=weights, same=same_words(glossary, question))

    def share(self, words: AbstractSet[str]) -> float:
        """Share of these words that the question has, 0–1."""
        count = sum(bool(self.named_in({word})) for word in words)
        return count / len(words) if words else 0.0


def subject_fault(
    text: str,
    sources: Sequence[Source],
    *,
    question: str,
    glossary: Mapping[str, Sequence[str]] = MappingProxyType({}),
    read: Sequence[Source] = (),
) -> str:
    """What was asked, and what the answer is about instead; '' when no place contradicts it.

    `[n]` is `sources[n - 1]`. `read`: all sources that the answer could have been drawn from."""
    query = Terms.of(question, glossary)
    whole = Claim(text=CITATION.sub("", text), numbers=numbers_in(text))
    claims = [one for one in claims_of(text) or (whole,) if one.kind == "statement"]
    cited = [[sources[n - 1] for n in claim.numbers if 1 <= n <= len(sources)] for claim in claims]
    faults = [
        _cells_fault(claim, its, query, glossary) for claim, its in zip(claims, cited, strict=True)
    ]
    if faults and all(faults):
        return faults[0]
    used = list(dict.fromkeys(source for its in cited for source in its))
    return _source_fault(text, used, query, read) if used else ""


def _cells_fault(
    claim: Claim,
    cited: Sequence[Source],
    query: Terms,
    glossary: Mapping[str, Sequence[str]],
) -> str:
    """The wrong row or column of the values that a claim states; '' when one stands right."""
    text = " ".join((claim.text, *(cell for _, cell in claim.cells)))
    claim_terms, fault = Terms.of(text, glossary), ""
    for table in _tables(cited):
        first, heads = table.label_columns, _heads(table)
        rows = Places.of([cells[:first] for cells in table.rows], query)
        columns = Places.of([(head,) for head in heads], query)
        cells = _stated_cells(text, table)
        cells = _narrowed(cells, 0, rows, claim_terms)
        cells = _narrowed(cells, 1, columns, claim_terms)
        values = {(row, in_a_line(table.rows[row][first + at])) for row, at in cells}
        has_one_value = len(values) == len({row for row, _ in cells})
        if not _is_told(text, cells, table, query):
            continue
        for row, at in cells:
            cell = table.rows[row][first + at]
            others = [
                (label_of(table, other), label_of(table, row), table.rows[other][first + at])
                for other in rows.rivals(row)
            ]
            others += [
                (heads[other], heads[at], table.rows[row][first + other])
                for other in (columns.rivals(at) if has_one_value else ())
                if quantities(table.rows[row][first + other]) or not quantities(cell)
            ]
            rival = next(
                (f"{a!r}, not {b!r}" for a, b, value in others if _differ(value, cell)),
                "",
            )
            if not rival:
                return ""
            fault = fault or rival
    return fault


def _stated_cells(text: str, table: ChunkTable) -> Sequence[tuple[int, int]]:
    """(row, column after the labels) of the cells that a text repeats; where none with a figure is
    repeated, also of those whose figures it has."""
    every = {
        (row, at): cell
        for row, cells in enumerate(table.rows)
        for at, cell in enumerate(cells[table.label_columns :])
    }
    repeats = [one for one, cell in every.items() if _repeats(text, cell)]
    if any(quantities(every[one]) for one in repeats):
        return repeats
    return [*repeats, *(one for one, cell in every.items() if _has_figures(text, cell))]


def _is_told(text: str, cells: Sequence[tuple[int, int]], table: ChunkTable, query: Terms) -> bool:
    """Whether these cells are half of what a text says besides the words of the question, of their
    labels and headers: a sentence with more to tell has it from elsewhere."""
    first = table.label_columns
    values = [table.rows[row][first + at] for row, at in cells]
    names = [label_of(table, row) for row, _ in cells] + [
        table.header[first + at] for _, at in cells
    ]
    own, words = _words(" ".join(values)), {one for one in _words(text) if not one[0].isdigit()}
    rest = words - own - _words(" ".join(names)) - query.named_in(words)
    return len(rest) <= len(own & words) + any(map(quantities, values))


def _narrowed(
    cells: Sequence[tuple[int, int]], axis: int, places: Places, claim_terms: Terms
) -> Sequence[tuple[int, int]]:
    """The cells whose row or column the claim names, where it names one of them."""
    return [one for one in cells if claim_terms.share(places.own[one[axis]]) == 1] or cells


def _source_fault(text: str, used: Sequence[Source], query: Terms, read: Sequence[Source]) -> str:
    """Another source has all words of the question that the cited ones and the answer have, and
    further ones, also in its title and headings; or far more of them, and most of the question's.

    Of another document it must have few further ones, or most of the question's, or read nearly the
    same: documents about other things share single words with a question in words of its own."""
    here = query.named_in(stems(" ".join((text, *map(_whole, used)))))
    place = query.named_in(stems(" ".join(one.place for one in used)))
    documents = {one.first.document_id for one in used}
    sections = {one.first.section for one in used}
    for source in read:
        named = query.named_in(stems(source.place))
        if source.first.section in sections or named <= here:
            continue
        there = query.named_in(stems(_whole(source)))
        has_most = 2 * len(there) >= len(query.weights)
        is_near = has_most or 2 * len(there - here) <= len(here)
        is_sibling = is_near or source.first.document_id in documents
        if (has_most and len(there) >= len(here) + _FAR_MORE) or (
            place < named
            and here <= there
            and (is_sibling or any(_likeness(source, one) >= _ALIKE for one in used))
        ):
            return f"{source.place!r}, not {used[0].place!r}"
    return ""


def _likeness(one: Source, other: Source) -> float:
    """Share of the words of both texts that both have, 0–1."""
    first, second = stems(one.text), stems(other.text)
    return len(first & second) / max(1, len(first | second))


def _whole(source: Source) -> str:
    return f"{source.place} {source.text}"


@dataclass(frozen=True)
class Places:
    """Sibling places: the rows of a table, or its columns."""

    query: Terms
    parts: tuple[tuple[frozenset[str], ...], ...]
    """Words of each part of a place's name that not all of them have, without parentheses."""
    own: tuple[frozenset[str], ...]
    """The same, of the whole name."""
    named: tuple[AbstractSet[str], ...]
    """The question's words among them."""

    @classmethod
    def of(cls, names: Sequence[Sequence[str]], query: Terms) -> Places:
        """`names`: each one in its parts, for instance the label columns of a row."""
        words = [tuple(map(_words, name)) for name in names]
        every = [frozenset[str]().union(*parts) for parts in words]
        shared = frozenset.intersection(*every) if len(every) > 1 else frozenset()
        bare = [[_words(_EXPLAINED.sub(" ", part) or part) for part in name] for name in names]
        parts = tuple(tuple(part - shared for part in name) for name in bare)
        own = tuple(one - shared for one in every)
        return cls(query, parts, own, tuple(query.named_in(one) for one in own))

    def rivals(self, place: int) -> list[int]:
        """Siblings that the question means rather than this one, best first."""
        own, here = self.own[place], self.named[place]
        is_meant = bool(own) and self.query.share(own) == 1
        rivals = [
            other
            for other, named in enumerate(self.named)
            if (here < named and any(self._means(one - own, is_meant) for one in self.parts[other]))
            or self._outdoes(self.parts[other], self.parts[place])
        ]
        return sorted(rivals, key=lambda other: -len(self.named[other]))

    def _outdoes(self, other: Sequence[frozenset[str]], here: Sequence[frozenset[str]]) -> bool:
        """Whether the question has a part of the other's name whole, two words or more, and not the
        same part of this one's, and nothing more of the rest of this one's."""
        pairs = [*zip(other, here, strict=True)]
        return any(
            len(one - two) > 1 and self.query.share(one) == 1 and self.query.share(two) < 1
            for one, two in pairs
        ) and not any(
            self.query.named_in(two) - self.query.named_in(one)
            for one, two in pairs
            if self.query.share(one) < 1 or self.query.share(two) == 1
        )

    def _means(self, further: frozenset[str], is_meant: bool) -> bool:
        """Whether the question has the words by which a sibling differs: all of them, or, where it
        doesn't mean this place itself, most of several."""
        count = sum(bool(self.query.named_in({word})) for word in further)
        if count == len(further):
            return bool(further)
        return not is_meant and count >= _SEVERAL and 3 * count >= 2 * len(further)


def _tables(cited: Sequence[Source]) -> list[ChunkTable]:
    """The tables of the sources, each with all its rows that they hold and a label column."""
    parts: dict[str, list[ChunkTable]] = {}
    for source in cited:
        for chunk in source.chunks:
            if chunk.table is not None:
                parts.setdefault(chunk.table.id, []).append(chunk.table)
    tables = map(joined_rows, parts.values())
    return [replace(one, label_columns=max(1, one.label_columns)) for one in tables]


def _heads(table: ChunkTable) -> list[str]:
    """Names of the columns without labels; with their group where several have one name."""
    paths = [header.split(UNDER) for header in table.header[table.label_columns :]]
    leaves = Counter(path[-1] for path in paths)
    return [path[-1] if leaves[path[-1]] == 1 else " ".join(path) for path in paths]


def _repeats(text: str, cell: str) -> bool:
    words = in_a_line(cell)
    return len(words.strip()) > 1 and words in in_a_line(text)


def _has_figures(text: str, cell: str) -> bool:
    own, needed = quantities(text), quantities(cell)
    return bool(needed) and all(
        any(one.agrees(each) and bool(one.measure) == bool(each.measure) for one in own)
        for each in needed
    )


def _differ(one: str, other: str) -> bool:
    """Whether two cells say different things, and the first says something."""
    first, second = in_a_line(one).strip(), in_a_line(other).strip()
    return bool(first) and first not in second and second not in first


def _words(text: str) -> frozenset[str]:
    turning = {token.casefold() for token in tokens(text)} & _TURNING
    return frozenset(naming_words(text)) | turning
