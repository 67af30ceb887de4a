"""Which cells of the rows that a question names are asked for, and how sure that is.

Which item of a list is asked for, and how it reads with what leads into the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from agents.extractive.columns import columns_asked, holds_kind, says_header
from agents.extractive.relevance import Aspect
from agents.extractive.table import (
    Column,
    flat,
    given_in,
    header_at,
    in_a_line,
    named_in_full,
    names_of,
    notes_of,
    row_label,
    said_in,
    short_label,
    stems_of,
)
from agents.extractive.value_types import KindAsked, fits, kinds_asked, kinds_of
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import stems

MOST_ROWS = 6
"""More is not read on a phone, and no answer to one question."""
_SAME = 1e-6


@dataclass(frozen=True, kw_only=True)
class AskedCells:
    """Cells of one table that a question asks for."""

    table: ChunkTable
    rows: tuple[int, ...]
    """Best named; several when they differ only in what the question leaves open. 1–6."""
    columns: tuple[Column, ...]
    """In the table's order; several when the question names a group of them. 1–4."""
    used: frozenset[str]
    """Stems of the question that header, label, caption, cell or the kind of value account for."""
    left_over: frozenset[str]
    """Naming stems of the question that neither these nor the chunk's title and headings hold."""
    kind_asked: str
    """Of value, one of `value_kinds.ALSO`; the first of several; '' when the question's words
    don't tell."""
    kind_held: bool | None
    """Whether the cells hold every kind asked for; None when none is."""
    ahead: float
    """How far the worst asked column is ahead of the best of the others, 0–1; 1: only these are
    possible."""
    by_header: bool
    """The question says words of the header of each, beside those of the row's label."""
    by_value: bool = False
    """The rows were found by what a cell holds, not by their labels."""
    notes: tuple[str, ...] = ()
    """Footnotes that these cells or their labels refer to."""


def asked_cells(chunk: Chunk, rows: Sequence[int], aspect: Aspect) -> AskedCells | None:
    """None when nothing tells the column, or when the cell asked for is empty: the whole row
    says more than a guess.

    `rows` are candidates: of those, the ones that the question names best are taken. `aspect`
    is the question, and brings the glossary."""
    table = chunk.table
    if table is None or not rows:
        return None
    named, given = _rows_named(table, rows, aspect)
    if not named or len(named) > MOST_ROWS:
        return None
    if any(_is_of_another_size(table, row, aspect) for row in named):
        return None
    kinds = kinds_asked(aspect.text)
    chosen = columns_asked(table, named, aspect, kinds, given)
    if chosen is None:
        return None
    columns, ahead = chosen
    named = _rows_of_the_kind(table, named, columns, kinds)
    if any(said_in(table, row, column) == "" for row in named for column in columns):
        return None
    held = [holds_kind(table, named, columns, asked) for asked in kinds]
    known = frozenset(aspect.weights)
    account = {word for asked, fit in zip(kinds, held, strict=True) if fit for word in asked.words}
    texts = [
        table.caption,
        *table.header[: table.label_columns],
        *(row_label(table, row) for row in named),
    ]
    texts += [column.header for column in columns]
    texts += [said_in(table, row, column) for row in named for column in columns]
    if given:
        texts += [cell for row in named for cell in table.rows[row]]
    used = (aspect.named_in(stems_of(texts)) | account) & known
    around = stems_of([chunk.document_title, chunk.tab, *chunk.heading_path])
    return AskedCells(
        table=table,
        rows=tuple(named),
        columns=tuple(columns),
        used=frozenset(used),
        left_over=known - used - aspect.named_in(around),
        kind_asked=kinds[0].kind if kinds else "",
        kind_held=all(held) if kinds else None,
        ahead=ahead,
        by_header=all(says_header(column, aspect, named, table) for column in columns),
        by_value=bool(given),
        notes=notes_of(chunk, named, columns),
    )


def in_words(asked: AskedCells) -> str:
    """`60 days (API signing key (Quay) · Restricted, Maximum age › SG)`; several cells as a small
    table of just those, with the label that tells the rows apart. Footnotes below."""
    if len(asked.rows) == 1 and len(asked.columns) == 1:
        said = _one_cell(asked.table, asked.rows[0], asked.columns[0])
    else:
        said = _small_table(asked)
    return "\n\n".join([said, *(f"_{note}_" for note in asked.notes)])


def _one_cell(table: ChunkTable, row: int, column: Column) -> str:
    label = short_label(table, row)
    beside = [part for part in (label, column.header) if part]
    value = said_in(table, row, column)
    if value == row_label(table, row):
        beside = [column.header] if column.header else []
    return f"{value} ({', '.join(beside)})" if beside else value


def _small_table(asked: AskedCells) -> str:
    table = asked.table
    labels = [
        position
        for position in range(table.label_columns)
        if not any(position in column.positions for column in asked.columns)
    ]
    header = [header_at(table, position) for position in labels]
    lines = [[*header, *(column.header for column in asked.columns)]]
    lines.append(["---"] * len(lines[0]))
    for row in asked.rows:
        cells = [flat(table.rows[row][position]) for position in labels]
        lines.append([*cells, *(said_in(table, row, column) for column in asked.columns)])
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )


