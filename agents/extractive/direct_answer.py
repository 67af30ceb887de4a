"""A direct answer without a model, only where one place covers all that the question names."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import replace

from agents.answer import Citation
from agents.extractive.cells import cells_text, item_text, requested_cells, requested_item
from agents.extractive.excerpts import is_lead_in
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.value_types import PLACE, WAY, YES_NO, fits, kinds_of, requested_kinds
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.words import naming_words, stems
from enrichment.safety.injection import redacted
from index.search import Snapshot

_EXCEPTION = re.compile(r"\W*(?:but|except|however|unless|only|otherwise|this does not)\b", re.I)
_MIN_NEW_WORDS = 2
_MAX_CHARS = 400
"""A longer answer is shown as a passage instead."""
_MAX_CELLS = 4
_ASKING = stems(
    "allow allowed permit permitted require required supposed possible valid happen mean last stay"
    " take run go come install installed apply applies count exist current currently exactly"
    " general normally usually long"
)
"""Stems of words that ask about a state and name nothing."""
_AHEAD = 0.1
"""Minimum `RequestedCells.ahead`."""


def direct_answer(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], snapshot: Snapshot
) -> tuple[str, Citation] | None:
    """(one cell, a few cells of one column or row, or one sentence; its citation, `[1]`).

    None unless exactly one place holds all naming words of the question and a value of the
    requested kind.

    `quotable`: see `excerpts.quotable`, best first. `aspects`: the whole question first."""
    whole = aspects[0]
    if len(aspects) > 1 or not quotable or not whole.weights:
        return None
    asking = (request.words for request in requested_kinds(whole.text))
    needed_words = whole.weights.keys() - _ASKING.union(*asking)
    holding = [unit for unit in quotable if _holds(unit, needed_words, whole)]
    if not holding or _place(holding[0]) != _place(quotable[0]):
        return None
    best = holding[0]
    if best.chunk.from_picture:  # a misread number would be certain and wrong
        return None
    if any(_place(unit) != _place(best) for unit in holding):
        return None
    ways = {"row": _cell, "item": _item, "sentence": _sentence}
    text = ways[best.unit.kind](best, whole, snapshot)
    if not text or redacted(text) != text:
        return None
    return f"{text} [1]", citation(best.chunk, 1, best.unit.text, snapshot.documents)


def _holds(unit: ScoredUnit, needed_words: Set[str], whole: Aspect) -> bool:
    """Whether the unit, with its title, headings and caption, holds all needed words."""
    chunk, own = unit.chunk, unit.unit
    caption = chunk.table.caption if chunk.table else ""
    around = (chunk.document_title, chunk.tab, *chunk.heading_path, caption)
    words = stems(own.index_text) | stems(own.text) | stems(" ".join(around))
    return needed_words <= whole.named_in(words)


def _place(unit: ScoredUnit) -> tuple[str, ...]:
    """Key of the section and of the table in it."""
    chunk = unit.chunk
    table = chunk.table.id if chunk.table and unit.unit.row is not None else ""
    return (chunk.document_id, chunk.tab, *chunk.heading_path, table)


def _cell(best: ScoredUnit, whole: Aspect, snapshot: Snapshot) -> str:
    """The requested cells; '' when the best unit's row is not the best-named one, or another column
    is nearly as good."""
    own, row = best.chunk.table, best.unit.row
    if own is None or row is None:
        return ""
    table = _whole_table(best.chunk, snapshot)
    cells = requested_cells(replace(best.chunk, table=table), range(len(table.rows)), whole)
    if cells is None or own.rows[row] not in [table.rows[one] for one in cells.rows]:
        return ""
    labels = stems(" ".join(table.header[: table.label_columns]))
    left_over = cells.left_over - whole.named_in(labels) - _ASKING
    unsure = left_over or cells.has_kind is False or cells.ahead < _AHEAD
    if unsure or len(cells.rows) * len(cells.columns) > _MAX_CELLS:
        return ""
    # Only the text of the chunk itself holds the footnotes.
    alone = requested_cells(best.chunk, [row], whole) if len(cells.rows) == 1 else None
    text = cells_text(alone or cells)
    return text if len(text) <= _MAX_CHARS else ""


def _whole_table(chunk: Chunk, snapshot: Snapshot) -> ChunkTable:
    """The chunk's table with all rows: the chunk may hold only some of them."""
    table = chunk.table
    if table is None:
        raise ValueError("not a table")
    if len(table.rows) == table.total_rows:
        return table
    parts = (one.table for one in snapshot.chunks(chunk.document_id))
    rows = (part.rows for part in parts if part is not None and part.id == table.id)
    return replace(table, rows=tuple(row for each in rows for row in each), first_row=0)


def _item(best: ScoredUnit, whole: Aspect, _: Snapshot) -> str:
    """The item with its lead-in; '' when another item fits better."""
    item = requested_item(best.chunk, best.index, whole)
    if item is None or item.index != best.index or not _tells(best, whole):
        return ""
    if item.has_kind is None:  # a question without a kind of value may ask for the whole list
        return ""
    text = item_text(item)
    return text if len(text) <= _MAX_CHARS else ""


def _tells(best: ScoredUnit, whole: Aspect) -> bool:
    """Whether it has the requested kind and adds words to those of the question."""
    kinds = kinds_of(best.unit.text) | {YES_NO, WAY, PLACE}
    new = naming_words(best.unit.text).keys() - whole.weights.keys()
    requests = requested_kinds(whole.text)
    of_the_kind = all(fits(one.kind, kinds) for one in requests)
    enough = len(new) >= (1 if requests else _MIN_NEW_WORDS)
    return of_the_kind and enough and not is_lead_in(best.unit)


def _sentence(best: ScoredUnit, whole: Aspect, _: Snapshot) -> str:
    """The sentence, with an exception that follows directly."""
    text = best.unit.text
    if not _tells(best, whole):
        return ""
    units = best.chunk.units
    after = units[best.index + 1] if best.index + 1 < len(units) else None
    if after and after.kind == "sentence" and _EXCEPTION.match(after.text):
        text = f"{text} {after.text}"
    return text if len(text) <= _MAX_CHARS else ""
