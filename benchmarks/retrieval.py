"""Hybrid retrieval, measured: speed beside LangChain's ensemble retriever, then quality.

    python -m benchmarks.retrieval [--sizes 1000 10000 50000 100000] [--units 4] [--no-quality]

Each row is a process of its own. Embedding takes no time here: vectors are made up beforehand.
LangChain's part needs the `bench` extra: pip install -e '.[bench]'"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material.made_up_corpus import HashedVectors, MadeUpCorpus

ROOT = Path(__file__).resolve().parent.parent

SIZES = (1_000, 10_000, 50_000, 100_000)
LIMIT = 10
QUESTIONS = {"ours": 300, "langchain": 40}
CHANGED = 50
FASTER_AT_50_000 = 10.0
GROWTH_A_DECADE = 2.5
PUBLISH_SECONDS = 10.0
OPEN_SECONDS = 3.0
COLUMNS = ("chunks", "who", "p50 ms", "p95 ms", "build s", "memory MB", "disk MB", "open s")
Result = dict[str, Any]


def main() -> int:
    options = _options()
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options.sizes[0], options.units)))
        return 0
    rows = []
    langchain = importlib.util.find_spec("langchain_classic") is not None
    print(_line(COLUMNS))
    for size in options.sizes:
        for who in ("ours", "langchain") if langchain else ("ours",):
            rows.append(_in_own_process(who, size, options.units if who == "ours" else 0))
            print(_row(rows[-1]), flush=True)
    if not langchain:
        print("LangChain is not installed: pip install -e '.[bench]'")
    print()
    met = [_verdict(*check) for check in _checks(rows)]
    if options.quality:
        from benchmarks.retrieval_quality import print_quality

        met.append(print_quality())
    return 0 if all(met) else 1


def measure_ours(size: int, units: int) -> Result:
    from config.settings import Settings
    from index.publish import open_index
    from index.search import SearchQuery

    corpus, embedder = MadeUpCorpus(size, units), HashedVectors()
    documents = [corpus.document(number) for number in range(corpus.documents)]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(_env_file=None, data_dir=Path(folder))
        _embed_beforehand(embedder, documents)
        index = open_index(settings, embedder)
        started = time.perf_counter()
        with index.stage("bench") as staging:
            for card, chunks in documents:
                staging.put(card, chunks)
            staging.commit({})
        built = time.perf_counter() - started
        started = time.perf_counter()
        changed = min(CHANGED, corpus.documents)
        with index.stage("bench") as staging:
            for number in range(changed):
                staging.put(*corpus.document(number, version=1))
            staging.commit({})
        published = time.perf_counter() - started
        disk = _megabytes_in(settings.data_dir / "index/bench/000002")
        index.close()
        del documents
        before = _memory()
        reader = open_index(settings, embedder)
        started = time.perf_counter()
        snapshot = reader.snapshot("bench")
        opened = time.perf_counter() - started

        def search(question: str) -> None:
            found = snapshot.search(SearchQuery(variants=(question,), limit=LIMIT))
            assert len(found) == LIMIT

        times = _times(search, corpus.questions(QUESTIONS["ours"]), embedder)
        memory = _memory() - before
        reader.close()
    return {
        **times,
        "who": f"oncall + {units} units" if units else "oncall",
        "chunks": size,
        "build s": built,
        "publish s": published,
        "open s": opened,
        "memory MB": memory,
        "disk MB": disk,
    }


def measure_langchain(size: int, _: int) -> Result:
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    class MadeUp(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(embedder(texts))

        def embed_query(self, text: str) -> list[float]:
            return embedder([text])[0].tolist()

    corpus, embedder = MadeUpCorpus(size), HashedVectors()
    chunks = [c for n in range(corpus.documents) for c in corpus.document(n)[1]]
    embedder([chunk.index_text for chunk in chunks])
    documents = [
        Document(page_content=c.text, metadata={"document": c.document_id}) for c in chunks
    ]
    before = _memory()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        store = Chroma("bench", embedding_function=MadeUp(), persist_directory=folder)
        for start in range(0, len(documents), 5_000):
            store.add_documents(documents[start : start + 5_000])
        keywords = BM25Retriever.from_documents(documents, k=LIMIT)
        vectors = store.as_retriever(search_kwargs={"k": LIMIT})
        both = EnsembleRetriever(retrievers=[keywords, vectors], weights=[0.5, 0.5])
        built = time.perf_counter() - started
        times = _times(both.invoke, corpus.questions(QUESTIONS["langchain"]), embedder)
        disk, memory = _megabytes_in(Path(folder)), _memory() - before
    return {
        **times,
        "who": "LangChain",
        "chunks": size,
        "build s": built,
        "memory MB": memory,
        "disk MB": disk,
    }


MEASURES: dict[str, Callable[[int, int], Result]] = {
    "ours": measure_ours,
    "langchain": measure_langchain,
}


def _checks(rows: Sequence[Result]) -> list[tuple[str, float, float]]:
    """(what, measured, at most)."""
    ours = {row["chunks"]: row for row in rows if row["who"] != "LangChain"}
    theirs = {row["chunks"]: row for row in rows if row["who"] == "LangChain"}
    checks = []
    for size in sorted(ours.keys() & theirs.keys() & {1_000, 50_000}):
        limit = 1.0 if size == 1_000 else 1 / FASTER_AT_50_000
        ratio = ours[size]["p50 ms"] / theirs[size]["p50 ms"]
        checks.append((f"{size:,} chunks: p50, share of LangChain's", ratio, limit))
    for size in sorted(ours):
        if size * 10 in ours:
            ratio = ours[size * 10]["p50 ms"] / ours[size]["p50 ms"]
            checks.append(
                (f"{size:,} → {size * 10:,} chunks: p50 grows by", ratio, GROWTH_A_DECADE)
            )
    if 50_000 in ours:
        seconds = ours[50_000]["publish s"]
        checks.append((f"50,000 chunks, {CHANGED} changed: publish, s", seconds, PUBLISH_SECONDS))
    if 100_000 in ours:
        checks.append(("100,000 chunks: open, s", ours[100_000]["open s"], OPEN_SECONDS))
    return checks


def _verdict(what: str, measured: float, limit: float) -> bool:
    print(
        f"{'met   ' if measured <= limit else 'MISSED'}  {what} {measured:.2f} (at most {limit:g})"
    )
    return measured <= limit


def _embed_beforehand(embedder: HashedVectors, documents: Sequence[Any]) -> None:
    for _, chunks in documents:
        embedder([chunk.index_text for chunk in chunks])
        embedder([unit.index_text for chunk in chunks for unit in chunk.units])


def _times(
    search: Callable[[str], object], questions: list[str], embedder: HashedVectors
) -> dict[str, float]:
    embedder(questions)
    for question in questions[:10]:
        search(question)
    taken = []
    for question in questions[10:]:
        started = time.perf_counter()
        search(question)
        taken.append(1_000 * (time.perf_counter() - started))
    return {"p50 ms": float(np.percentile(taken, 50)), "p95 ms": float(np.percentile(taken, 95))}


def _in_own_process(who: str, size: int, units: int) -> Result:
    command = [sys.executable, "-m", "benchmarks.retrieval", "--measure", who, "--sizes", str(size)]
    done = subprocess.run(
        [*command, "--units", str(units)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{who} at {size}: {done.stderr[-2_000:]}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def _memory() -> float:
    """Resident megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4_096 / 1e6


def _megabytes_in(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def _row(result: Result) -> str:
    cells = [f"{result['chunks']:,}", result["who"]]
    cells += [f"{result[name]:.1f}" if name in result else "" for name in COLUMNS[2:]]
    return _line(cells)


def _line(cells: Sequence[str]) -> str:
    return "  ".join(
        cell.ljust(16) if place == 1 else cell.rjust(9) for place, cell in enumerate(cells)
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--units", type=int, default=0, help="unit vectors of each chunk")
    parser.add_argument("--no-quality", dest="quality", action="store_false")
    parser.add_argument("--measure", choices=("ours", "langchain"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