def _rows_of_the_kind(
    table: ChunkTable, rows: list[int], columns: Sequence[Column], kinds: Sequence[KindAsked]
) -> list[int]:
    """Attributes down the side: of several rows, those whose cell is of the kind asked for."""
    if len(rows) == 1 or not kinds:
        return rows
    fitting = [row for row in rows if holds_kind(table, [row], columns, kinds[0])]
    return fitting or rows


def _rows_named(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect
) -> tuple[list[int], frozenset[str]]:
    """(rows best named by their labels, or else by a cell; what of the question that cell says)."""
    labels = {row: names_of(row_label(table, row)) for row in rows}
    named = {row: aspect.named_in(label) for row, label in labels.items()}
    if not any(named.values()):
        return _rows_with_what_is_given(table, rows, aspect)
    rows = _without_beside(table, rows, named, aspect)
    weight = {row: sum(aspect.weights[word] for word in named[row]) for row in rows}
    most = max(weight.values())
    best = [
        row
        for row in rows
        if weight[row] > most - _SAME
        or (
            named_in_full(labels[row], aspect)
            and not any(named[row] < named[other] for other in rows)
        )
    ]
    exact = [
        row
        for row in best
        if not any(named[row] == named[other] and labels[other] < labels[row] for other in best)
    ]
    asked = in_a_line(aspect.text)
    whole = [row for row in exact if in_a_line(row_label(table, row)) in asked]
    as_well = [row for row in exact if all(named[row] != named[other] for other in whole)]
    return sorted({*whole, *as_well}), frozenset()


def _without_beside(
    table: ChunkTable, rows: Sequence[int], named: Mapping[int, Set[str]], aspect: Aspect
) -> list[int]:
    """Without rows that are named better than one whose label stands in the question word for word
    only by what a header says: `members of Team` names `Team`, not `Team members`."""
    asked, headers = in_a_line(aspect.text), aspect.named_in(stems_of(table.header))
    whole = [row for row in rows if named[row] and in_a_line(row_label(table, row)) in asked]
    return [
        row
        for row in rows
        if row in whole
        or not any(named[each] <= named[row] <= named[each] | headers for each in whole)
    ]


def _is_of_another_size(table: ChunkTable, row: int, aspect: Aspect) -> bool:
    """`5 weeks` are asked for and the label says `under 3 weeks`: whether that covers them is for
    a reader to judge."""
    asked, labelled = (
        [one for one in quantities(text) if one.measure]
        for text in (aspect.text, row_label(table, row))
    )
    both = {one.measure for one in asked} & {one.measure for one in labelled}
    return bool(both) and not any(one.agrees(each) for one in asked for each in labelled)


def _rows_with_what_is_given(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect
) -> tuple[list[int], frozenset[str]]:
    """The rows of which a cell says most of what the question names, and not all rows say."""
    headers = aspect.named_in(stems_of(table.header))
    said = {
        row: frozenset().union(
            *(
                given_in(table, row, position, aspect) - headers
                for position in range(table.label_columns, len(table.rows[row]))
            )
        )
        for row in rows
    }
    in_all = frozenset.intersection(*said.values()) if len(rows) > 1 else frozenset()
    most = max(len(given - in_all) for given in said.values())
    found = [row for row in rows if len(said[row] - in_all) == most]
    return found, frozenset().union(*(said[row] - in_all for row in found))


@dataclass(frozen=True, kw_only=True)
class AskedItem:
    """One item of a list of several, told from the others by words of the question."""

    index: int
    """Of the item, in the chunk's units."""
    lead_in: str
    """The sentence or item that the list hangs on; '' when none does."""
    item: str
    left_over: frozenset[str]
    """Naming stems of the question that neither item, lead-in, title nor headings hold."""
    kind_held: bool | None
    """Whether it holds every kind of value asked for; None when the question doesn't tell."""
    ahead: float
    """How much more of what tells the items apart it holds than the next one, 0–1."""


def asked_item(chunk: Chunk, index: int, aspect: Aspect) -> AskedItem | None:
    """The item asked for of the list that this unit is of: None when the question's words tell no
    single item from the others, or when this is no list of several."""
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
    named = {at: frozenset(aspect.named_in(stems(units[at].text))) for at in range(start, end)}
    in_all = frozenset.intersection(*named.values())
    weights = {
        at: sum(aspect.weights[word] for word in words - in_all) for at, words in named.items()
    }
    best, second = sorted(weights, key=lambda at: -weights[at])[:2]
    if weights[best] <= weights[second]:
        return None
    item = units[best].text
    kinds = kinds_asked(aspect.text)
    held = [fits(asked.kind, kinds_of(item)) for asked in kinds]
    asking = frozenset(w for one, fit in zip(kinds, held, strict=True) if fit for w in one.words)
    around = " ".join((lead_in, chunk.document_title, chunk.tab, *chunk.heading_path))
    accounted = named[best] | aspect.named_in(stems(around)) | asking
    return AskedItem(
        index=best,
        lead_in=lead_in,
        item=item,
        left_over=frozenset(aspect.weights) - accounted,
        kind_held=all(held) if kinds else None,
        ahead=1 - weights[second] / weights[best],
    )


def item_in_words(asked: AskedItem) -> str:
    """`**lead-in** item`: an item alone can mean the opposite (`You must not:`)."""
    return f"**{asked.lead_in}** {asked.item}" if asked.lead_in else asked.item
