"""Finds the one cell that a question asks for among all cells of the tables that were read.

A softmax over these cells, and a logistic gate: `benchmarks/table_answers.py` fits both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.extractive.cell_features import Flags, Numbers, QuestionWords, TableRead, cell_features
from agents.extractive.relevance import Aspect
from agents.extractive.table import (
    Column,
    cell_at,
    header_at,
    label_in_full,
    row_label,
    says_nothing,
    together,
    value_in,
)

WEIGHTS = {
    # the row
    "row": 2.5,  # rarity, among the rows, of the question's words in its label and group
    "row named": 3.1,  # share of the label's words that the question has
    "row verbatim": 1.2,  # the label stands in the question
    "group named": 1.8,  # share of the words of its group's heads that the question has
    "digits alone": 0.4,  # the label shares nothing but digits with the question
    # the column
    "column": 2.2,  # rarity, among the columns, of the question's words in its header
    "column words": 4.8,  # share of the question that its header holds, less the best one's
    "column named": 1.7,  # share of the words of its own header that the question has
    "upper words": 1.3,  # share of the question in the headers above its own
    "upper named": 3.5,  # share of the words of the headers above that the question has
    # both
    "other cells": 9.0,  # share of the question that only other cells of the row hold
    "covered": 5.9,  # share of the question that label, headers, titles and other cells hold
    "covered best": 2.2,  # the same, less the best cell's of the table
    "left over": 0.4,  # share of the question of the rarest word that nothing holds
    "twice": -7.8,  # share of the question that both label and header hold
    # the cell
    "empty": -4.5,
    "label": -1.6,
    "label asked": 1.4,  # `which`, and other cells are matched
    "number": 0.7,
    "kind": 0.5,  # of the requested kind: 1; of another: -1; none requested: 0
    "share": 0.9,  # a share or rate where one is asked for
    "no share": -1.3,  # none where one is asked for
    "share unasked": -1.5,
    "change": 2.9,  # a change or difference where one is asked for
    "change unasked": -1.2,
    "total row": 2.2,
    "total column": 1.6,
    "total and left over": -0.8,  # a total, for a question with a word that nothing holds
    "negated row": -1.9,  # its label negates and the question does not
    "negated column": -2.6,
    "not negated": -2.0,  # the question negates, and another row or column of the table
    # the search
    "behind": -0.5,  # log-odds by which the table's best row is weaker than the best statement
    "row behind": -0.2,  # log-odds by which the row is weaker than the table's best one
    "row unseen": -1.6,  # the row is not in the context
}
FEATURES = tuple(WEIGHTS)
CELL_WEIGHTS: Numbers = np.array(list(WEIGHTS.values()))
GATE = {
    "certain": 0.3,  # log-odds of the cell, by the softmax
    "ahead": 0.4,  # log of its probability over the next one's
    "covered": 1.2, "left over": -1.9, "row named": 0.7, "digits alone": -1.6, "behind": -0.2,
    "kind": 0.5, "no share": -0.2, "share unasked": -0.8, "number": 1.2, "other cells": -4.2,
    "label": -1.1,
}  # fmt: skip
GATE_BIAS = -2.7
SURE = 0.84
"""Minimum probability of the cell for a direct answer."""
_LEAST = 1e-4


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
