"""The search engines of a worker, measured: ONCALL_VECTORS and ONCALL_KEYWORDS.

    python -m benchmarks.engines [--vectors 50000 300000] [--engines local chroma embedded]

Vectors and questions are those of `benchmarks.sizing`: of each five vectors, one is a chunk's and
four are units'. One folder is built for each size, and each engine is read by a process of its own,
which searches everything, half of the documents, and ten of them. `CPU ms`: processor time of a
search, the server's included. `fill s`: until Chroma has stored what the folder holds; `ready s`:
until the next process searches by it. `recall`: share of the true nearest hundred units."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material.made_up_corpus import MadeUpCorpus
from benchmarks.sizing import DEPTH, MovedVectors, memory_of, true_nearest
from config.settings import Settings
from index.publish import Index, open_index
from index.ranking.fusion import UNITS_PER_CHUNK
from index.search import SearchQuery, Snapshot
from index.snapshot import Generation
from telemetry.metrics import VECTOR_SEARCHES

UNITS = 4
QUESTIONS = 120
COMPARED = 40
ENGINES: dict[str, dict[str, Any]] = {
    "local": {},
    "chroma": {"vector_engine": "chroma"},
    "embedded": {"vector_engine": "chroma"},
    "rank_bm25": {"keyword_engine": "rank_bm25"},
}
COLUMNS = (
    "vectors", "engine", "p50 ms", "p95 ms", "CPU ms", "half p50", "ten p50", "recall", "worker MB",
    "server MB", "fill s", "ready s",
)  # fmt: skip
Result = dict[str, Any]


def main() -> None:
    options = _options()
    if options.step:
        STEPS[options.step](options)
        return
    print(_line(COLUMNS), flush=True)
    for size in options.vectors:
        with tempfile.TemporaryDirectory() as folder:
            _step("build", size, "local", folder)
            for engine in options.engines:
                with _server(folder, engine) as (url, process):
                    server = process.pid if process else 0
                    first = _step("read", size, engine, folder, url, server)
                    result = _step("read", size, engine, folder, url, server)
                    result["fill s"] = first["ready s"]
                    if process:
                        result["server MB"] = memory_of(process.pid)["Rss"]
                print(_line([_cell(result.get(name, "")) for name in COLUMNS]), flush=True)


def build(options: argparse.Namespace) -> None:
    index, corpus = _opened(options)
    _ = MovedVectors().questions  # kept from here on: no reader's memory holds the model
    with index.stage("d0") as staging:
        for number in range(corpus.documents):
            staging.put(*corpus.document(number))
        staging.commit({})
    index.close()
    print(json.dumps({}))


def read(options: argparse.Namespace) -> None:
    index, _ = _opened(options)
    embedder = MovedVectors()
    questions = list(embedder.questions)
    embedder(questions)
    bare = memory_of()["Rss"]
    started = time.perf_counter()
    snapshot = index.snapshot("d0")
    assert isinstance(snapshot, Generation)
    if options.engines[0] in {"chroma", "embedded"}:
        wait_for_chroma(snapshot, "d0")
    ready = time.perf_counter() - started
    documents = sorted(snapshot.documents)
    before = _processor_seconds(options.server)
    for number in range(QUESTIONS):
        text = questions[number % len(questions)]
        snapshot.search(SearchQuery(variants=(text,), keywords=(f"w{number}",)))
    processor = 1_000 * (_processor_seconds(options.server) - before) / QUESTIONS
    times = {
        name: _times(snapshot, questions, readable)
        for name, readable in (
            ("all", None),
            ("half", frozenset(documents[::2])),
            ("ten", frozenset(documents[:: len(documents) // 10])),
        )
    }
    worker = memory_of()["Rss"]
    by_local = VECTOR_SEARCHES.labels("d0", "local")._value.get()
    queries = np.array(list(embedder.questions.values()))[:COMPARED]
    nearest = true_nearest(snapshot.folder.unit_vectors, queries)
    hits = snapshot.searches.units(queries, DEPTH * UNITS_PER_CHUNK)
    shared = [
        len(set(one.tolist()) & set(best.rows[:DEPTH].tolist())) / DEPTH
        for one, best in zip(nearest, hits, strict=True)
    ]
    if VECTOR_SEARCHES.labels("d0", "local")._value.get() > by_local:
        raise SystemExit("Chroma was away")
    result = {
        "vectors": snapshot.info.chunks + snapshot.info.units,
        "engine": options.engines[0],
        "p50 ms": float(np.percentile(times["all"], 50)),
        "p95 ms": float(np.percentile(times["all"], 95)),
        "CPU ms": processor,
        "half p50": float(np.percentile(times["half"], 50)),
        "ten p50": float(np.percentile(times["ten"], 50)),
        "recall": float(np.mean(shared)),
        "worker MB": worker - bare,
        "ready s": ready,
    }
    print(json.dumps(result), flush=True)
    index.close()


STEPS = {"build": build, "read": read}


def wait_for_chroma(snapshot: Snapshot, domain: str) -> None:
    """Until searches are run by Chroma."""
    by_chroma = VECTOR_SEARCHES.labels(domain, "chroma")._value
    before = by_chroma.get()
    while by_chroma.get() == before:
        time.sleep(0.2)
        snapshot.search(SearchQuery(variants=("which?",), strategy="semantic"))


def _times(
    snapshot: Generation, questions: list[str], readable: frozenset[str] | None
) -> list[float]:
    """Milliseconds of each search."""
    taken = []
    for number in range(QUESTIONS + 5):
        text = questions[number % len(questions)]
        query = SearchQuery(variants=(text,), keywords=(f"w{number}",), readable=readable)
        started = time.perf_counter()
        snapshot.search(query)
        taken.append(1_000 * (time.perf_counter() - started))
    return taken[5:]


def _processor_seconds(server: int) -> float:
    """Of this process and the server's, all threads."""
    if not server:
        return time.process_time()
    fields = Path(f"/proc/{server}/stat").read_text("ascii").rpartition(")")[2].split()
    return time.process_time() + sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _opened(options: argparse.Namespace) -> tuple[Index, MadeUpCorpus]:
    engine = options.engines[0]
    settings = Settings(
        _env_file=None,
        data_dir=options.folder,
        index_memory_mb=1e6,
        chroma_url=options.url or None,
        **ENGINES[engine],
    )
    corpus = MadeUpCorpus(options.vectors[0] // (1 + UNITS), UNITS)
    return open_index(settings, MovedVectors()), corpus


@contextmanager
def _server(folder: str, engine: str) -> Iterator[tuple[str, subprocess.Popen[bytes] | None]]:
    if engine != "chroma":
        yield "", None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = str(Path(sys.executable).with_name("chroma"))
    where = ["--path", f"{folder}/server", "--host", "127.0.0.1", "--port", port]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([program, "run", *where], **quiet) as process:
        try:
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.terminate()


def _step(name: str, size: int, engine: str, folder: str, url: str = "", server: int = 0) -> Result:
    command = [sys.executable, "-m", "benchmarks.engines", "--step", name, "--folder", folder]
    command += ["--vectors", str(size), "--engines", engine, "--url", url]
    done = subprocess.run(
        [*command, "--server", str(server)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else value
    return f"{value:.3f}" if value <= 1 else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _line(cells: Any) -> str:
    return "  ".join(cell.rjust(9) for cell in cells)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=int, nargs="+", default=[50_000, 300_000])
    parser.add_argument("--engines", nargs="+", choices=tuple(ENGINES), default=list(ENGINES))
    parser.add_argument("--step", choices=tuple(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    parser.add_argument("--server", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
