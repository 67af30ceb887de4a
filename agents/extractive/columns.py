"""Which columns a question asks for: by header, kind of value, and words of the cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from agents.extractive.relevance import Aspect
from agents.extractive.table import (
    UNDER,
    Column,
    cell_at,
    given_in,
    header_at,
    in_a_line,
    named_in_full,
    names_of,
    row_label,
    said_in,
    stems_of,
    together,
    value_at,
)
from agents.extractive.value_types import (
    YES_NO,
    KindAsked,
    column_kinds,
    denies,
    fits,
    kinds_of,
)
from enrichment.chunk import ChunkTable
from enrichment.language.words import stems

MOST_COLUMNS = 4
"""More is no answer to one question."""
_HOLDS, _DENIES = 1.2, 0.5
"""What it counts that a cell is of the kind asked for, or denies; 1 is a header that alone says
all that any header says of the question. A kind that fits is worth a little more: a header can
be named by chance, as a condition is (`who is told when the deadline is missed`)."""
_IN_CELL = 0.3
"""The same for words of the question in the cell: they tell apart what is otherwise alike."""
_SAME = 1e-6
_REFERS = re.compile(r"\W*(?:the )?(?:same as|as (?:for|in|with|under)|like|see)\b", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what|who|whose)\b", re.IGNORECASE)
"""Asks for the label of a row that is found by its cells (`which plan has 100 GB`)."""


def columns_asked(
    table: ChunkTable,
    rows: Sequence[int],
    aspect: Aspect,
    kinds: Sequence[KindAsked],
    given: frozenset[str],
) -> tuple[list[Column], float] | None:
    """(columns, how far ahead); for each kind asked, its own."""
    candidates = list(_candidates(table, rows, aspect, given))
    if not candidates:
        return None
    found: dict[tuple[int, ...], Column] = {}
    ahead = 1.0
    for asked in kinds or (None,):
        best = _best(table, rows, candidates, aspect, asked)
        if best is None:
            return None
        for column in best[0]:
            found[column.positions] = column
        ahead = min(ahead, best[1])
    for column in list(_referred_to(table, rows, list(found.values()))):
        found[column.positions] = column
    columns = [found[positions] for positions in sorted(found)]
    if len(columns) > MOST_COLUMNS:
        return None
    return columns, ahead


def _candidates(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect, given: frozenset[str]
) -> Iterator[Column]:
    """Columns beside the label, neighbours with the same cells merged; a row that is found by a
    cell may be asked for by its label. The cell that found it is what was given, not asked."""
    first = 0 if given and _WHICH.search(aspect.text) else table.label_columns
    width = max(len(table.rows[row]) for row in rows)
    last: Column | None = None
    for position in range(first, width):
        cells = tuple(cell_at(table, row, position) for row in rows)
        column = Column(header=header_at(table, position), positions=(position,), cell=cells[0])
        if given and any(given_in(table, row, position, aspect) & given for row in rows):
            continue
        joins = (
            last is not None
            and position > table.label_columns
            and last.positions[-1] == position - 1
            and all(len(stems(cell)) > 1 or " " in cell for cell in cells)
            and cells == tuple(cell_at(table, row, last.positions[-1]) for row in rows)
        )
        if joins and last is not None:
            merged = (*last.positions, position)
            header = together([header_at(table, each) for each in merged])
            last = replace(last, header=header, positions=merged)
            continue
        if last is not None:
            yield last
        last = column
    if last is not None:
        yield last


def _best(
    table: ChunkTable,
    rows: Sequence[int],
    candidates: Sequence[Column],
    aspect: Aspect,
    asked: KindAsked | None,
) -> tuple[list[Column], float] | None:
    taken = aspect.named_in(stems_of([row_label(table, row) for row in rows]))
    told = _told_apart(candidates, aspect, taken)
    most = max(_weight(words, aspect) for words in told)
    scores: list[float] = []
    naming: list[float] = []
    for column, words in zip(candidates, told, strict=True):
        named = _weight(words, aspect) / most if most else 0.0
        score = named + _kind_score(table, rows, column, asked)
        cells = stems_of([said_in(table, row, column) for row in rows])
        score += _IN_CELL * aspect.coverage(cells - taken)
        naming.append(named)
        scores.append(score)
    if len(candidates) == 1:
        return list(candidates), 1.0
    top = max(scores)
    # What a cell says beside its header and kind tells one column from another, never a group.
    firm = [
        at
        for at, score in enumerate(scores)
        if score > top - _SAME or (naming[at] and _alike(candidates, told, at, scores, aspect))
    ]
    firm = _exactly_named(candidates, told, firm, aspect.text)
    if top < _SAME or not any(
        naming[at] or _kind_score(table, rows, candidates[at], asked) >= _DENIES for at in firm
    ):
        return None
    if len(firm) > 1 and not all(naming[at] for at in firm):
        return None
    others = [score for at, score in enumerate(scores) if at not in firm]
    worst = min(scores[at] for at in firm)
    ahead = 1.0 if not others else max(0.0, min(1.0, (worst - max(0.0, *others, 0.0)) / worst))
    return [candidates[at] for at in firm], ahead


def _told_apart(
    candidates: Sequence[Column], aspect: Aspect, taken: Set[str]
) -> list[frozenset[str]]:
    """For each column, the words of the question that its header says; words that the row's label
    accounts for count only where nothing else tells."""
    named = [frozenset(aspect.named_in(stems(column.header))) for column in candidates]
    fresh = [words - taken for words in named]
    return fresh if any(fresh) else named


def _exactly_named(
    candidates: Sequence[Column], told: Sequence[Set[str]], firm: list[int], question: str
) -> list[int]:
    """Of those equally named, the ones whose own name stands in the question word for word
    (`own phone` names more than `company phone`, though `own` is a common word), or that say
    nothing more (`Fee` against `Fee for guests`)."""
    words = in_a_line(question)
    whole = [at for at in firm if in_a_line(candidates[at].header.split(UNDER)[-1]) in words]
    if whole and len(whole) < len(firm):
        return whole
    said = {at: stems(candidates[at].header) for at in firm}
    return [at for at in firm if not any(told[o] == told[at] and said[o] < said[at] for o in firm)]


def _alike(
    candidates: Sequence[Column],
    told: Sequence[Set[str]],
    at: int,
    scores: Sequence[float],
    aspect: Aspect,
) -> bool:
    """Whether a column is of the best one's group, and named by the same words or, in its own
    name, in full."""
    best = max(range(len(scores)), key=lambda each: scores[each])
    group, mark, own = candidates[at].header.rpartition(UNDER)
    if not mark or candidates[best].header.rpartition(UNDER)[0] != group:
        return False
    if told[at] == told[best]:
        return scores[best] - scores[at] < _IN_CELL
    return not told[at] < told[best] and named_in_full(names_of(own), aspect)


def says_header(column: Column, aspect: Aspect, rows: Sequence[int], table: ChunkTable) -> bool:
    taken = aspect.named_in(stems_of([row_label(table, row) for row in rows]))
    return bool(aspect.named_in(stems(column.header)) - taken)


def _weight(words: Set[str], aspect: Aspect) -> float:
    return sum(aspect.weights[word] for word in words)


def _kind_score(
    table: ChunkTable, rows: Sequence[int], column: Column, asked: KindAsked | None
) -> float:
    if asked is None:
        return 0.0
    if holds_kind(table, rows, [column], asked):
        return _DENIES if asked.kind == YES_NO else _HOLDS
    said = [said_in(table, row, column) for row in rows]
    return _DENIES / 2 if all(map(denies, said)) else 0.0


def holds_kind(
    table: ChunkTable, rows: Sequence[int], columns: Sequence[Column], asked: KindAsked
) -> bool:
    """Whether some column holds the kind in every row: its cell is of it, or denies or refers
    (`same as EU`) in a column that is."""
    return any(
        all(_is_of_kind(table, row, column, asked.kind) for row in rows) for column in columns
    )


def _is_of_kind(table: ChunkTable, row: int, column: Column, kind: str) -> bool:
    said = said_in(table, row, column)
    if not said:
        return False
    if fits(kind, kinds_of(said)):
        return True
    position = column.positions[0]
    cells = [value_at(table, each, position) for each in range(len(table.rows))]
    header = header_at(table, position) or table.header[position]
    return fits(kind, column_kinds(header, cells))


def _referred_to(
    table: ChunkTable, rows: Sequence[int], columns: Sequence[Column]
) -> Iterator[Column]:
    """`same as EU`: the column that a cell refers to by nothing but its name."""
    shown = {position for column in columns for position in column.positions}
    for row in rows:
        for column in columns:
            refers = _REFERS.match(said_in(table, row, column))
            words = names_of(said_in(table, row, column))
            for position in range(table.label_columns, len(table.header)):
                own = names_of(table.header[position].split(UNDER)[-1])
                if refers and own and words == own and position not in shown:
                    shown.add(position)
                    header, cell = header_at(table, position), cell_at(table, row, position)
                    yield Column(header=header, positions=(position,), cell=cell)
