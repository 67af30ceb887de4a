"""Open table questions (FeTaQA): are all gold cells seen, with header and row label, by BM25?

    python -m benchmarks.public_tables

Reads `$ONCALL_SHARED_DIR/data/fetaqa_dev` (default ../shared); says so when it is absent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material.golden_evidence import words
from config.domain import ChunkOptions
from config.minilm import MiniLM
from enrichment.chunking.chunker import split
from enrichment.language.words import search_terms
from index.keywords.bm25 import RankBm25
from loaders.document import Block, Cell, Document, Table
from loaders.tables.markdown import table_to_markdown

ROOT = Path(__file__).resolve().parent.parent

DATA = Path(os.environ.get("ONCALL_SHARED_DIR", ROOT.parent / "shared")) / "data/fetaqa_dev"
BUDGET = 4_000


@dataclass(frozen=True)
class Part:
    table: int
    shown: str
    indexed: str


def main() -> None:
    if not DATA.is_dir():
        print(f"no {DATA}; set ONCALL_SHARED_DIR")
        return
    lines = (DATA / "fetaQA-v1_dev.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    documents = [_document(number, entry) for number, entry in enumerate(entries)]
    print("| way | parts | in 4,000 characters | top 5 |\n|---|---|---|---|")
    for name, parts in _ways(documents).items():
        index = RankBm25([search_terms(part.indexed) for part in parts])
        seen = [_seen(entry, number, parts, index) for number, entry in enumerate(entries)]
        budget, top = np.array(seen).mean(axis=0)
        print(f"| {name} | {len(parts)} | {budget:.3f} | {top:.3f} |", flush=True)


def _ways(documents: Sequence[Document]) -> dict[str, list[Part]]:
    count = MiniLM().count_tokens

    def chunks(options: ChunkOptions) -> list[Part]:
        return [
            Part(number, chunk.text, chunk.index_text)
            for number, document in enumerate(documents)
            for chunk in split(document, count_tokens=count, options=options)
        ]

    ours = chunks(ChunkOptions())
    return {
        "fixed 800 characters": list(_fixed(documents, 800)),
        "whole table": chunks(ChunkOptions(table_size=10**6)),
        "row groups": ours,
        "row groups, no breadcrumb": [
            Part(part.table, part.shown, part.indexed.split("\n", 1)[1]) for part in ours
        ],
    }


def _fixed(documents: Sequence[Document], size: int) -> Iterator[Part]:
    for number, document in enumerate(documents):
        table = document.blocks[0].table
        heading = " › ".join((document.title, *document.blocks[0].heading_path))
        text = f"{heading}\n{table_to_markdown(table) if table else ''}"
        for start in range(0, len(text), size):
            yield Part(number, text[start : start + size], text[start : start + size])


def _document(number: int, entry: dict[str, Any]) -> Document:
    width = max(len(row) for row in entry["table_array"])
    rows = tuple(
        tuple(
            Cell(text=text, markdown=text, row=i, column=j)
            for j, text in enumerate([*row, *[""] * (width - len(row))])
        )
        for i, row in enumerate(entry["table_array"])
    )
    block = Block(
        kind="table",
        text="",
        markdown="",
        position=0,
        heading_path=(entry["table_section_title"],),
        table=Table(rows=rows, header_rows=1, header_evidence="first row"),
    )
    return Document(
        id=str(number),
        title=entry["table_page_title"],
        url="",
        blocks=(block,),
        mime_type="",
        source="file",
    )


def _seen(
    entry: dict[str, Any], number: int, parts: Sequence[Part], index: RankBm25
) -> tuple[bool, bool]:
    scores = index.scores(search_terms(entry["question"]))
    order = np.argsort(-scores, kind="stable")[:40]
    best = [parts[int(row)] for row in order]
    return _holds(entry, number, _within(best)), _holds(entry, number, best[:5])


def _within(parts: Sequence[Part]) -> list[Part]:
    left, kept = BUDGET, []
    for part in parts:
        kept.append(Part(part.table, part.shown[:left], ""))
        left -= len(part.shown)
        if left <= 0:
            break
    return kept


def _holds(entry: dict[str, Any], number: int, parts: Sequence[Part]) -> bool:
    texts = [words(part.shown) for part in parts if part.table == number]
    grid = entry["table_array"]

    def with_names(row: int, column: int) -> Callable[[str], bool]:
        names = [grid[0][column], grid[row][0], grid[row][column]]
        wanted = [words(name) for name in names if words(name).strip()]
        return lambda text: all(each in text for each in wanted)

    cells = [with_names(row, column) for row, column in entry["highlighted_cell_ids"]]
    return all(any(holds(text) for text in texts) for holds in cells)


if __name__ == "__main__":
    main()
