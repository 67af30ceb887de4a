"""The cell that a golden question asks for, when the right row is known: is it found?

    python -m benchmarks.asked_cells [--each] [--all-rows] [demo] [public]

The questions are those whose evidence stands in rows of one table. The rows that hold a quote are
given, or with `--all-rows` all rows of their chunk. *Right*: the asked cells, as they would be
said, hold all facts of a good answer; *partly*: some of them; *wrong*: none; *none*: nothing was
said to be asked for. `--each` prints every question with its outcome."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from agents.answer import Question, Turn
from agents.extractive.asked_cell import AskedCells, asked_cells, in_words
from agents.extractive.relevance import aspects_of
from agents.query_optimizer import PlanRequest, query_optimizer
from benchmarks.material.golden_domains import Measured, measured_domains
from enrichment.chunk import Chunk
from jobs.golden import GoldenQuestion
from jobs.scoring import plain, says

OUTCOMES = ("right", "partly", "wrong", "none")


@dataclass(frozen=True)
class Asked:
    """One golden question, its rows, and what is said of them."""

    corpus: str
    golden: GoldenQuestion
    cells: AskedCells | None

    @property
    def said(self) -> str:
        return in_words(self.cells) if self.cells else ""

    @property
    def outcome(self) -> str:
        if self.cells is None:
            return "none"
        facts = [says(self.said, fact) for fact in self.golden.must_include]
        return "right" if all(facts) else "partly" if any(facts) else "wrong"

    @property
    def one_cell(self) -> bool:
        return bool(self.cells) and len(self.cells.rows) == len(self.cells.columns) == 1


def main() -> None:
    wanted = [each for each in sys.argv[1:] if not each.startswith("--")] or ["demo", "public"]
    with measured_domains(wanted) as domains:
        asked = [one for each in domains for one in _asked(each, all_rows="--all-rows" in sys.argv)]
    table = Table("corpus", "questions", *OUTCOMES, "one cell", "of these right", "sure wrong")
    for corpus in dict.fromkeys(one.corpus for one in asked):
        table.add_row(corpus, *_figures([one for one in asked if one.corpus == corpus]))
    table.add_row("all", *_figures(asked))
    console = Console()
    console.print(table)
    for one in asked if "--each" in sys.argv else ():
        kind = f"{one.cells.kind_asked} {one.cells.kind_held}" if one.cells else ""
        ahead = f"{one.cells.ahead:.2f}" if one.cells else ""
        left = " ".join(sorted(one.cells.left_over)) if one.cells else ""
        print(
            f"\n{one.golden.id} {one.outcome} {kind} {ahead} left: {left}\n  {one.golden.question}"
        )
        print(f"  said: {one.said}\n  wanted: {one.golden.must_include}")


def _figures(asked: list[Asked]) -> list[str]:
    counts = Counter(one.outcome for one in asked)
    single = [one for one in asked if one.one_cell]
    right = sum(one.outcome == "right" for one in single)
    numbers = [len(asked), *(counts[each] for each in OUTCOMES), len(single), right]
    sure = [
        one
        for one in asked
        if one.cells
        and one.cells.kind_held is not False
        and one.cells.ahead >= 0.3
        and not one.cells.left_over
    ]
    wrong = sum(one.outcome in {"wrong"} for one in sure)
    return [*map(str, numbers), f"{wrong} of {len(sure)}"]


def _asked(measured: Measured, *, all_rows: bool) -> Iterator[Asked]:
    plan_of = query_optimizer(measured.domain, None)
    chunks = [
        chunk
        for document in measured.snapshot.documents
        for chunk in measured.snapshot.chunks(document)
    ]
    for golden in measured.questions:
        place = _one_place(golden, chunks)
        if place is None or not golden.must_include:
            continue
        chunk, rows = place
        if all_rows and chunk.table:
            rows = list(range(len(chunk.table.rows)))
        turns = tuple(Turn(role=turn.role, content=turn.content) for turn in golden.history)
        question = Question(text=golden.question, history=turns)
        plan = plan_of(PlanRequest(question=question, snapshot=measured.snapshot)).value
        whole = aspects_of(plan, measured.snapshot, measured.domain.glossary)[0]
        yield Asked(measured.domain.domain, golden, asked_cells(chunk, rows, whole))


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
