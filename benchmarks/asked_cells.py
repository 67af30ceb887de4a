"""The cell that a golden question asks for, when the right row is known: is it found?

    python -m benchmarks.asked_cells [--each] [--all-rows] [--made] [demo] [public]

The questions are those whose evidence stands in rows of one table. The rows that hold a quote are
given, or with `--all-rows` all rows of their chunk. *Right*: the asked cells, as they would be
said, hold all facts of a good answer; *partly*: some of them; *wrong*: none; *none*: nothing was
said to be asked for. *Sure*: nothing is left over, the kind is held, and the column is ahead.
`--each` prints every question with its outcome. With `--made`, plain questions of the tables
themselves instead, `what is the HEADER of LABEL?`, all rows given."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from agents.answer import Question
from agents.extractive.cells import RequestedCells, cells_text, requested_cells
from agents.extractive.relevance import aspects_of
from agents.extractive.table import flat, row_label, says_nothing
from agents.query_optimizer import query_optimizer
from benchmarks.material.golden_domains import Measured, measured_domains
from enrichment.chunk import Chunk
from jobs.golden.check import plain, says
from jobs.golden.questions import GoldenQuestion

MADE = 150
"""Of each corpus."""
OUTCOMES = ("right", "partly", "wrong", "none")


@dataclass(frozen=True)
class Asked:
    """One question, the facts of a good answer, and what is said."""

    corpus: str
    id: str
    question: str
    facts: Sequence[str]
    cells: RequestedCells | None

    @property
    def said(self) -> str:
        return cells_text(self.cells) if self.cells else ""

    @property
    def outcome(self) -> str:
        if self.cells is None:
            return "none"
        facts = [says(self.said, fact) for fact in self.facts]
        return "right" if all(facts) else "partly" if any(facts) else "wrong"

    @property
    def one_cell(self) -> bool:
        return bool(self.cells) and len(self.cells.rows) == len(self.cells.columns) == 1


def main() -> None:
    wanted = [each for each in sys.argv[1:] if not each.startswith("--")] or ["demo", "public"]
    with measured_domains(wanted) as domains:
        made, every = "--made" in sys.argv, "--all-rows" in sys.argv
        asked = [
            one
            for each in domains
            for one in (_made_up(each) if made else _asked(each, all_rows=every))
        ]
    table = Table("corpus", "questions", *OUTCOMES, "one cell", "of these right", "sure wrong")
    for corpus in dict.fromkeys(one.corpus for one in asked):
        table.add_row(corpus, *_figures([one for one in asked if one.corpus == corpus]))
    table.add_row("all", *_figures(asked))
    console = Console()
    console.print(table)
    for one in asked if "--each" in sys.argv else ():
        kind = f"{one.cells.kind} {one.cells.has_kind}" if one.cells else ""
        ahead = f"{one.cells.ahead:.2f}" if one.cells else ""
        left = " ".join(sorted(one.cells.left_over)) if one.cells else ""
        print(f"\n{one.id} {one.outcome} {kind} {ahead} left: {left}\n  {one.question}")
        print(f"  said: {one.said}\n  wanted: {one.facts}")


def _figures(asked: list[Asked]) -> list[str]:
    counts = Counter(one.outcome for one in asked)
    single = [one for one in asked if one.one_cell]
    right = sum(one.outcome == "right" for one in single)
    numbers = [len(asked), *(counts[each] for each in OUTCOMES), len(single), right]
    sure = [
        one
        for one in asked
        if one.cells
        and one.cells.has_kind is not False
        and one.cells.ahead >= 0.2
        and not one.cells.left_over
    ]
    wrong = sum(one.outcome in {"wrong"} for one in sure)
    return [*map(str, numbers), f"{wrong} of {len(sure)}"]


def _asked(measured: Measured, *, all_rows: bool) -> Iterator[Asked]:
    chunks = list(_chunks(measured))
    for golden in measured.questions:
        place = _one_place(golden, chunks)
        if place is None or not golden.must_include:
            continue
        chunk, rows = place
        if all_rows and chunk.table:
            rows = list(range(len(chunk.table.rows)))
        cells = _cells(measured, chunk, rows, golden.as_question)
        name = measured.domain.domain
        yield Asked(name, golden.id, golden.question, golden.must_include, cells)


def _made_up(measured: Measured) -> Iterator[Asked]:
    chance = random.Random(0)
    places = [
        (chunk, chunk.table, row, column)
        for chunk in _chunks(measured)
        if chunk.table
        for row in range(len(chunk.table.rows))
        for column in range(chunk.table.label_columns, len(chunk.table.header))
        if chunk.table.header[column] and not says_nothing(chunk.table.rows[row][column])
    ]
    for chunk, table, row, column in chance.sample(places, min(MADE, len(places))):
        header = table.header[column].replace(" › ", " ")
        text = f"what is the {header} of {flat(row_label(table, row))}?"
        every = range(len(table.rows))
        cells = _cells(measured, chunk, every, Question(text=text))
        fact = flat(table.rows[row][column])
        yield Asked(measured.domain.domain, f"{chunk.document_id} {row}", text, [fact], cells)


def _chunks(measured: Measured) -> Iterator[Chunk]:
    for document in measured.snapshot.documents:
        yield from measured.snapshot.chunks(document)


def _cells(
    measured: Measured, chunk: Chunk, rows: Sequence[int], question: Question
) -> RequestedCells | None:
    plan = query_optimizer(measured.domain, None)(question, measured.snapshot).value
    whole = aspects_of(plan, measured.snapshot, measured.domain.glossary)[0]
    return requested_cells(chunk, rows, whole)


def _one_place(golden: GoldenQuestion, chunks: list[Chunk]) -> tuple[Chunk, list[int]] | None:
    """The table part and its rows in which all quotes stand; None when no part holds them all."""
    for chunk in chunks:
        rows: set[int] = set()
        for one in golden.evidence:
            quote = plain(one.quote)
            found = {
                unit.row
                for unit in chunk.units
                if chunk.document_id == one.document
                and unit.row is not None
                and quote in plain(f"{unit.text} | {unit.index_text}")
            }
            if not found:
                break
            rows |= found
        else:
            if rows:
                return chunk, sorted(rows)
    return None


if __name__ == "__main__":
    main()
