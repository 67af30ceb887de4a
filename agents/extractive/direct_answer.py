"""A direct answer without a model: one cell of a table, where it is certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.answer import Citation
from agents.extractive.cell_features import TableRead
from agents.extractive.cells import SURE, BestCell, best_cell, cell_text
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.table import notes_of, row_label
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.quantities import quantities
from enrichment.safety.injection import redacted
from index.search import Snapshot

_MAX_CHARS = 400
"""A longer answer is shown as a passage instead."""


def direct_answer(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], snapshot: Snapshot
) -> tuple[str, Citation] | None:
    """(the value with its unit, label and header; its citation, `[1]`); None unless one cell of
    all tables among these statements is certain.

    `quotable`: see `excerpts.quotable`, best first. `aspects`: the whole question first."""
    if len(aspects) > 1 or not quotable or not aspects[0].weights:
        return None
    if quotable[0].chunk.from_picture:  # a misread number would be certain and wrong
        return None
    parts = table_parts(quotable, snapshot)
    best = best_cell([table_read(each, quotable) for each in parts.values()], aspects[0])
    if best is None or best.probability < SURE or _has_other_quantity(best, aspects[0]):
        return None
    chunk = next(
        one for one in parts[best.read.table.id] if one.table and best.row < _end_of(one.table)
    )
    row = best.row - (chunk.table.first_row if chunk.table else 0)
    notes = notes_of(chunk, [row], [best.column])  # only the chunk's own text has them
    text = "\n\n".join([cell_text(best), *(f"_{note}_" for note in notes)])
    if len(text) > _MAX_CHARS or redacted(text) != text:
        return None
    quote = next(unit.text for unit in chunk.units if unit.row == row)
    return f"{text} [1]", citation(chunk, 1, quote, snapshot.documents)


def table_parts(quotable: Sequence[ScoredUnit], snapshot: Snapshot) -> dict[str, list[Chunk]]:
    """Table → all chunks that hold a part of it, for each table with a row among the statements."""
    documents = {
        unit.chunk.table.id: unit.chunk.document_id
        for unit in quotable
        if unit.chunk.table and unit.unit.row is not None and not unit.chunk.from_picture
    }
    return {
        table: [one for one in snapshot.chunks(document) if one.table and one.table.id == table]
        for table, document in documents.items()
    }


def table_read(parts: Sequence[Chunk], quotable: Sequence[ScoredUnit]) -> TableRead:
    """`parts`: the chunks of one table, in order."""
    first, tables = parts[0], [part.table for part in parts if part.table]
    rows = tuple(row for table in tables for row in table.rows)
    strengths: dict[int, float] = {}
    for unit in quotable:
        own, row = unit.chunk.table, unit.unit.row
        if own and row is not None and own.id == tables[0].id:
            strengths.setdefault(own.first_row + row, unit.strength)
    return TableRead(
        table=replace(tables[0], rows=rows),
        around=" ".join((first.document_title, first.tab, *first.heading_path)),
        strengths=strengths,
        behind=quotable[0].strength - max(strengths.values()),
    )


def _end_of(table: ChunkTable) -> int:
    return table.first_row + len(table.rows)


def _has_other_quantity(best: BestCell, aspect: Aspect) -> bool:
    """Whether question and label have different quantities of one measure: with `5 weeks` against
    `under 3 weeks` only a reader can judge whether the row applies."""
    in_question, in_label = (
        [one for one in quantities(text) if one.measure]
        for text in (aspect.text, row_label(best.read.table, best.row))
    )
    shared = {one.measure for one in in_question} & {one.measure for one in in_label}
    return bool(shared) and not any(one.agrees(each) for one in in_question for each in in_label)
