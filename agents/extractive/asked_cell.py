"""Which cells of the rows that a question names are asked for, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from agents.extractive.relevance import Aspect
from agents.extractive.table_columns import (
    UNDER,
    Column,
    flat,
    notes_of,
    row_label,
    says_nothing,
    short_label,
    together,
    value_of,
)
from agents.extractive.value_kinds import (
    YES_NO,
    KindAsked,
    column_kinds,
    denies,
    fits,
    kinds_asked,
    kinds_of,
)
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.quantities import quantities
from enrichment.language.words import naming_words, stems, tokens

MOST_ROWS, MOST_COLUMNS = 6, 4
"""More is not read on a phone, and no answer to one question."""
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
    chosen = _columns_asked(table, named, aspect, kinds, given)
    if chosen is None:
        return None
    columns, ahead = chosen
    named = _rows_of_the_kind(table, named, columns, kinds)
    if any(_said(table, row, column) == "" for row in named for column in columns):
        return None
    held = [_held(table, named, columns, asked) for asked in kinds]
    known = frozenset(aspect.weights)
    account = {word for asked, fit in zip(kinds, held, strict=True) if fit for word in asked.words}
    texts = [
        table.caption,
        *table.header[: table.label_columns],
        *(row_label(table, row) for row in named),
    ]
    texts += [column.header for column in columns]
    texts += [_said(table, row, column) for row in named for column in columns]
    if given:
        texts += [cell for row in named for cell in table.rows[row]]
    used = (aspect.named_in(_stems(texts)) | account) & known
    around = _stems([chunk.document_title, chunk.tab, *chunk.heading_path])
    return AskedCells(
        table=table,
        rows=tuple(named),
        columns=tuple(columns),
        used=frozenset(used),
        left_over=known - used - aspect.named_in(around),
        kind_asked=kinds[0].kind if kinds else "",
        kind_held=all(held) if kinds else None,
        ahead=ahead,
        by_header=all(_says_header(column, aspect, named, table) for column in columns),
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
    value = _said(table, row, column)
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
    header = [_header(table, position) for position in labels]
    lines = [[*header, *(column.header for column in asked.columns)]]
    lines.append(["---"] * len(lines[0]))
    for row in asked.rows:
        cells = [flat(table.rows[row][position]) for position in labels]
        lines.append([*cells, *(_said(table, row, column) for column in asked.columns)])
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )


# -- rows -------------------------------------------------------------------------------------


def _rows_named(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect
) -> tuple[list[int], frozenset[str]]:
    """(rows best named by their labels, or else by a cell; what of the question that cell says)."""
    labels = {row: _words(row_label(table, row)) for row in rows}
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
            _named_in_full(labels[row], aspect)
            and not any(named[row] < named[other] for other in rows)
        )
    ]
    exact = [
        row
        for row in best
        if not any(named[row] == named[other] and labels[other] < labels[row] for other in best)
    ]
    asked = _flat_words(aspect.text)
    whole = [row for row in exact if _flat_words(row_label(table, row)) in asked]
    as_well = [row for row in exact if all(named[row] != named[other] for other in whole)]
    return sorted({*whole, *as_well}), frozenset()


def _without_beside(
    table: ChunkTable, rows: Sequence[int], named: Mapping[int, Set[str]], aspect: Aspect
) -> list[int]:
    """Without rows that are named better than one whose label stands in the question word for word
    only by what a header says: `members of Team` names `Team`, not `Team members`."""
    asked, headers = _flat_words(aspect.text), aspect.named_in(_stems(table.header))
    whole = [row for row in rows if named[row] and _flat_words(row_label(table, row)) in asked]
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


def _named_in_full(words: Set[str], aspect: Aspect) -> bool:
    """Whether the question says each of these words, in one way or another: `in Oslo or Rome`
    names two rows, however rare each is."""
    ways = frozenset(word for each in aspect.same.values() for way in each for word in way)
    return bool(words) and words <= aspect.weights.keys() | ways


def _rows_with_what_is_given(
    table: ChunkTable, rows: Sequence[int], aspect: Aspect
) -> tuple[list[int], frozenset[str]]:
    """The rows of which a cell says most of what the question names, and not all rows say."""
    headers = aspect.named_in(_stems(table.header))
    said = {
        row: frozenset().union(
            *(
                _given_in(table, row, position, aspect) - headers
                for position in range(table.label_columns, len(table.rows[row]))
            )
        )
        for row in rows
    }
    in_all = frozenset.intersection(*said.values()) if len(rows) > 1 else frozenset()
    most = max(len(given - in_all) for given in said.values())
    found = [row for row in rows if len(said[row] - in_all) == most]
    return found, frozenset().union(*(said[row] - in_all for row in found))


def _given_in(table: ChunkTable, row: int, position: int, aspect: Aspect) -> frozenset[str]:
    """Words and quantities of the question that a cell says."""
    said = _value(table, row, position)
    asked = [one for one in quantities(aspect.text) if one.measure or one.written.isdigit()]
    return frozenset(aspect.named_in(stems(said))) | {
        one.written
        for one in asked
        if any(one.agrees(each) and one.measure == each.measure for each in quantities(said))
    }


def _rows_of_the_kind(
    table: ChunkTable, rows: list[int], columns: Sequence[Column], kinds: Sequence[KindAsked]
) -> list[int]:
    """Attributes down the side: of several rows, those whose cell is of the kind asked for."""
    if len(rows) == 1 or not kinds:
        return rows
    fitting = [row for row in rows if _held(table, [row], columns, kinds[0])]
    return fitting or rows


# -- columns ----------------------------------------------------------------------------------


def _columns_asked(
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
        cells = tuple(_cell(table, row, position) for row in rows)
        column = Column(header=_header(table, position), positions=(position,), cell=cells[0])
        if given and any(_given_in(table, row, position, aspect) & given for row in rows):
            continue
        joins = (
            last is not None
            and position > table.label_columns
            and last.positions[-1] == position - 1
            and all(len(stems(cell)) > 1 or " " in cell for cell in cells)
            and cells == tuple(_cell(table, row, last.positions[-1]) for row in rows)
        )
        if joins and last is not None:
            merged = (*last.positions, position)
            header = together([_header(table, each) for each in merged])
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
    taken = aspect.named_in(_stems([row_label(table, row) for row in rows]))
    told = _told_apart(candidates, aspect, taken)
    most = max(_weight(words, aspect) for words in told)
    scores: list[float] = []
    naming: list[float] = []
    for column, words in zip(candidates, told, strict=True):
        named = _weight(words, aspect) / most if most else 0.0
        score = named + _kind_score(table, rows, column, asked)
        cells = _stems([_said(table, row, column) for row in rows])
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
    words = _flat_words(question)
    whole = [at for at in firm if _flat_words(candidates[at].header.split(UNDER)[-1]) in words]
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
    return not told[at] < told[best] and _named_in_full(_words(own), aspect)


def _says_header(column: Column, aspect: Aspect, rows: Sequence[int], table: ChunkTable) -> bool:
    taken = aspect.named_in(_stems([row_label(table, row) for row in rows]))
    return bool(aspect.named_in(stems(column.header)) - taken)


def _weight(words: Set[str], aspect: Aspect) -> float:
    return sum(aspect.weights[word] for word in words)


def _kind_score(
    table: ChunkTable, rows: Sequence[int], column: Column, asked: KindAsked | None
) -> float:
    if asked is None:
        return 0.0
    if _held(table, rows, [column], asked):
        return _DENIES if asked.kind == YES_NO else _HOLDS
    said = [_said(table, row, column) for row in rows]
    return _DENIES / 2 if all(map(denies, said)) else 0.0


def _held(
    table: ChunkTable, rows: Sequence[int], columns: Sequence[Column], asked: KindAsked
) -> bool:
    """Whether some column holds the kind in every row: its cell is of it, or denies or refers
    (`same as EU`) in a column that is."""
    return any(
        all(_is_of_kind(table, row, column, asked.kind) for row in rows) for column in columns
    )


def _is_of_kind(table: ChunkTable, row: int, column: Column, kind: str) -> bool:
    said = _said(table, row, column)
    if not said:
        return False
    if fits(kind, kinds_of(said)):
        return True
    position = column.positions[0]
    cells = [_value(table, each, position) for each in range(len(table.rows))]
    header = _header(table, position) or table.header[position]
    return fits(kind, column_kinds(header, cells))


def _referred_to(
    table: ChunkTable, rows: Sequence[int], columns: Sequence[Column]
) -> Iterator[Column]:
    """`same as EU`: the column that a cell refers to by nothing but its name."""
    shown = {position for column in columns for position in column.positions}
    for row in rows:
        for column in columns:
            refers = _REFERS.match(_said(table, row, column))
            words = _words(_said(table, row, column))
            for position in range(table.label_columns, len(table.header)):
                own = _words(table.header[position].split(UNDER)[-1])
                if refers and own and words == own and position not in shown:
                    shown.add(position)
                    header, cell = _header(table, position), _cell(table, row, position)
                    yield Column(header=header, positions=(position,), cell=cell)


# -- cells ------------------------------------------------------------------------------------


def _header(table: ChunkTable, position: int) -> str:
    header = table.header[position] if position < len(table.header) else ""
    return flat(header)


def _cell(table: ChunkTable, row: int, position: int) -> str:
    cells = table.rows[row]
    return flat(cells[position]) if position < len(cells) else ""


def _value(table: ChunkTable, row: int, position: int) -> str:
    cell = _cell(table, row, position)
    return "" if says_nothing(cell) else value_of(cell, _header(table, position))


def _said(table: ChunkTable, row: int, column: Column) -> str:
    return _value(table, row, column.positions[0])


def _flat_words(text: str) -> str:
    return f" {' '.join(token.casefold() for token in tokens(text))} "


def _words(text: str) -> frozenset[str]:
    return frozenset(naming_words(text))


def _stems(texts: Sequence[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(stems, texts)) if texts else frozenset()
