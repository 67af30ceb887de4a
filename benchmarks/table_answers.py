"""Direct answers from tables: how many, and how many of them right; fits the weights of cells.

    python -m benchmarks.table_answers [--fit] [--each] [given] [hitab] [fetaqa] [demo] [public]

Reads `$ONCALL_SHARED_DIR/data` (default ../shared). *given*: lookups in HiTab's development tables,
the right table given; *hitab*: the same, with all these tables as documents, through the product's
search; *fetaqa*: questions of Wikipedia's tables with one gold cell, table given; *demo*, *public*:
golden questions. A right answer has the value of the gold cell, or all facts of a golden question.
HiTab's labels are noisy: about half of the wrong answers that were read are right.

`--fit` prints the weights, fitted on HiTab's training tables, a tenth of them as documents, on
FeTaQA, on golden questions, and on questions made of the golden documents' tables, a third of them
with a word that these tables lack. The gate is fitted out of fold."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable

from agents.answer import Question
from agents.context.post_processor import WITHOUT_A_MODEL, FoundPassages, build_context
from agents.extractive import direct_answer as direct
from agents.extractive.cells import TableRead
from agents.extractive.direct_answer import (
    FEATURES,
    GATE,
    SURE,
    features_of,
    gate_evidence,
    has_several_questions,
    softmax,
    table_parts,
    table_read,
)
from agents.extractive.quotable import quotable
from agents.extractive.relevance import Aspect, ScoredUnit, aspects_of, score_units
from agents.extractive.table import cell_at, flat, header_at, row_label
from benchmarks.material.asked_questions import searched
from benchmarks.material.fitting import cell as with_interval
from benchmarks.material.fitting import listwise, logistic
from benchmarks.material.golden_domains import SHARED, KeptMiniLM, Measured, measured_domains
from benchmarks.public_tables import _document as wikipedia_document
from config.domain import Domain, Sources
from config.settings import Settings
from enrichment.chunk import ChunkTable
from enrichment.chunking.chunker import split
from enrichment.language.words import naming_words
from enrichment.pipeline import enrich
from index.publish import open_index
from jobs.golden.check import plain, says
from loaders.document import Block, Document
from loaders.tables.cells import SourceCell
from loaders.tables.grid import build_table

HITAB = SHARED / "data/hitab"
TRAINING_DOCUMENTS, TRAINING_GIVEN, FOLDS, MADE = 300, 1_800, 3, 50
THINNED = 60
"""Cells of a question in the fit: its gold cells, the hardest others, and some at random."""
GOLDEN_COUNTS = 3
"""What one golden question counts in the fit; others 1."""
FORMS = ("what is the {} of {}?", "{} for {}?", "what {1} does {0} have?", "whats the {} for {}")


@dataclass
class Case:
    """One question with the tables that were read for it."""

    source: str
    fold: str
    """Questions of one fold are left out together: a table, or a corpus."""
    text: str
    reads: Sequence[TableRead]
    places: Sequence[tuple[int, int, int]]
    features: NDArray[np.float64]
    gold: NDArray[np.bool_]

    @property
    def counts(self) -> int:
        return GOLDEN_COUNTS if self.source == "golden" else 1

    def best(self, weights: NDArray[np.float64]) -> tuple[int, list[float], bool]:
        """(the most likely cell, evidence of the gate, whether it has the gold value)."""
        chances = softmax(self.features @ weights)
        best = int(chances.argmax())
        same = np.arange(len(chances)) == best
        evidence = gate_evidence(chances, same, self.features)
        return best, [evidence[name] for name in GATE], self.value(best) in self.gold_values

    @property
    def gold_values(self) -> set[str]:
        return {self.value(int(at)) for at in np.flatnonzero(self.gold)}

    def value(self, at: int) -> str:
        table, row, column = self.places[at]
        return flat(cell_at(self.reads[table].table, row, column))


IsGold = Callable[[TableRead, int, int], bool]


def case_of(
    source: str, fold: str, aspect: Aspect, reads: Sequence[TableRead], is_gold: IsGold
) -> Case:
    places, features = features_of(reads, aspect)
    gold = [is_gold(reads[table], row, column) for table, row, column in places]
    return Case(source, fold, aspect.text, reads, places, features, np.array(gold, dtype=bool))


def searched_case(source: str, one: Measured, question: Question, is_gold: IsGold) -> Case | None:
    """None for a question of several parts, which gets no direct answer."""
    plan, hits = searched(one, question)
    scored = score_units(plan, one.snapshot, hits, one.domain.glossary)
    found = FoundPassages(plan=plan, snapshot=one.snapshot, hits=hits, scored=scored)
    context = build_context(found, characters=WITHOUT_A_MODEL).chunks
    aspects = aspects_of(plan, one.snapshot, one.domain.glossary)
    units: list[ScoredUnit] = quotable(scored, context, aspects[0], one.snapshot.documents)
    if has_several_questions(aspects) or not units:
        return None
    parts = table_parts(units, one.snapshot).values()
    reads = [table_read(each, units) for each in parts]
    case = case_of(source, one.domain.domain, aspects[0], reads, is_gold)
    return case if case.places else None


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HITAB / f"{name}.jsonl").read_text("utf-8").splitlines()]


def document(entry: dict[str, Any]) -> Document:
    """A HiTab table as a page of the product, its merged cells as in HTML."""
    spans = {(top, left): (bottom - top + 1, right - left + 1)
             for top, bottom, left, right in entry.get("merged", [])}  # fmt: skip
    hidden = {
        (row, column)
        for top, bottom, left, right in entry.get("merged", [])
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
    } - spans.keys()
    rows = [
        [
            SourceCell(text=text, markdown=text, row_span=spans.get((row, column), (1, 1))[0],
                       column_span=spans.get((row, column), (1, 1))[1])
            for column, text in enumerate(texts) if (row, column) not in hidden
        ]
        for row, texts in enumerate(entry["grid"])
    ]  # fmt: skip
    table, _ = build_table(rows, placeholders=False, marked_rows=entry["header_rows"])
    block = Block(kind="table", text="", markdown="", position=0, table=table)
    return Document(id=entry["id"], title=entry["title"], url="", blocks=(block,),
                    mime_type="text/html", source="file")  # fmt: skip


def whole_table(page: Document) -> ChunkTable:
    parts = [one.table for one in split(page, count_tokens=lambda t: len(t) // 4 + 1) if one.table]
    return replace(parts[0], rows=tuple(row for part in parts for row in part.rows), first_row=0)


def given(source: str, question: str, page: Document, gold: set[tuple[int, int]]) -> Case:
    """`gold`: (row, column), rows counted from the end."""
    table = whole_table(page)
    aspect = Aspect(text=question, weights=dict.fromkeys(naming_words(question), 1.0))
    read = TableRead(
        table=table,
        around=" ".join((page.title, *page.blocks[0].heading_path)),
        strengths=dict.fromkeys(range(len(table.rows)), 0.0),
        behind=0.0,
    )
    height = len(table.rows)
    return case_of(source, page.id, aspect, [read], lambda _, row, at: (row - height, at) in gold)


def given_cases(name: str, most: int | None = None) -> Iterator[Case]:
    pages = {entry["id"]: (entry, document(entry)) for entry in lines(f"tables_{name}")}
    questions = [one for one in lines(f"questions_{name}") if one["cell"]]
    for one in random.Random(1).sample(questions, most or len(questions)):
        entry, page = pages[one["table"]]
        row, column = one["cell"]
        yield given("given", one["question"], page, {(row - len(entry["grid"]), column)})


def wikipedia_cases() -> Iterator[Case]:
    """Gold: the highlighted cells that the answer has and the question has not."""
    path = SHARED / "data/fetaqa_dev/fetaQA-v1_dev.jsonl"
    for number, entry in enumerate(map(json.loads, path.read_text("utf-8").splitlines())):
        grid, answer, question = entry["table_array"], plain(entry["answer"]), entry["question"]
        gold = {
            (row - len(grid), column)
            for row, column in entry["highlighted_cell_ids"]
            if plain(grid[row][column]) in answer
            and plain(grid[row][column]) not in plain(question)
        }
        if gold:
            yield given("fetaqa", question, wikipedia_document(number, entry), gold)


@contextmanager
def tables_as_documents(name: str, most: int | None = None) -> Iterator[list[Case]]:
    entries = lines(f"tables_{name}")[:most]
    embedder = KeptMiniLM()
    with TemporaryDirectory() as folder:
        settings = Settings.model_validate({"data_dir": Path(folder)})
        index = open_index(settings, embedder)
        with index.stage(name) as staging:
            for page in map(document, entries):
                enriched = enrich(page, split(page, count_tokens=embedder.count_tokens))
                staging.put(enriched.card, enriched.chunks)
            staging.commit({})
        embedder.kept.save()
        domain = Domain(domain=name, title="tables", sources=Sources())
        one = Measured("hitab", domain, index.snapshot(name), [])
        heights = {entry["id"]: len(entry["grid"]) for entry in entries}
        yield [
            case
            for question in lines(f"questions_{name}")
            if question["table"] in heights
            if (case := _lookup(one, question, heights[question["table"]]))
        ]
        index.close()


def _lookup(one: Measured, question: dict[str, Any], height: int) -> Case | None:
    table = next(
        (each.table for each in one.snapshot.chunks(question["table"]) if each.table), None
    )
    row, column = question["cell"] or (-1, -1)

    def is_gold(read: TableRead, at: int, position: int) -> bool:
        same = table is not None and read.table.id == table.id and bool(question["cell"])
        return same and (at - len(read.table.rows), position) == (row - height, column)

    case = searched_case("hitab", one, Question(text=question["question"]), is_gold)
    return replace(case, fold=question["table"]) if case else None


def golden_cases(one: Measured) -> Iterator[Case]:
    for golden in one.questions:
        facts = golden.must_include if golden.answerable else []

        def is_gold(read: TableRead, row: int, at: int, facts: Sequence[str] = facts) -> bool:
            value = cell_at(read.table, row, at)
            context = f"{value} ({row_label(read.table, row)}, {header_at(read.table, at)})"
            return any(says(value, fact) for fact in facts) and all(
                says(context, fact) for fact in facts
            )

        if case := searched_case("golden", one, golden.as_question, is_gold):
            yield case


def made_cases(one: Measured) -> Iterator[Case]:
    """Questions of a table's header and a label or another cell's words, without some of them."""
    chance = random.Random(one.domain.domain)
    by_table: dict[str, list[tuple[ChunkTable, int, int]]] = {}
    for each in one.snapshot.documents:
        for table in (chunk.table for chunk in one.snapshot.chunks(each) if chunk.table):
            for row, texts in enumerate(table.rows):
                for at in range(table.label_columns, len(texts)):
                    if header_at(table, at) and row_label(table, row) and texts[at].strip():
                        by_table.setdefault(table.id, []).append((table, row, at))
    for _ in range(MADE):
        table, row, at = chance.choice(by_table[chance.choice(sorted(by_table))])
        names = [row_label(table, row).replace(" · ", " ")]
        names += [flat(text) for text in table.rows[row] if 2 <= len(text.split()) <= 12]
        name = names[0] if chance.random() < 0.65 else chance.choice(names)
        text = chance.choice(FORMS).format(*(
            " ".join([word for word in each.split() if chance.random() < 0.85] or each.split())
            for each in (header_at(table, at).replace(" › ", " "), name[:120])
        ))  # fmt: skip
        other, there, _ = chance.choice(by_table[chance.choice(sorted(by_table))])
        strange = chance.choice(row_label(other, there).split())
        is_strange = chance.random() < 0.3 and bool(naming_words(strange))
        text = f"{text.rstrip('?')} for {strange}" if is_strange else text
        value = "" if is_strange else table.rows[row][at]

        def is_gold(
            read: TableRead, one: int, position: int, place: Any = (table, row, at), v: str = value
        ) -> bool:
            own = read.table.id == place[0].id and position == place[2]
            row_of = place[0].first_row + place[1]
            return bool(v) and own and one == row_of

        case = searched_case("made", one, Question(text=text), is_gold)
        left = FEATURES.index("left over")
        if case and not (is_strange and not case.features[:, left].all()):
            yield case


def fit(training: Sequence[Case]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """(weights of the cells, weights of the gate, its bias)."""
    weights = _cell_weights(training)
    rows, right, counts = [], [], []
    for fold in range(FOLDS):
        left_out = [one for one in training if crc32(one.fold.encode()) % FOLDS == fold]
        own = _cell_weights([one for one in training if one not in left_out])
        for one in left_out:
            if one.source not in {"given", "fetaqa"}:  # the right table is never given
                _, evidence, is_right = one.best(own)
                rows.append(evidence)
                right.append(is_right)
                counts.append(one.counts)
    gate, bias = logistic(np.array(rows), np.array(right), np.array(counts), pull=2.0)
    return weights, gate, bias


def _cell_weights(training: Sequence[Case]) -> NDArray[np.float64]:
    chance = np.random.default_rng(0)
    counted = [one for one in training if one.gold.any() for _ in range(one.counts)]
    thinned = [_thinned(one, chance) for one in counted]
    return listwise([one for one, _ in thinned], [gold for _, gold in thinned], pull=1.0)


def _thinned(one: Case, chance: np.random.Generator) -> tuple[Any, Any]:
    hardest = np.argsort(-(one.features @ direct.CELL_WEIGHTS))[: THINNED // 2]
    others = chance.permutation(len(one.places))[: THINNED // 2]
    chosen = np.unique(np.concatenate([np.flatnonzero(one.gold), hardest, others]))
    return one.features[chosen], one.gold[chosen]


def main() -> None:
    wanted = {each for each in sys.argv[1:] if not each.startswith("--")}
    wanted = wanted or {"given", "hitab", "fetaqa", "demo", "public"}
    cases: list[Case] = []
    if "given" in wanted:
        cases += given_cases("dev")
    if "fetaqa" in wanted:
        cases += wikipedia_cases()
    if "hitab" in wanted:
        with tables_as_documents("dev") as found:
            cases += found
    with measured_domains(sorted(wanted & {"demo", "public"})) as domains:
        golden = [case for one in domains for case in golden_cases(one)]
        made = [case for one in domains for case in made_cases(one)] if "--fit" in sys.argv else []
    weights, gate, bias = direct.CELL_WEIGHTS, np.array(list(GATE.values())), direct.GATE_BIAS
    if "--fit" in sys.argv:
        with tables_as_documents("train", TRAINING_DOCUMENTS) as found:
            training = [*found, *given_cases("train", TRAINING_GIVEN), *wikipedia_cases()]
        weights, gate, bias = fit([*training, *golden, *made])
        print({name: round(float(w), 1) for name, w in zip(FEATURES, weights, strict=True)})
        print(
            {name: round(float(w), 2) for name, w in zip(GATE, gate, strict=True)}, round(bias, 2)
        )
    table = RichTable("source", "questions", "best cell right", "answered", "of these right")
    for source in dict.fromkeys(one.source for one in [*cases, *golden, *made]):
        rights: list[float] = []
        sures: list[float] = []
        for one in [*cases, *golden, *made]:
            if one.source == source:
                best, evidence, is_right = one.best(weights)
                is_sure = 1 / (1 + np.exp(-(np.array(evidence) @ gate + bias))) >= SURE
                rights.append(float(is_right))
                sures.append(float(is_sure))
                if "--each" in sys.argv and is_sure and not is_right:
                    print(f"{source}: {one.text} -> {one.value(best)}, not {one.gold_values}")
        right_of = [right for right, sure in zip(rights, sures, strict=True) if sure]
        table.add_row(source, str(len(rights)), *map(with_interval, (rights, sures, right_of)))
    Console().print(table)


if __name__ == "__main__":
    main()
