"""Finds the columns that a question asks for: by header, kind of value, and words of the cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from agents.extractive.relevance import Aspect
from agents.extractive.table import (
    UNDER,
    Column,
    cell_at,
    header_at,
    in_a_line,
    named_in_full,
    names_of,
    question_words_in,
    row_label,
    stems_of,
    together,
    value_at,
    value_in,
)
from agents.extractive.value_types import YES_NO, KindRequest, column_kinds, denies, fits, kinds_of
from enrichment.chunk import ChunkTable
from enrichment.language.words import stems

MAX_COLUMNS = 4
"""More columns are no answer to one question."""
_HOLDS, _DENIES = 1.2, 0.5
"""Scores of a cell that has the requested kind, or denies. A header scores 1 when it alone has all
words that any header shares with the question. A fitting kind scores more: a header's words may be
a coincidence, as in the condition `who is told when the deadline is missed`."""
_IN_CELL = 0.3
"""Score of the question's words in the cell: it decides between otherwise equal columns."""
_SAME = 1e-6
_REFERS = re.compile(r"\W*(?:the )?(?:same as|as (?:for|in|with|under)|like|see)\b", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what|who|whose)\b", re.IGNORECASE)
"""A question for the label of a row that is matched by its cells: `which plan has 100 GB`."""


def requested_columns(
    table: ChunkTable,
    rows: Sequence[int],
    aspect: Aspect,
    kinds: Sequence[KindRequest],
    matched_words: frozenset[str],
) -> tuple[list[Column], float] | None:
    """(columns for each requested kind, relative lead 0–1); None when no column fits."""
    candidates = list(_candidates(table, rows, aspect, matched_words))
    if not candidates:
        return None
    by_positions: dict[tuple[int, ...], Column] = {}
    ahead = 1.0
    for request in kinds or (None,):
        best = _best(table, rows, candidates, aspect, request)
        if best is None:
            return None
        for column in best[0]:
            by_positions[column.positions] = column
        ahead = min(ahead, best[1])
    for column in list(_referred_to(table, rows, list(by_positions.values()))):
        by_positions[column.positions] = column
    columns = [by_positions[positions] for positions in sorted(by_positions)]
    return (columns, ahead) if len(columns) <= MAX_COLUMNS else None


def _candidates(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect, matched_words: frozenset[str]
) -> Iterator[Column]:
    """Value columns, with equal neighbors merged. A row that is matched by a cell may be requested
    by its label; the column of the matched cell is no candidate."""
    first = 0 if matched_words and _WHICH.search(aspect.text) else table.label_columns
    width = max(len(table.rows[row]) for row in rows)
    last: Column | None = None
    for position in range(first, width):
        cells = tuple(cell_at(table, row, position) for row in rows)
        column = Column(header=header_at(table, position), positions=(position,), cell=cells[0])
        if matched_words and any(
            question_words_in(table, row, position, aspect) & matched_words for row in rows
        ):
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
    request: KindRequest | None,
) -> tuple[list[Column], float] | None:
    label_words = aspect.named_in(stems_of([row_label(table, row) for row in rows]))
    header_words = _distinct_header_words(candidates, aspect, label_words)
    max_weight = max(_weight(words, aspect) for words in header_words)
    scores: list[float] = []
    naming: list[float] = []
    for column, words in zip(candidates, header_words, strict=True):
        share = _weight(words, aspect) / max_weight if max_weight else 0.0
        score = share + _kind_score(table, rows, column, request)
        cells = stems_of([value_in(table, row, column) for row in rows])
        score += _IN_CELL * aspect.coverage(cells - label_words)
        naming.append(share)
        scores.append(score)
    if len(candidates) == 1:
        return list(candidates), 1.0
    top = max(scores)
    # Words of a cell decide between single columns, never for a group.
    firm = [
        at
        for at, score in enumerate(scores)
        if score > top - _SAME
        or (naming[at] and _is_in_best_group(candidates, header_words, at, scores, aspect))
    ]
    firm = _by_exact_name(candidates, header_words, firm, aspect.text)
    if top < _SAME or not any(
        naming[at] or _kind_score(table, rows, candidates[at], request) >= _DENIES for at in firm
    ):
        return None
    if len(firm) > 1 and not all(naming[at] for at in firm):
        return None
    other_scores = [score for at, score in enumerate(scores) if at not in firm]
    worst = min(scores[at] for at in firm)
    ahead = (worst - max(0.0, *other_scores)) / worst if other_scores else 1.0
    return [candidates[at] for at in firm], max(0.0, min(1.0, ahead))


