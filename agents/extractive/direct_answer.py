"""A direct answer without a model: one cell of a table, where it is certain.

A softmax over all cells of the tables that were read finds the cell, and a logistic gate tells
whether it is certain: `benchmarks/table_answers.py` fits both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agents.answer import Citation
from agents.extractive.cells import Flags, Numbers, QuestionWords, TableRead, cell_features
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.table import (
    Column,
    cell_at,
    header_at,
    in_a_line,
    label_in_full,
    notes_of,
    row_label,
    says_nothing,
    together,
    value_in,
)
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.quantities import quantities
from enrichment.safety.injection import redacted
from index.search import Snapshot

WEIGHTS = {
    # the row
    "row": 3.8,  # rarity, among the rows, of the question's words in its label and group
    "row named": 3.2,  # share of the label's words that the question has
    "row verbatim": 1.1,  # the label stands in the question
    "group named": 1.9,  # share of the words of its group's heads that the question has
    "digits alone": 0.5,  # the label shares nothing but digits with the question
    # the column
    "column": 2.7,  # rarity, among the columns, of the question's words in its header
    "column words": 3.2,  # share of the question that its header holds, less the best one's
    "column named": 1.9,  # share of the words of its own header that the question has
    "upper words": 2.8,  # share of the question in the headers above its own
    "upper named": 3.6,  # share of the words of the headers above that the question has
    # both
    "other cells": 2.5,  # share of the question that only other cells of the row hold
    "covered": 5.4,  # share of the question that label, headers, titles and other cells hold
    "covered best": 2.2,  # the same, less the best cell's of the table
    "left over": -1.2,  # share of the question of the rarest word that nothing holds
    "other row": 2.2,  # share of the question that only other labels and neither of its own hold
    "other column": -0.8,  # the same of headers
    "twice": -10.0,  # share of the question that both label and header hold
    # the cell
    "empty": -4.6,
    "label": -1.7,
    "label asked": 1.6,  # `which`, and other cells are matched
    "number": 0.5,
    "kind": 1.0,  # of the requested kind: 1; of another: -1; none requested: 0
    "share": 0.8,  # a share or rate where one is asked for
    "no share": -1.3,  # none where one is asked for
    "share unasked": -1.4,
    "change": 3.3,  # a change or difference where one is asked for
    "change unasked": -1.2,
    "total row": 2.3,
    "total column": 1.6,
    "total and left over": -0.9,  # a total, for a question with a word that nothing holds
    "negated row": -2.2,  # its label negates and the question does not
    "negated column": -2.5,
    "not negated": -2.2,  # the question negates, and another row or column of the table
    # the search
    "behind": -0.8,  # log-odds by which the table's best row is weaker than the best statement
    "row behind": -0.6,  # log-odds by which the row is weaker than the table's best one
    "row unseen": -2.9,  # the row is not in the context
}
FEATURES = tuple(WEIGHTS)
CELL_WEIGHTS: Numbers = np.array(list(WEIGHTS.values()))
GATE = {
    "certain": 0.21,  # log-odds of the cell, by the softmax
    "ahead": 0.19,  # log of its probability over the next one's
    "covered": 1.82, "left over": -4.43, "row named": 0.68, "digits alone": -0.98, "behind": -0.34,
    "kind": 0.40, "no share": -0.50, "share unasked": -0.49, "number": 1.19, "other cells": 0.10,
    "label": -0.73, "other row": 0.05, "other column": 0.84,
}  # fmt: skip
GATE_BIAS = -2.15
SURE = 0.83
"""Minimum probability of the cell for a direct answer."""
_LEAST = 1e-4
_ASKS = re.compile(r"\b(?:what|which|who|whom|whose|how|when|where|why)s?\b", re.IGNORECASE)
_MAX_CHARS = 400
"""A longer answer is shown as a passage instead."""


def direct_answer(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], snapshot: Snapshot
) -> tuple[str, Citation] | None:
    """(the value with its unit, label and header; its citation, `[1]`); None unless one cell of
    all tables among these statements is certain.

    `quotable`: see `quotable.py`, best first. `aspects`: the whole question first."""
    whole = aspects[0]
    if not quotable or not whole.weights or has_several_questions(aspects):
        return None
    if quotable[0].chunk.from_picture:  # a misread number would be certain and wrong
        return None
    parts = table_parts(quotable, snapshot)
    best = best_cell([table_read(each, quotable) for each in parts.values()], whole)
    if best is None or best.probability < SURE or _means_another_row(best, whole.text):
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


def has_several_questions(aspects: Sequence[Aspect]) -> bool:
    """Whether its parts are more than one question and what that is about."""
    return len(aspects) > 1 and len(_ASKS.findall(aspects[0].text)) != 1


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


def _means_another_row(best: BestCell, question: str) -> bool:
    """Whether the question has the whole label of other rows where this row has another one (`for
    Restricted data`, of a key with a row for Confidential data alone), or another quantity of one
    measure: with `5 weeks` against `under 3 weeks` only a reader can judge whether it applies."""
    table, line = best.read.table, in_a_line(question)
    for position in range(table.label_columns if table.label_columns > 1 else 0):
        labels = {in_a_line(row[position]) for row in table.rows} - {"  "}
        is_named = in_a_line(table.rows[best.row][position]) in line
        if not is_named and any(label in line for label in labels):
            return True
    in_question, in_label = (
        [one for one in quantities(text) if one.measure]
        for text in (question, row_label(table, best.row))
    )
    shared = {one.measure for one in in_question} & {one.measure for one in in_label}
    return bool(shared) and not any(one.agrees(each) for one in in_question for each in in_label)


@dataclass(frozen=True, kw_only=True)
class BestCell:
    """The most likely cell."""

    read: TableRead
    row: int
    column: Column
    probability: float
    """That it is the one, 0–1."""


def best_cell(reads: Sequence[TableRead], aspect: Aspect) -> BestCell | None:
    """The most likely cell of all tables; None without any, or when it is empty."""
    places, features = features_of(reads, aspect)
    if not places:
        return None
    chances = softmax(features @ CELL_WEIGHTS)
    at, row, position = places[int(chances.argmax())]
    column = _merged(reads[at], row, position)
    if says_nothing(column.cell):
        return None
    same = [place in {(at, row, each) for each in column.positions} for place in places]
    evidence = gate_evidence(chances, np.array(same), features)
    odds = sum(GATE[name] * value for name, value in evidence.items()) + GATE_BIAS
    probability = 1 / (1 + float(np.exp(-odds)))
    return BestCell(read=reads[at], row=row, column=column, probability=probability)


def features_of(
    reads: Sequence[TableRead], aspect: Aspect
) -> tuple[list[tuple[int, int, int]], Numbers]:
    """((table, row, column) of each cell; (cells, FEATURES))."""
    question = QuestionWords(aspect)
    places: list[tuple[int, int, int]] = []
    tables = [np.zeros((0, len(FEATURES)))]
    for at, read in enumerate(reads):
        rows, values = cell_features(read, question)
        if rows:
            width = max(map(len, read.table.rows))
            shape = len(rows), width
            stacked = [np.broadcast_to(np.asarray(values[name]), shape) for name in FEATURES]
            tables.append(np.stack(stacked, axis=-1, dtype=np.float64).reshape(-1, len(FEATURES)))
            places += [(at, row, column) for row in rows for column in range(width)]
    return places, np.concatenate(tables)


def softmax(scores: Numbers) -> Numbers:
    chances = np.exp(scores - scores.max())
    return np.asarray(chances / chances.sum())


def gate_evidence(chances: Numbers, same: Flags, features: Numbers) -> dict[str, float]:
    """GATE's evidence for the best cell. `same`: whether a cell is merged with it."""
    best, chance = features[int(chances.argmax())], float(chances[same].sum())
    second = float(chances[~same].max(initial=0.0))
    evidence = {name: float(best[FEATURES.index(name)]) for name in GATE if name in WEIGHTS}
    return evidence | {
        "certain": float(np.log((chance + _LEAST) / (1 - chance + _LEAST))),
        "ahead": float(np.log((chance + _LEAST) / (second + _LEAST))),
    }


def _merged(read: TableRead, row: int, position: int) -> Column:
    """The cell's column with those of equal neighbors: a merged cell has several headers. A single
    word, such as `yes`, may repeat without being merged."""
    table, cell = read.table, cell_at(read.table, row, position)
    first = last = position
    if position >= table.label_columns and " " in cell:
        while first > table.label_columns and cell_at(table, row, first - 1) == cell:
            first -= 1
        while last + 1 < len(table.rows[row]) and cell_at(table, row, last + 1) == cell:
            last += 1
    positions = tuple(range(first, last + 1))
    header = together([header_at(table, each) for each in positions])
    return Column(header=header, cell=cell, positions=positions)


def cell_text(best: BestCell) -> str:
    """`60 days (Keys › API signing key · Restricted, Maximum age › SG)`: the value with its unit,
    the label with the heads of its group, and the header."""
    table = best.read.table
    value = value_in(table, best.row, best.column)
    label = "" if value == row_label(table, best.row) else label_in_full(table, best.row)
    context = ", ".join(filter(None, (label, best.column.header)))
    return f"{value} ({context})" if context else value
