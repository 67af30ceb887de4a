"""Finds the table cells or the list item that a question asks for, and writes them as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from agents.extractive.columns import holds_kind, requested_columns
from agents.extractive.relevance import Aspect
from agents.extractive.table import (
    Column,
    flat,
    header_at,
    in_a_line,
    named_in_full,
    names_of,
    notes_of,
    question_words_in,
    row_label,
    short_label,
    stems_of,
    value_in,
)
from agents.extractive.value_types import KindRequest, fits, kinds_of, requested_kinds
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import stems

MAX_ROWS = 6
"""More rows are no answer to one question and unreadable on a phone."""
_SAME = 1e-6


@dataclass(frozen=True, kw_only=True)
class RequestedCells:
    """Cells of one table that a question asks for."""

    table: ChunkTable
    rows: tuple[int, ...]
    """The best-named rows, 1–6; several when they differ only in what the question leaves open."""
    columns: tuple[Column, ...]
    """In the table's order, 1–4; several when the question names a group of columns."""
    left_over: frozenset[str]
    """Naming stems of the question that neither header, label, caption, cell or kind of value cover
    nor the chunk's title and headings."""
    kind: str
    """First kind of value asked for: a key of `value_types.ALSO`; '' if unclear."""
    has_kind: bool | None
    """Whether the cells hold every requested kind; None when the question requests none."""
    ahead: float
    """Relative lead of the worst chosen column over the best other one, 0–1; 1: no other column."""
    notes: tuple[str, ...] = ()
    """Footnotes that these cells or their labels refer to."""


def requested_cells(chunk: Chunk, rows: Sequence[int], aspect: Aspect) -> RequestedCells | None:
    """None when no column fits, or when a requested cell is empty: the whole row is then better
    than a guess.

    `rows`: candidates; the result has those that the question names best. `aspect`: the question
    with the glossary."""
    table = chunk.table
    if table is None or not rows:
        return None
    best_rows, matched_words = _best_named_rows(table, rows, aspect)
    if not best_rows or len(best_rows) > MAX_ROWS:
        return None
    if any(_has_other_quantity(table, row, aspect) for row in best_rows):
        return None
    kinds = requested_kinds(aspect.text)
    choice = requested_columns(table, best_rows, aspect, kinds, matched_words)
    if choice is None:
        return None
    columns, ahead = choice
    best_rows = _rows_of_the_kind(table, best_rows, columns, kinds)
    if any(value_in(table, row, column) == "" for row in best_rows for column in columns):
        return None
    has_kinds = [holds_kind(table, best_rows, columns, request) for request in kinds]
    question_words = frozenset(aspect.weights)
    by_kind = {
        word for request, fit in zip(kinds, has_kinds, strict=True) if fit for word in request.words
    }
    texts = [table.caption, *table.header[: table.label_columns]]
    texts += [row_label(table, row) for row in best_rows]
    texts += [column.header for column in columns]
    texts += [value_in(table, row, column) for row in best_rows for column in columns]
    if matched_words:
        texts += [cell for row in best_rows for cell in table.rows[row]]
    used = (aspect.named_in(stems_of(texts)) | by_kind) & question_words
    around = stems_of([chunk.document_title, chunk.tab, *chunk.heading_path])
    return RequestedCells(
        table=table,
        rows=tuple(best_rows),
        columns=tuple(columns),
        left_over=question_words - used - aspect.named_in(around),
        kind=kinds[0].kind if kinds else "",
        has_kind=all(has_kinds) if kinds else None,
        ahead=ahead,
        notes=notes_of(chunk, best_rows, columns),
    )


def cells_text(cells: RequestedCells) -> str:
    """`60 days (API signing key (Quay) · Restricted, Maximum age › SG)`; several cells become a
    small table with the rows' labels. Footnotes follow."""
    if len(cells.rows) == 1 and len(cells.columns) == 1:
        text = _one_cell(cells.table, cells.rows[0], cells.columns[0])
    else:
        text = _small_table(cells)
    return "\n\n".join([text, *(f"_{note}_" for note in cells.notes)])


def _one_cell(table: ChunkTable, row: int, column: Column) -> str:
    label = short_label(table, row)
    context = [part for part in (label, column.header) if part]
    value = value_in(table, row, column)
    if value == row_label(table, row):
        context = [column.header] if column.header else []
    return f"{value} ({', '.join(context)})" if context else value


def _small_table(request: RequestedCells) -> str:
    table = request.table
    labels = [
        position
        for position in range(table.label_columns)
        if not any(position in column.positions for column in request.columns)
    ]
    header = [header_at(table, position) for position in labels]
    lines = [[*header, *(column.header for column in request.columns)]]
    lines.append(["---"] * len(lines[0]))
    for row in request.rows:
        cells = [flat(table.rows[row][position]) for position in labels]
        lines.append([*cells, *(value_in(table, row, column) for column in request.columns)])
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )


def _rows_of_the_kind(
    table: ChunkTable, rows: list[int], columns: Sequence[Column], kinds: Sequence[KindRequest]
) -> list[int]:
    """Keeps, of several rows, those whose cell has the requested kind, if any has."""
    if len(rows) == 1 or not kinds:
        return rows
    fitting = [row for row in rows if holds_kind(table, [row], columns, kinds[0])]
    return fitting or rows