def _distinct_header_words(
    candidates: Sequence[Column], aspect: Aspect, label_words: Set[str]
) -> list[frozenset[str]]:
    """The words of the question in each column's header; words of the row's label count only where
    no header has others."""
    by_header = [frozenset(aspect.named_in(stems(column.header))) for column in candidates]
    fresh = [words - label_words for words in by_header]
    return fresh if any(fresh) else by_header


def _by_exact_name(
    candidates: Sequence[Column], header_words: Sequence[Set[str]], firm: list[int], question: str
) -> list[int]:
    """Among equally named columns, those whose own name is verbatim in the question (`own phone`
    beats `company phone`, although `own` is a common word), or whose header has nothing more
    (`Fee` beats `Fee for guests`)."""
    words = in_a_line(question)
    whole = [at for at in firm if in_a_line(candidates[at].header.split(UNDER)[-1]) in words]
    if whole and len(whole) < len(firm):
        return whole
    stems_at = {at: stems(candidates[at].header) for at in firm}
    return [
        at
        for at in firm
        if not any(header_words[o] == header_words[at] and stems_at[o] < stems_at[at] for o in firm)
    ]


def _is_in_best_group(
    candidates: Sequence[Column],
    header_words: Sequence[Set[str]],
    at: int,
    scores: Sequence[float],
    aspect: Aspect,
) -> bool:
    """Whether a column is in the best one's group, and named by the same words or its full name."""
    best = max(range(len(scores)), key=lambda each: scores[each])
    group, mark, own = candidates[at].header.rpartition(UNDER)
    if not mark or candidates[best].header.rpartition(UNDER)[0] != group:
        return False
    if header_words[at] == header_words[best]:
        return scores[best] - scores[at] < _IN_CELL
    return not header_words[at] < header_words[best] and named_in_full(names_of(own), aspect)


def _weight(words: Set[str], aspect: Aspect) -> float:
    return sum(aspect.weights[word] for word in words)


def _kind_score(
    table: ChunkTable, rows: Sequence[int], column: Column, request: KindRequest | None
) -> float:
    if request is None:
        return 0.0
    if holds_kind(table, rows, [column], request):
        return _DENIES if request.kind == YES_NO else _HOLDS
    values = [value_in(table, row, column) for row in rows]
    return _DENIES / 2 if all(map(denies, values)) else 0.0


def holds_kind(
    table: ChunkTable, rows: Sequence[int], columns: Sequence[Column], request: KindRequest
) -> bool:
    """Whether some column has the kind in every row: the cell has it, or denies or refers
    (`same as EU`) in a column of that kind."""
    return any(
        all(_is_of_kind(table, row, column, request.kind) for row in rows) for column in columns
    )


def _is_of_kind(table: ChunkTable, row: int, column: Column, kind: str) -> bool:
    value = value_in(table, row, column)
    if not value:
        return False
    if fits(kind, kinds_of(value)):
        return True
    position = column.positions[0]
    cells = [value_at(table, each, position) for each in range(len(table.rows))]
    header = header_at(table, position) or table.header[position]
    return fits(kind, column_kinds(header, cells))


def _referred_to(
    table: ChunkTable, rows: Sequence[int], columns: Sequence[Column]
) -> Iterator[Column]:
    """The column that a cell refers to by name alone: `same as EU`."""
    used_positions = {position for column in columns for position in column.positions}
    for row in rows:
        for column in columns:
            refers = _REFERS.match(value_in(table, row, column))
            words = names_of(value_in(table, row, column))
            for position in range(table.label_columns, len(table.header)):
                own = names_of(table.header[position].split(UNDER)[-1])
                if refers and own and words == own and position not in used_positions:
                    used_positions.add(position)
                    header, cell = header_at(table, position), cell_at(table, row, position)
                    yield Column(header=header, positions=(position,), cell=cell)
