"""Checks that a claim assigns a table's cells to the right rows and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.checks.claims import Claim
from agents.checks.statements import CitedText
from enrichment.chunk import ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import is_code, stems, tokens

_UNDER = " › "
"""Separator between a column group and a column in a header."""
_DENIES = re.compile(
    r"\b(?:is|are|was|were|be|do|does|may|must|can|will|shall|should) ?(?:not|n['’]t|never)"
    r"[\s:*_`“\"'(]*(?:(?:the|a|an) )?$",
    re.IGNORECASE,
)
_BEFORE = 40
"""Characters before a value that may hold its negation."""
_ENUMERATED = 4
"""A sentence with more figures lists several rows, and its words do not assign them."""


def cell_fault(claim: Claim, evidence: CitedText) -> str:
    """The fault of a claim that names a row or column and states another one's cell; else ''."""
    if not claim.cells and len(quantities(claim.text)) > _ENUMERATED:
        return ""
    for text, about in _cell_statements(claim):
        faults = [
            (number, _in_table(text, about, table, evidence)) for number, table in evidence.tables
        ]
        if any(fault is None for _, fault in faults):
            continue
        for number, fault in faults:
            if fault:
                return f"source {number} has {fault}"
    return ""


def _cell_statements(claim: Claim) -> Iterator[tuple[str, str]]:
    """(value, its subject) for each cell of a row; for a sentence both are the sentence."""
    if not claim.cells:
        yield claim.text, f"{claim.around} {claim.text}"
        return
    label = claim.cells[0][1]
    for header, cell in claim.cells[1:]:
        yield cell, f"{claim.around} {label} {header}"


def _in_table(text: str, about: str, table: ChunkTable, evidence: CitedText) -> str | None:
    """The fault; '' when the table does not decide, None when it agrees."""
    placing = stems(about)
    rows = _named_rows(placing, table)
    if not rows:
        return ""
    columns = _named_columns(about, table)
    labels = frozenset[str]().union(*(stems(_label(table, row)) for row in rows))
    values = [
        (row, column)
        for row in range(len(table.rows))
        for column in range(table.label_columns, len(table.rows[row]))
        if _states_cell(text, table.rows[row][column])
        and not _stands_in_prose(table.rows[row][column], labels, evidence)
    ]
    right = [(row, column) for row, column in values if row in rows]
    fitting = [(row, column) for row, column in right if not columns or column in columns]
    if fitting and all(_is_denied(text, table.rows[row][column]) for row, column in fitting):
        row, column = fitting[0]
        return f"{table.rows[row][column]!r} for {_label(table, row)!r}, without a 'not'"
    for row, column in values:
        cell = table.rows[row][column]
        if row in rows or any(
            _same(cell, table.rows[each][at])
            for each in rows
            for at in range(len(table.rows[each]))
        ):
            continue
        own = [table.rows[each][column] for each in rows if column < len(table.rows[each])]
        if any(at == column for _, at in right):
            continue
        is_decisive = column in columns or not right or _distinctive(cell)
        if is_decisive and any(column in columns or _comparable(one, cell) for one in own if one):
            return f"{own[0]!r} for {_label(table, rows[0])!r}, not {cell!r}"
    return _in_columns(right, about, table) if columns else None if right else ""


def _in_columns(right: Sequence[tuple[int, int]], about: str, table: ChunkTable) -> str | None:
    """The fault of cells in the named rows but wrong columns; '' or None as in `_in_table`. Words
    of the cells themselves name no column."""
    about_rest = _flat(about)
    for row, at in right:
        about_rest = about_rest.replace(_flat(table.rows[row][at]), " ")
    columns = _named_columns(about_rest, table)
    if not columns:
        return None
    wrong = [(row, at) for row, at in right if at not in columns]
    if len(wrong) < len(right):
        return None
    for row, at in wrong:
        expected = table.rows[row][columns[0]]
        if expected and not _same(expected, table.rows[row][at]):
            return f"{expected!r} under {table.header[columns[0]]!r}, not {table.rows[row][at]!r}"
    return ""


