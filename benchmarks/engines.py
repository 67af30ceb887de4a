"""The search engines of a worker, measured: ONCALL_VECTORS and ONCALL_KEYWORDS.

    python -m benchmarks.engines [--vectors 50000 300000] [--engines local embedded chroma]

Vectors and questions are those of `benchmarks.sizing`: of each five vectors, one is a chunk's and
four are units'. One folder is built for each size, and each engine is read by a process of its own.
Each search is run by the engine and by the default in turn, over all documents, half, a tenth, and
ten of them: `×` is the engine's median time over that of the default, which a busy machine changes
less than milliseconds, and `× CPU` the same for processor time, the server's included. `fill CPU`:
seconds of a core to store the folder's vectors in Chroma; `ready s`: until the next process
searches by it. `recall`: share of the true nearest hundred units. A server after an embedded Chroma
serves the same files."""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.material.made_up_corpus import MadeUpCorpus
from benchmarks.sizing import DEPTH, MovedVectors, memory_of, true_nearest
from config.models import Vectors
from config.settings import Settings
from index.generations.engines import CHROMA
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
    "embedded": {"vector_engine": "chroma"},
    "chroma": {"vector_engine": "chroma"},
    "rank_bm25": {"keyword_engine": "rank_bm25"},
}
RESTRICTIONS = {"": 1, " half": 2, " tenth": 10, " ten": 0}
"""Column → every how many documents may be read; 0: ten of them."""
COLUMNS = (
    "vectors", "engine", "p50 ms", "p95 ms", "CPU ms", "×", "× CPU", "× half", "× tenth", "× ten",
    "recall", "worker MB", "server MB", "fill CPU", "ready s",
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
                embedded = next(Path(folder).glob(f"index/d0/*/{CHROMA}"), Path(folder) / "server")
                running = chroma_server(embedded) if engine == "chroma" else nullcontext(("", None))
                with running as (url, process):
                    server = process.pid if process else 0
                    first = _step("fill", size, engine, folder, url, server)
                    result = _step("read", size, engine, folder, url, server) | first
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


def fill(options: argparse.Namespace) -> None:
    """Until the engine answers, as in the first process that opens the generation."""
    index, _ = _opened(options)
    before = _processor_seconds(options.server)
    _ready(index, options)
    result = {"fill CPU": _processor_seconds(options.server) - before}
    index.close()
    print(json.dumps(result if _by_chroma(options) else {}), flush=True)


def read(options: argparse.Namespace) -> None:
    index, _ = _opened(options)
    embedder = MovedVectors()
    questions = list(embedder.questions)
    embedder(questions)
    bare = memory_of()["Rss"]
    started = time.perf_counter()
    snapshot = _ready(index, options)
    ready = time.perf_counter() - started
    for number in range(QUESTIONS):
        snapshot.search(_query(questions, number))
    worker = memory_of()["Rss"]
    with never_away("d0"):
        recall = _recall(snapshot, np.array(list(embedder.questions.values()))[:COMPARED])
    beside = _opened(options, "local")[0]
    for number in range(QUESTIONS):
        beside.snapshot("d0").search(_query(questions, number))
    documents = sorted(snapshot.documents)
    result: Result = {}
    for name, every in RESTRICTIONS.items():
        among = documents[:: every or len(documents) // 10] if every != 1 else None
        readable = None if among is None else frozenset(among)
        queries = [_query(questions, number, readable) for number in range(QUESTIONS + 5)]
        times, by_default = _in_turn((snapshot, beside.snapshot("d0")), queries, options.server)
        result[f"×{name}"] = np.median(times[:, 0]) / np.median(by_default[:, 0])
        if among is None:
            result |= {"p50 ms": np.median(times[:, 0]), "p95 ms": np.percentile(times[:, 0], 95)}
            result |= {"CPU ms": times[:, 1].mean()}
            result["× CPU"] = times[:, 1].mean() / by_default[:, 1].mean()
    result = {name: float(value) for name, value in result.items()} | {
        "vectors": snapshot.info.chunks + snapshot.info.units,
        "engine": options.engines[0],
        "recall": recall,
        "worker MB": worker - bare,
        "ready s": ready,
    }
    print(json.dumps(result), flush=True)
    beside.close()
    index.close()


STEPS = {"build": build, "fill": fill, "read": read}


@contextmanager
def never_away(domain: str) -> Iterator[None]:
    """Ends the benchmark if the mapped files were searched in place of Chroma."""
    by_local = VECTOR_SEARCHES.labels(domain, "local")._value
    before = by_local.get()
    yield
    if by_local.get() > before:
        raise SystemExit("Chroma was away")


def wait_for_chroma(snapshot: Snapshot, domain: str) -> None:
    """Until searches are run by Chroma."""
    by_chroma = VECTOR_SEARCHES.labels(domain, "chroma")._value
    before = by_chroma.get()
    while by_chroma.get() == before:
        time.sleep(0.2)
        snapshot.search(SearchQuery(variants=("which?",), strategy="semantic"))


def _ready(index: Index, options: argparse.Namespace) -> Generation:
    snapshot = index.snapshot("d0")
    assert isinstance(snapshot, Generation)
    if _by_chroma(options):
        wait_for_chroma(snapshot, "d0")
    return snapshot


def _by_chroma(options: argparse.Namespace) -> bool:
    return options.engines[0] in {"chroma", "embedded"}


def _query(
    questions: list[str], number: int, readable: frozenset[str] | None = None
) -> SearchQuery:
    text = questions[number % len(questions)]
    return SearchQuery(variants=(text,), keywords=(f"w{number}",), readable=readable)


def _in_turn(
    snapshots: Sequence[Snapshot], queries: Sequence[SearchQuery], server: int
) -> list[NDArray[np.float64]]:
    """For each snapshot (queries, 2): milliseconds and milliseconds of processor time."""
    taken: list[list[tuple[float, float]]] = [[] for _ in snapshots]
    for query in queries:
        for snapshot, times in zip(snapshots, taken, strict=True):
            started, processor = time.perf_counter(), _processor_seconds(server)
            snapshot.search(query)
            used = _processor_seconds(server) - processor
            times.append((1_000 * (time.perf_counter() - started), 1_000 * used))
    return [np.array(times[5:]) for times in taken]


def _recall(snapshot: Generation, queries: Vectors) -> float:
    nearest = true_nearest(snapshot.folder.unit_vectors, queries)
    shared = []
    for one, query in zip(nearest, queries, strict=True):
        (best,) = snapshot.searches.units(query[None], DEPTH * UNITS_PER_CHUNK)
        shared.append(len(set(one.tolist()) & set(best.rows[:DEPTH].tolist())) / DEPTH)
    return float(np.mean(shared))


def _processor_seconds(server: int) -> float:
    """Of this process and the server's, all threads."""
    if not server:
        return time.process_time()
    # What glibc's clock_getcpuclockid returns: /proc counts in hundredths of a second.
    return time.process_time() + time.clock_gettime((~server << 3) | 2)


def _opened(options: argparse.Namespace, engine: str = "") -> tuple[Index, MadeUpCorpus]:
    engine = engine or options.engines[0]
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
def chroma_server(path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Its URL and process. It stores its collections below `path`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = str(Path(sys.executable).with_name("chroma"))
    where = ["--path", str(path), "--host", "127.0.0.1", "--port", port]
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