def _best_named_rows(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect
) -> tuple[list[int], frozenset[str]]:
    """(best-named rows, by label or else by cell value; question words that matched cells)."""
    labels = {row: names_of(row_label(table, row)) for row in rows}
    words = {row: aspect.named_in(label) for row, label in labels.items()}
    if not any(words.values()):
        return _rows_by_value(table, rows, aspect)
    rows = _without_header_words(table, rows, words, aspect)
    weight = {row: sum(aspect.weights[word] for word in words[row]) for row in rows}
    max_weight = max(weight.values())
    best = [
        row
        for row in rows
        if weight[row] > max_weight - _SAME
        or (
            named_in_full(labels[row], aspect)
            and not any(words[row] < words[other] for other in rows)
        )
    ]
    exact = [
        row
        for row in best
        if not any(words[row] == words[other] and labels[other] < labels[row] for other in best)
    ]
    question = in_a_line(aspect.text)
    whole = [row for row in exact if in_a_line(row_label(table, row)) in question]
    as_well = [row for row in exact if all(words[row] != words[other] for other in whole)]
    return sorted({*whole, *as_well}), frozenset()


def _without_header_words(
    table: ChunkTable, rows: Sequence[int], words: Mapping[int, Set[str]], aspect: Aspect
) -> list[int]:
    """Drops rows that beat a row with a verbatim label only by words of a header: `members of Team`
    names `Team`, not `Team members`."""
    question, headers = in_a_line(aspect.text), aspect.named_in(stems_of(table.header))
    whole = [row for row in rows if words[row] and in_a_line(row_label(table, row)) in question]
    return [
        row
        for row in rows
        if row in whole
        or not any(words[each] <= words[row] <= words[each] | headers for each in whole)
    ]


def _has_other_quantity(table: ChunkTable, row: int, aspect: Aspect) -> bool:
    """Whether question and label have different quantities of one measure: with `5 weeks` against
    `under 3 weeks` only a reader can judge whether the row applies."""
    in_question, in_label = (
        [one for one in quantities(text) if one.measure]
        for text in (aspect.text, row_label(table, row))
    )
    shared = {one.measure for one in in_question} & {one.measure for one in in_label}
    return bool(shared) and not any(one.agrees(each) for one in in_question for each in in_label)


def _rows_by_value(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect
) -> tuple[list[int], frozenset[str]]:
    """(rows whose cells hold most words of the question that not every row has; these words)."""
    headers = aspect.named_in(stems_of(table.header))
    words_by_row = {
        row: frozenset().union(
            *(
                question_words_in(table, row, position, aspect) - headers
                for position in range(table.label_columns, len(table.rows[row]))
            )
        )
        for row in rows
    }
    in_all = frozenset.intersection(*words_by_row.values()) if len(rows) > 1 else frozenset()
    max_count = max(len(words - in_all) for words in words_by_row.values())
    best_rows = [row for row in rows if len(words_by_row[row] - in_all) == max_count]
    return best_rows, frozenset().union(*(words_by_row[row] - in_all for row in best_rows))


@dataclass(frozen=True, kw_only=True)
class RequestedItem:
    """The one item of a list that the question's words distinguish from the others."""

    index: int
    """Index in the chunk's units."""
    lead_in: str
    """The sentence or item that introduces the list; '' without one."""
    item: str
    left_over: frozenset[str]
    """Naming stems of the question outside item, lead-in, title and headings."""
    has_kind: bool | None
    """Whether it holds every requested kind of value; None when the question requests none."""


def requested_item(chunk: Chunk, index: int, aspect: Aspect) -> RequestedItem | None:
    """The requested item of the list around this unit; None when no single item stands out, or when
    the unit is in no list of several."""
    units = chunk.units
    start = end = index
    while start > 0 and units[start - 1].kind == "item":
        start -= 1
    while end < len(units) and units[end].kind == "item":
        end += 1
    if units[index].kind != "item" or end - start < 2:
        return None
    before = units[start - 1].text.strip() if start else ""
    lead_in = before if before.endswith((":", "：")) else ""
    words_at = {at: frozenset(aspect.named_in(stems(units[at].text))) for at in range(start, end)}
    in_all = frozenset.intersection(*words_at.values())
    weights = {
        at: sum(aspect.weights[word] for word in words - in_all) for at, words in words_at.items()
    }
    best, second = sorted(weights, key=lambda at: -weights[at])[:2]
    if weights[best] <= weights[second]:
        return None
    item = units[best].text
    kinds = requested_kinds(aspect.text)
    has_kinds = [fits(request.kind, kinds_of(item)) for request in kinds]
    asking = frozenset(
        w for one, fit in zip(kinds, has_kinds, strict=True) if fit for w in one.words
    )
    around = " ".join((lead_in, chunk.document_title, chunk.tab, *chunk.heading_path))
    accounted = words_at[best] | aspect.named_in(stems(around)) | asking
    return RequestedItem(
        index=best,
        lead_in=lead_in,
        item=item,
        left_over=frozenset(aspect.weights) - accounted,
        has_kind=all(has_kinds) if kinds else None,
    )


def item_text(item: RequestedItem) -> str:
    """`**lead-in** item`: without its lead-in (`You must not:`) an item can mean the opposite."""
    return f"**{item.lead_in}** {item.item}" if item.lead_in else item.item