def _named_rows(words: frozenset[str], table: ChunkTable) -> list[int]:
    """Rows whose whole label is in these words, unless a longer label with its words is too."""
    labels = {
        row: label
        for row in range(len(table.rows))
        if (label := stems(_label(table, row))) and label <= words
    }
    return [
        row for row, label in labels.items() if not any(label < other for other in labels.values())
    ]


def _named_columns(about: str, table: ChunkTable) -> list[int]:
    """Columns whose own header is in these words; among columns of one name in different groups,
    those whose group is there too."""
    words, flat = stems(about), f" {_flat(about)} "
    paths = {
        column: header.split(_UNDER)
        for column, header in enumerate(table.header)
        if column >= table.label_columns
    }
    own = {column: stems(path[-1]) for column, path in paths.items()}
    shared = frozenset.intersection(*own.values()) if len(set(own.values())) > 1 else frozenset()
    words_by_column = {
        column: stems(" ".join(path)) & words
        for column, path in paths.items()
        if (
            own[column] - shared <= words
            if own[column] - shared
            else len(tokens(path[-1])) > 1 and f" {_flat(path[-1])} " in flat
        )
    }
    return [
        at
        for at, column_words in words_by_column.items()
        if not any(column_words < other for other in words_by_column.values())
    ]


def _states_cell(text: str, cell: str) -> bool:
    """Whether a text has the cell's figures, or its words verbatim."""
    needed = quantities(cell)
    if needed:
        own = quantities(text)
        return all(
            any(one.agrees(each) and bool(one.measure) == bool(each.measure) for one in own)
            for each in needed
        )
    words = _flat(cell)
    return len(words) > 2 and f" {words} " in f" {_flat(text)} "


def _is_denied(text: str, cell: str) -> bool:
    """Whether a text negates the cell's value at every occurrence."""
    values = quantities(cell)
    if values:
        starts = [one.start for one in quantities(text) if one.agrees(values[0])]
    else:
        opening = tokens(cell)[:1]
        starts = [match.start() for one in opening for match in re.finditer(re.escape(one), text)]
        whole = _flat(cell)
        starts = [start for start in starts if _flat(text[start:]).startswith(whole)]
    return bool(starts) and all(
        _DENIES.search(text[max(0, start - _BEFORE) : start]) for start in starts
    )


def _stands_in_prose(cell: str, placing: frozenset[str], evidence: CitedText) -> bool:
    """Whether a sentence about the same subject has the value too: the claim may come from it."""
    values, words = quantities(cell), _flat(cell)
    prose = [
        statement
        for statement in evidence.statements
        if statement.table is None and placing & statement.stems
    ]
    if not values:
        return any(f" {words} " in f" {_flat(statement.text)} " for statement in prose)
    return any(
        values[0].agrees(one) and values[0].measure == one.measure
        for statement in prose
        for one in statement.quantities
    )


def _same(one: str, other: str) -> bool:
    """Whether both have the same value, or the second holds all words of the first."""
    first, second = quantities(one), quantities(other)
    if first and second:
        return any(first[0].agrees(each) and first[0].measure == each.measure for each in second)
    return stems(one) <= stems(other)


def _distinctive(cell: str) -> bool:
    """Whether the value is too specific to be in a sentence by coincidence."""
    return bool(quantities(cell)) or any(map(is_code, tokens(cell))) or len(stems(cell)) > 1


def _comparable(one: str, other: str) -> bool:
    """Whether both are different figures or both are words, as in cells of one column."""
    first, second = quantities(one), quantities(other)
    if first and second:
        return not any(first[0].agrees(each) for each in second)
    return not first and not second and bool(stems(one)) and bool(stems(other))


def _flat(text: str) -> str:
    return " ".join(token.casefold() for token in tokens(text))


def _label(table: ChunkTable, row: int) -> str:
    return " ".join(dict.fromkeys(table.rows[row][: max(1, table.label_columns)]))
