"""Whether a claim gives a table's cell to the row and column that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.checks.claims import Claim
from agents.checks.statements import CitedText
from enrichment.chunk import ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import is_code, stems, tokens

_UNDER = " › "
"""Between a group of columns and one of it, in a header."""
_DENIES = re.compile(
    r"\b(?:is|are|was|were|be|do|does|may|must|can|will|shall|should) ?(?:not|n['’]t|never)"
    r"[\s:*_`“\"'(]*(?:(?:the|a|an) )?$",
    re.IGNORECASE,
)
_BEFORE = 40
"""Characters before a value in which it may be denied."""
_ENUMERATED = 4
"""A sentence with more figures than this goes through rows, and no word says which is whose."""


def cell_fault(claim: Claim, shown: CitedText) -> str:
    """A claim that names a row and says another row's cell, or names a column and says another
    column's; '' when no table says so."""
    if not claim.cells and len(quantities(claim.text)) > _ENUMERATED:
        return ""
    for said, about in _said(claim):
        faults = [(number, _in_table(said, about, table, shown)) for number, table in shown.tables]
        if any(fault is None for _, fault in faults):
            continue
        for number, fault in faults:
            if fault:
                return f"source {number} has {fault}"
    return ""


def _said(claim: Claim) -> Iterator[tuple[str, str]]:
    """(value, what it is said of) of each cell of a row; a sentence is both."""
    if not claim.cells:
        yield claim.text, f"{claim.around} {claim.text}"
        return
    label = claim.cells[0][1]
    for header, cell in claim.cells[1:]:
        yield cell, f"{claim.around} {label} {header}"


def _in_table(said: str, about: str, table: ChunkTable, shown: CitedText) -> str | None:
    """What is wrong; '' when the table doesn't tell, None when it says the same."""
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
        if _holds(said, table.rows[row][column])
        and not _stands_in_prose(table.rows[row][column], labels, shown)
    ]
    right = [(row, column) for row, column in values if row in rows]
    fitting = [(row, column) for row, column in right if not columns or column in columns]
    if fitting and all(_is_denied(said, table.rows[row][column]) for row, column in fitting):
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
        telling = column in columns or not right or _distinctive(cell)
        if telling and any(column in columns or _comparable(one, cell) for one in own if one):
            return f"{own[0]!r} for {_label(table, rows[0])!r}, not {cell!r}"
    return _in_columns(right, about, table) if columns else None if right else ""


def _in_columns(right: Sequence[tuple[int, int]], about: str, table: ChunkTable) -> str | None:
    """The same, for cells of the rows that are named; what a cell says names no column."""
    named = _flat(about)
    for row, at in right:
        named = named.replace(_flat(table.rows[row][at]), " ")
    columns = _named_columns(named, table)
    if not columns:
        return None
    wrong = [(row, at) for row, at in right if at not in columns]
    if len(wrong) < len(right):
        return None
    for row, at in wrong:
        meant = table.rows[row][columns[0]]
        if meant and not _same(meant, table.rows[row][at]):
            return f"{meant!r} under {table.header[columns[0]]!r}, not {table.rows[row][at]!r}"
    return ""


def _named_rows(words: frozenset[str], table: ChunkTable) -> list[int]:
    """Rows whose label stands wholly in these words, and in no longer label that does."""
    named = {
        row: label
        for row in range(len(table.rows))
        if (label := stems(_label(table, row))) and label <= words
    }
    return [
        row for row, label in named.items() if not any(label < other for other in named.values())
    ]


def _named_columns(about: str, table: ChunkTable) -> list[int]:
    """Columns whose own header stands in these words; of several with one name under different
    groups, those whose groups stand there, too."""
    words, flat = stems(about), f" {_flat(about)} "
    paths = {
        column: header.split(_UNDER)
        for column, header in enumerate(table.header)
        if column >= table.label_columns
    }
    own = {column: stems(path[-1]) for column, path in paths.items()}
    shared = frozenset.intersection(*own.values()) if len(set(own.values())) > 1 else frozenset()
    named = {
        column: stems(" ".join(path)) & words
        for column, path in paths.items()
        if (
            own[column] - shared <= words
            if own[column] - shared
            else len(tokens(path[-1])) > 1 and f" {_flat(path[-1])} " in flat
        )
    }
    return [at for at, told in named.items() if not any(told < other for other in named.values())]


def _holds(said: str, cell: str) -> bool:
    """Whether a text says a cell: its figures, or its words as they stand."""
    theirs = quantities(cell)
    if theirs:
        mine = quantities(said)
        return all(
            any(one.agrees(each) and bool(one.measure) == bool(each.measure) for one in mine)
            for each in theirs
        )
    words = _flat(cell)
    return len(words) > 2 and f" {words} " in f" {_flat(said)} "


def _is_denied(said: str, cell: str) -> bool:
    """Whether a text says of a cell's value, wherever it stands, that it is not so."""
    values = quantities(cell)
    if values:
        starts = [one.start for one in quantities(said) if one.agrees(values[0])]
    else:
        opening = tokens(cell)[:1]
        starts = [match.start() for one in opening for match in re.finditer(re.escape(one), said)]
        whole = _flat(cell)
        starts = [start for start in starts if _flat(said[start:]).startswith(whole)]
    return bool(starts) and all(
        _DENIES.search(said[max(0, start - _BEFORE) : start]) for start in starts
    )


def _stands_in_prose(cell: str, placing: frozenset[str], shown: CitedText) -> bool:
    """Whether a sentence about the same says the value, too: then the table isn't what it was read
    from."""
    values, words = quantities(cell), _flat(cell)
    prose = [
        statement
        for statement in shown.statements
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
    """Both say the same value, or one says all that the other does."""
    mine, theirs = quantities(one), quantities(other)
    if mine and theirs:
        return any(mine[0].agrees(each) and mine[0].measure == each.measure for each in theirs)
    return stems(one) <= stems(other)


def _distinctive(cell: str) -> bool:
    """A value that doesn't stand in a sentence by chance."""
    return bool(quantities(cell)) or any(map(is_code, tokens(cell))) or len(stems(cell)) > 1


def _comparable(one: str, other: str) -> bool:
    """Different values, or both words: cells of one column."""
    mine, theirs = quantities(one), quantities(other)
    if mine and theirs:
        return not any(mine[0].agrees(each) for each in theirs)
    return not mine and not theirs and bool(stems(one)) and bool(stems(other))


def _flat(text: str) -> str:
    return " ".join(token.casefold() for token in tokens(text))


def _label(table: ChunkTable, row: int) -> str:
    return " ".join(dict.fromkeys(table.rows[row][: max(1, table.label_columns)]))
