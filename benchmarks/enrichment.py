"""How much of the evidence a fixed budget of context holds, for several ways of chunking.

    python -m benchmarks.enrichment [--corpus demo] [--save]

Embeddings are kept in `var/benchmarks/`, so a second run takes seconds."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.answer import Question, Turn
from agents.context.post_processor import chunk_scores
from agents.extractive.relevance import score_units
from agents.query_optimizer import query_optimizer
from agents.retrieval import retrieve
from benchmarks.material.enrichment_results import save, table
from benchmarks.material.golden_domains import KeptMiniLM
from benchmarks.material.golden_evidence import GoldenQuestion, Passage, golden_questions
from benchmarks.material.kept_vectors import KeptVectors
from config.domain import Domain as DomainFile
from config.domain import Sources
from config.minilm import MiniLM
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from enrichment.chunking.chunker import split
from enrichment.extractive.lifecycle import with_successors
from enrichment.language.words import search_terms
from enrichment.pipeline import enrich
from index.keywords.bm25 import RankBm25, chunk_terms
from index.publish import open_index
from index.ranking.fusion import Ranking, fuse
from loaders.document import Document
from loaders.files.local import load_file

ROOT = Path(__file__).resolve().parent.parent

BUDGET = 4_000
FIXED = 800
DEPTH = 100
SHARED = Path(os.environ.get("ONCALL_SHARED_DIR", ROOT.parent / "shared"))
CORPORA = {
    "demo": (ROOT / "playground/demo", ROOT / "playground/demo/golden"),
    "public": (SHARED / "corpus", SHARED / "golden"),
}
Scores = NDArray[np.float32]
Search = Callable[[GoldenQuestion], list[int]]


@dataclass
class Domain:
    """The documents of one channel and the questions about them."""

    name: str
    sources: dict[str, str]
    documents: dict[str, Document]
    questions: list[GoldenQuestion]
    chunks: list[Chunk] = field(default_factory=list)
    cards: dict[str, DocumentCard] = field(default_factory=dict)


@dataclass(frozen=True)
class Way:
    """One way of chunking and searching."""

    name: str
    build: Callable[[Domain], tuple[list[Passage], Search]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=CORPORA, action="append")
    parser.add_argument("--save", action="store_true", help="write docs/enrichment.md and .svg")
    chosen = parser.parse_args()
    model = MiniLM()
    embed = KeptVectors(model, ROOT / "var/benchmarks/vectors.npz")
    results: dict[str, dict[str, dict[str, float]]] = {}
    for corpus in chosen.corpus or CORPORA:
        domains = list(_domains(corpus, model))
        for way in _ways(embed) if domains else ():
            results.setdefault(corpus, {})[way.name] = _measure(way, domains)
            print(corpus, way.name, results[corpus][way.name], flush=True)
            embed.save()
    print(table(results))
    if chosen.save:
        save(results, ROOT / "docs")


def _domains(corpus: str, model: MiniLM) -> Iterator[Domain]:
    folder, golden = CORPORA[corpus]
    for questions in sorted(golden.glob("*.yaml")):
        paths = sorted((folder / questions.stem).glob("*.md"))
        documents = {document.id: document for document in map(load_file, paths)}
        sources = {path.stem: path.read_text("utf-8").split("\n---\n", 1)[1] for path in paths}
        domain = Domain(questions.stem, sources, documents, golden_questions(questions, documents))
        for document in documents.values():
            enriched = enrich(document, split(document, count_tokens=model.count_tokens))
            domain.chunks += enriched.chunks
            domain.cards[document.id] = enriched.card
        yield domain


def _measure(way: Way, domains: Sequence[Domain]) -> dict[str, float]:
    """Share of questions all of whose evidence is seen: in the budget, and in the top five."""
    budget: list[tuple[str, bool]] = []
    top: list[bool] = []
    for domain in domains:
        passages, search = way.build(domain)
        for question in domain.questions:
            seen = [passages[row] for row in search(question)]
            budget.append((question.kind, question.answered_by(_within(seen, BUDGET))))
            top.append(question.answered_by(seen[:5]))
    tables = [hit for kind, hit in budget if kind == "table"]
    return {
        "all": sum(hit for _, hit in budget) / len(budget),
        "tables": sum(tables) / len(tables),
        "top 5": sum(top) / len(top),
        "questions": len(budget),
    }


def _within(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """Best first; the one that no longer fits is cut off where the budget ends."""
    kept: list[Passage] = []
    for passage in passages:
        kept.append(Passage(passage.document, passage.text[:budget]))
        budget -= len(passage.text)
        if budget <= 0:
            break
    return kept


def _ways(embed: KeptVectors) -> list[Way]:
    def fixed(*, history: bool) -> Callable[[Domain], tuple[list[Passage], Search]]:
        def build(domain: Domain) -> tuple[list[Passage], Search]:
            passages = [
                Passage(document, text[start : start + FIXED])
                for document, text in domain.sources.items()
                for start in range(0, len(text), FIXED)
            ]
            vectors = embed([passage.text for passage in passages])

            def search(question: GoldenQuestion) -> list[int]:
                asked = question.text if history else question.last
                return _fused([vectors @ embed([asked])[0]])

            return passages, search

        return build

    def structural(
        *, crumbs: bool = True, keywords: str = "", units: bool = False
    ) -> Callable[[Domain], tuple[list[Passage], Search]]:
        def build(domain: Domain) -> tuple[list[Passage], Search]:
            texts = [_indexed(chunk, crumbs=crumbs) for chunk in domain.chunks]
            vectors = embed(texts)
            best_unit = _best_unit(domain.chunks, embed) if units else None
            bm25 = _bm25(domain, texts, enriched=keywords == "enriched") if keywords else None

            def search(question: GoldenQuestion) -> list[int]:
                asked = question.text
                vector = embed([asked])[0]
                scores = [vectors @ vector]
                scores += [best_unit(vector)] if best_unit else []
                scores += [bm25.scores(search_terms(asked))] if bm25 else []
                return _fused(scores)

            return [Passage(c.document_id, c.text) for c in domain.chunks], search

        return build

    return [
        Way("fixed 800 characters", fixed(history=False)),
        Way("fixed 800 characters, previous turn in front", fixed(history=True)),
        Way("structural chunks, no breadcrumbs", structural(crumbs=False)),
        Way("+ breadcrumbs", structural()),
        Way("+ BM25", structural(keywords="plain")),
        Way("+ extractive enrichment in BM25", structural(keywords="enriched")),
        Way("+ sentence and row vectors", structural(keywords="enriched", units=True)),
        Way("as the agents order them", _by_the_agents),
    ]


def _by_the_agents(domain: Domain) -> tuple[list[Passage], Search]:
    """Query optimizer, retrieval from a published index and the post-processor, as they are."""
    embedder = KeptMiniLM()
    folder = ROOT / "var/benchmarks/index"
    index = open_index(Settings.model_validate({"data_dir": folder}), embedder)
    with index.stage(domain.name) as staging:
        for card in with_successors(domain.cards.values()):
            staging.put(card, [c for c in domain.chunks if c.document_id == card.id])
        staging.commit({})
    embedder.kept.save()
    snapshot = index.snapshot(domain.name)
    row_of = {chunk.id: row for row, chunk in enumerate(domain.chunks)}
    plan_for = query_optimizer(
        DomainFile(domain="measured", title="Measured", sources=Sources()), None
    )

    def search(question: GoldenQuestion) -> list[int]:
        before = question.text.removesuffix(question.last).strip()
        history = (Turn(role="user", content=before),) if before else ()
        asked = Question(text=question.last, history=history)
        plan = plan_for(asked, snapshot).value
        hits = retrieve(plan, snapshot)
        scores = chunk_scores(hits, score_units(plan, snapshot, hits, {}))
        return [row_of[chunk] for chunk in sorted(scores, key=lambda chunk: -scores[chunk])]

    return [Passage(chunk.document_id, chunk.text) for chunk in domain.chunks], search


def _indexed(chunk: Chunk, *, crumbs: bool) -> str:
    return chunk.index_text if crumbs else chunk.index_text.split("\n", 1)[1]


def _bm25(domain: Domain, texts: Sequence[str], *, enriched: bool) -> RankBm25:
    if enriched:
        return RankBm25([chunk_terms(c, domain.cards[c.document_id]) for c in domain.chunks])
    return RankBm25([search_terms(text) for text in texts])


def _best_unit(chunks: Sequence[Chunk], embed: KeptVectors) -> Callable[[Scores], Scores]:
    """A chunk is as near as its nearest sentence or row."""
    owners = np.array([row for row, chunk in enumerate(chunks) for _ in chunk.units])
    vectors = embed([unit.index_text for chunk in chunks for unit in chunk.units])

    def nearest(vector: Scores) -> Scores:
        best = np.full(len(chunks), -1.0, dtype=np.float32)
        np.maximum.at(best, owners, vectors @ vector)
        return best

    return nearest


def _fused(scores: Sequence[Scores]) -> list[int]:
    rankings = []
    for number, score in enumerate(scores):
        order = np.argsort(-score, kind="stable")[:DEPTH]
        rows = [int(row) for row in order if score[row] > 0]
        rankings.append(Ranking(name=str(number), rows=rows))
    return [found.row for found in fuse(rankings)]


if __name__ == "__main__":
    main()
