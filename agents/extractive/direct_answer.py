"""A direct answer without a model: given only where nothing that was asked for is left over."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from agents.answer import Citation
from agents.extractive.cells import asked_cells, asked_item, item_in_words
from agents.extractive.cells import in_words as cells_in_words
from agents.extractive.excerpts import is_lead_in
from agents.extractive.relevance import Aspect, Scored, citation
from agents.extractive.value_types import (
    PLACE,
    WAY,
    YES_NO,
    fits,
    kinds_asked,
    kinds_of,
)
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.words import naming_words, stems
from index.search import Snapshot

_EXCEPTION = re.compile(r"\W*(?:but|except|however|unless|only|otherwise|this does not)\b", re.I)
_FEWEST_NEW_WORDS = 2
_LONGEST = 400
"""Characters; what is longer is a passage."""
_MOST_CELLS = 4
_ASKING = stems(
    "allow allowed permit permitted require required supposed possible valid happen mean last stay"
    " take run go come install installed apply applies count exist current currently exactly"
    " general normally usually long"
)
"""Words that ask how things are rather than name one of them."""
_AHEAD = 0.1
"""See `AskedCells.ahead`."""


@dataclass(frozen=True, kw_only=True)
class Direct:
    """One cell, a few cells of one column or row, or one sentence, cited as [1]."""

    text: str
    citation: Citation


def direct_answer(
    quotable: Sequence[Scored], aspects: Sequence[Aspect], snapshot: Snapshot
) -> Direct | None:
    """None unless one place holds every word that the question names, and a value of the kind
    asked for, and no other place does nearly as well.

    `quotable`: see `quotable.py`, best first. `aspects`: the whole question first."""
    whole = aspects[0]
    if len(aspects) > 1 or not quotable or not whole.weights:
        return None
    asking = (asked.words for asked in kinds_asked(whole.text))
    sought = whole.weights.keys() - _ASKING.union(*asking)
    holding = [unit for unit in quotable if _holds(unit, sought, whole)]
    if not holding or _place(holding[0]) != _place(quotable[0]):
        return None
    best = holding[0]
    if best.chunk.from_picture:  # a misread number would be certain and wrong
        return None
    if any(_place(unit) != _place(best) for unit in holding):
        return None
    ways = {"row": _cell, "item": _item, "sentence": _sentence}
    said = ways[best.unit.kind](best, whole, snapshot)
    if not said:
        return None
    cited = citation(best.chunk, 1, best.unit.text, snapshot.documents)
    return Direct(text=f"{said} [1]", citation=cited)


def _holds(unit: Scored, sought: Set[str], whole: Aspect) -> bool:
    """Whether it says, with its title, headings and table header, all that is sought."""
    chunk, own = unit.chunk, unit.unit
    caption = chunk.table.caption if chunk.table else ""
    around = (chunk.document_title, chunk.tab, *chunk.heading_path, caption)
    held = stems(own.index_text) | stems(own.text) | stems(" ".join(around))
    return sought <= whole.named_in(held)


def _place(unit: Scored) -> tuple[str, ...]:
    """A section, and in it a table."""
    chunk = unit.chunk
    table = chunk.table.id if chunk.table and unit.unit.row is not None else ""
    return (chunk.document_id, chunk.tab, *chunk.heading_path, table)


def _cell(best: Scored, whole: Aspect, snapshot: Snapshot) -> str:
    """The cells asked for; empty when the row that says all isn't the one that is named best, or
    another column comes near."""
    own, row = best.chunk.table, best.unit.row
    if own is None or row is None:
        return ""
    table = _whole_table(best.chunk, snapshot)
    asked = asked_cells(replace(best.chunk, table=table), range(len(table.rows)), whole)
    if asked is None or own.rows[row] not in [table.rows[one] for one in asked.rows]:
        return ""
    labels = stems(" ".join(table.header[: table.label_columns]))
    left_over = asked.left_over - whole.named_in(labels) - _ASKING
    unsure = left_over or asked.kind_held is False or asked.ahead < _AHEAD
    if unsure or len(asked.rows) * len(asked.columns) > _MOST_CELLS:
        return ""
    # Footnotes stand in the text of the chunk itself.
    alone = asked_cells(best.chunk, [row], whole) if len(asked.rows) == 1 else None
    said = cells_in_words(alone or asked)
    return said if len(said) <= _LONGEST else ""


def _whole_table(chunk: Chunk, snapshot: Snapshot) -> ChunkTable:
    """All rows of the chunk's table, of which it may hold a part."""
    table = chunk.table
    if table is None:
        raise ValueError("not a table")
    if len(table.rows) == table.total_rows:
        return table
    parts = (one.table for one in snapshot.chunks(chunk.document_id))
    rows = (part.rows for part in parts if part is not None and part.id == table.id)
    return replace(table, rows=tuple(row for each in rows for row in each), first_row=0)


def _item(best: Scored, whole: Aspect, _: Snapshot) -> str:
    """The item with its lead-in, without which it can mean the opposite (`You must not:`)."""
    asked = asked_item(best.chunk, best.index, whole)
    if asked is None or asked.index != best.index or not _tells(best, whole):
        return ""
    if asked.kind_held is None:  # what names no kind of value may ask for the whole list
        return ""
    said = item_in_words(asked)
    return said if len(said) <= _LONGEST else ""


def _tells(best: Scored, whole: Aspect) -> bool:
    """It is of the kind asked for, and says something that the question doesn't."""
    kinds = kinds_of(best.unit.text) | {YES_NO, WAY, PLACE}
    new = naming_words(best.unit.text).keys() - whole.weights.keys()
    asked = kinds_asked(whole.text)
    of_the_kind = all(fits(one.kind, kinds) for one in asked)
    enough = len(new) >= (1 if asked else _FEWEST_NEW_WORDS)
    return of_the_kind and enough and not is_lead_in(best.unit)


def _sentence(best: Scored, whole: Aspect, _: Snapshot) -> str:
    """The sentence, and the exception right after it."""
    text = best.unit.text
    if not _tells(best, whole):
        return ""
    units = best.chunk.units
    after = units[best.index + 1] if best.index + 1 < len(units) else None
    if after and after.kind == "sentence" and _EXCEPTION.match(after.text):
        text = f"{text} {after.text}"
    return text if len(text) <= _LONGEST else ""
