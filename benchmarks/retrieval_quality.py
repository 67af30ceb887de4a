"""nDCG@10 and Recall@10 of hybrid retrieval, of its two halves, and of its rankings fused by rank.

    python -m benchmarks.retrieval_quality [--engines]

On golden questions a chunk is relevant when it shows a quote that the answer needs; on the public
table questions every chunk of the right table is. Vectors are kept in `var/benchmarks/`.
`--engines`: the golden questions with each engine that can be chosen, a Chroma server among them,
against the defaults; also among half of the documents, which Chroma searches here although it is
few rows."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.engines import chroma_server, never_away, wait_for_chroma
from benchmarks.material.golden_evidence import GoldenQuestion, golden_questions, words
from benchmarks.material.kept_vectors import KeptVectors
from benchmarks.public_tables import DATA, _document
from config.minilm import MiniLM
from config.models import Vectors
from config.parsing.fields import Strategy
from config.settings import Settings
from enrichment.chunking.chunker import split
from enrichment.pipeline import enrich
from index.generations import engines
from index.publish import open_index
from index.ranking.fusion import RANKING_WEIGHTS, K
from index.search import Hit, SearchQuery, Snapshot
from loaders.document import Document
from loaders.files.local import load_file

ROOT = Path(__file__).resolve().parent.parent

LIMIT = 10
TOLERANCE = 0.01
FUSED_BY_RANK = 100
"""Hits of a hybrid search that are put into another order."""
BY_RANK = "by rank"
HALF = "half"
"""Hybrid, among every other document and those of the answer."""
WAYS = (*get_args(Strategy), BY_RANK)
MEASURES = ("ndcg@10", "recall@10")
SHARED = DATA.parents[1]
CORPORA = {
    "demo": (ROOT / "playground/demo", ROOT / "playground/demo/golden"),
    "public": (SHARED / "corpus", SHARED / "golden"),
}


@dataclass(frozen=True)
class Asked:
    text: str
    relevant: frozenset[str]
    """Chunk ids."""


@dataclass(frozen=True)
class Set:
    name: str
    documents: Sequence[Document]
    questions: Sequence[GoldenQuestion] | None = None
    tables: Sequence[str] = ()
    """Question about the document of the same place."""


class Kept:
    """MiniLM with its vectors kept on disk."""

    def __init__(self) -> None:
        self._model = MiniLM()
        self.name, self.dimensions = self._model.name, self._model.dimensions
        self.max_tokens, self.count_tokens = self._model.max_tokens, self._model.count_tokens
        self.vectors = KeptVectors(self._model, ROOT / "var/benchmarks/vectors.npz")

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return self.vectors(texts)


def print_quality() -> bool:
    """Whether hybrid is nowhere more than 0.01 below the better of its halves."""
    embedder = Kept()
    print("set".ljust(24), "questions", *(way.rjust(20) for way in WAYS), sep="  ")
    print(" " * 35, *(["nDCG@10  Recall@10".rjust(20)] * len(WAYS)), sep="  ")
    good = True
    for one in _sets():
        ((found, _),) = _measured(one, embedder, [{}])
        embedder.vectors.save()
        cells = [f"{found[way]['ndcg@10']:.3f}      {found[way]['recall@10']:.3f}" for way in WAYS]
        count = len(one.questions or one.tables)
        print(one.name.ljust(24), str(count).rjust(9), *(c.rjust(20) for c in cells), sep="  ")
        for measure in MEASURES:
            best = max(found["semantic"][measure], found["keyword"][measure])
            good = good and found["hybrid"][measure] >= best - TOLERANCE
    print("met   " if good else "MISSED", " hybrid is nowhere 0.01 below the better of its halves")
    return good


def print_engines() -> bool:
    """Whether each engine is nowhere more than 0.01 from the defaults."""
    engines.NARROW = 0
    embedder = Kept()
    good = True
    with tempfile.TemporaryDirectory() as folder, chroma_server(Path(folder)) as (url, _):
        choices: dict[str, dict[str, Any]] = {
            "embedded Chroma": {"vector_engine": "chroma"},
            "Chroma server": {"vector_engine": "chroma", "chroma_url": url},
            "rank_bm25": {"keyword_engine": "rank_bm25"},
            "Chroma server, rank_bm25": {
                "vector_engine": "chroma", "chroma_url": url, "keyword_engine": "rank_bm25"
            },
        }  # fmt: skip
        print(*("set".ljust(24), "engine".ljust(26), "questions", "largest difference", "same ten"))
        for one in (each for each in _sets() if each.questions):
            (default, ranked), *others = _measured(one, embedder, [{}, *choices.values()])
            embedder.vectors.save()
            for name, (found, hits) in zip(choices, others, strict=True):
                largest = max(
                    abs(found[way][measure] - default[way][measure])
                    for way in found
                    for measure in MEASURES
                )
                good = good and largest <= TOLERANCE
                same = float(np.mean([hits[key] == ranked[key] for key in ranked]))
                count = str(len(one.questions or ())).rjust(9)
                cells = count, f"{largest:.4f}".rjust(18), f"{same:.3f}".rjust(8)
                print(one.name.ljust(24), name.ljust(26), *cells, flush=True)
    print("met   " if good else "MISSED", " every engine is within 0.01 of the defaults")
    return good


def _sets() -> Iterator[Set]:
    for corpus, (folder, golden) in CORPORA.items():
        for path in sorted(golden.glob("*.yaml")):
            documents = [load_file(file) for file in sorted((folder / path.stem).glob("*.md"))]
            questions = golden_questions(path, {one.id: one for one in documents})
            yield Set(f"{corpus} {path.stem}", documents, questions)
    if DATA.is_dir():
        lines = (DATA / "fetaQA-v1_dev.jsonl").read_text("utf-8").splitlines()
        entries = [json.loads(line) for line in lines]
        documents = [_document(number, entry) for number, entry in enumerate(entries)]
        yield Set("FeTaQA tables", documents, None, [entry["question"] for entry in entries])


Measured = tuple[dict[str, dict[str, float]], dict[tuple[str, int], list[str]]]
"""Way → measures, and (way, question) → the first ten chunks."""


def _measured(one: Set, embedder: Kept, choices: Sequence[dict[str, Any]]) -> list[Measured]:
    """For each choice of engines, as settings of the index."""
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(Settings(_env_file=None, data_dir=Path(folder)), embedder)
        with index.stage("bench") as staging:
            for document in one.documents:
                enriched = enrich(document, split(document, count_tokens=embedder.count_tokens))
                staging.put(enriched.card, enriched.chunks)
            staging.commit({})
        index.close()
        result = []
        for choice in choices:
            settings = Settings(_env_file=None, data_dir=Path(folder), **choice)
            index = open_index(settings, embedder)
            snapshot = index.snapshot("bench")
            if settings.vector_engine == "chroma":
                wait_for_chroma(snapshot, "bench")
            with never_away("bench"):
                result.append(_of(snapshot, one, (*WAYS, HALF) if len(choices) > 1 else WAYS))
            index.close()
    return result


def _of(snapshot: Snapshot, one: Set, ways: Sequence[str]) -> Measured:
    from ranx import Qrels, Run, evaluate

    asked = [each for each in _asked(one, snapshot) if each.relevant]
    qrels = Qrels({str(n): dict.fromkeys(a.relevant, 1) for n, a in enumerate(asked)})
    found: dict[str, dict[str, float]] = {}
    hits: dict[tuple[str, int], list[str]] = {}
    for way in ways:
        ranked = {str(n): _ranked(snapshot, a, way) for n, a in enumerate(asked)}
        scores = evaluate(qrels, Run(ranked), list(MEASURES), make_comparable=True)
        found[way] = {name: float(scores[name]) for name in MEASURES}
        hits |= {(way, n): list(one) for n, one in enumerate(ranked.values())}
    return found, hits


def _ranked(snapshot: Snapshot, asked: Asked, way: str) -> dict[str, float]:
    question = asked.text
    if way == BY_RANK:
        found = snapshot.search(SearchQuery(variants=(question,), limit=FUSED_BY_RANK))
        hits = sorted(found, key=lambda hit: -_reciprocal(hit))[:LIMIT]
    elif way == HALF:
        documents = sorted(snapshot.documents)
        right = {
            one for one in documents for chunk in snapshot.chunks(one) if chunk.id in asked.relevant
        }
        readable = frozenset({*documents[::2], *right})
        hits = snapshot.search(SearchQuery(variants=(question,), readable=readable, limit=LIMIT))
    else:
        strategy: Any = way
        hits = snapshot.search(SearchQuery(variants=(question,), strategy=strategy, limit=LIMIT))
    # By rank: scores of equal size must not be reordered.
    return {hit.chunk.id: float(LIMIT - rank) for rank, hit in enumerate(hits)}


def _reciprocal(hit: Hit) -> float:
    return sum(RANKING_WEIGHTS[name] / (K + rank) for name, rank in hit.ranks.items())


def _asked(one: Set, snapshot: Snapshot) -> Iterator[Asked]:
    for place, text in enumerate(one.tables):
        yield Asked(text, frozenset(chunk.id for chunk in snapshot.chunks(str(place))))
    for question in one.questions or ():
        yield Asked(question.text, frozenset(_showing(question, snapshot)))


def _showing(question: GoldenQuestion, snapshot: Snapshot) -> Iterator[str]:
    for need in question.needs:
        for chunk in snapshot.chunks(need.document):
            if need.met_by(words(chunk.text)):
                yield chunk.id


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", action="store_true", help="compare the engines")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if (print_engines if _options().engines else print_quality)() else 1)
