"""What a worker needs for an index of some size: memory, milliseconds, disk, and a publication.

    python -m benchmarks.sizing [--shapes 1x10000 1x50000 1x300000 20x15000] [--units 4]

Each shape (domains x chunks) is built, edited and read by processes of their own; two read at once,
because workers of one machine share what they map. `p50 CPU` is what a search takes of a core, in
milliseconds: on a busy machine the other figures hold what others did besides.
Texts are made up. Vectors are those of the demo's documents, moved by differences between
neighbours among them, and questions are the demo's golden ones: made-up directions would be found
too easily, or not at all."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material.kept_vectors import KeptVectors
from benchmarks.material.made_up_corpus import MadeUpCorpus
from config.minilm import MiniLM
from config.models import Vectors
from config.settings import Settings
from index.publish import Index, open_index
from index.ranking.fusion import UNITS_PER_CHUNK
from index.search import SearchQuery
from index.snapshot import Generation
from index.vectors.quantized import Quantized, Rows
from index.vectors.search import LocalSearch

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "playground/demo"
SHAPES = ("1x10000", "1x50000", "1x300000", "20x15000")
QUESTIONS = 300
EDITED = 50
DEPTH = 100
COMPARED = 40
"""Questions whose nearest hundred are compared with those of plain floats."""
MOVED = 0.8
NEIGHBOURS = 10
COLUMNS = (
    "shape", "vectors", "p50 ms", "p95 ms", "p50 CPU", "recall", "RSS MB", "PSS MB", "bare MB",
    "open s", "publish s", "publish MB", "build s", "disk MB",
)  # fmt: skip
Result = dict[str, Any]


class MovedVectors:
    """A vector of the demo's by the text's hash, moved twice by the way from one of the demo's
    texts to a neighbour; a golden question has its own."""

    name, dimensions, max_tokens, language = "moved", 384, 256, ""

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def knows(self, word: str) -> bool:
        return True

    @cached_property
    def _kept(self) -> KeptVectors:
        return KeptVectors(MiniLM(), ROOT / "var/benchmarks/demo.npz")

    @cached_property
    def _texts(self) -> Vectors:
        paths = sorted(DEMO.glob("*/*.md"))
        lines = {line.strip() for path in paths for line in path.read_text("utf-8").splitlines()}
        vectors = self._kept(sorted(line for line in lines if len(line) > 20))
        self._kept.save()
        return vectors

    @cached_property
    def _ways(self) -> Vectors:
        """From each text to each of its neighbours."""
        nearest = np.argsort(-(self._texts @ self._texts.T), axis=1)[:, 1 : NEIGHBOURS + 1]
        ways: Vectors = (self._texts[:, None] - self._texts[nearest]).reshape(-1, self.dimensions)
        return ways

    @cached_property
    def questions(self) -> dict[str, Vectors]:
        import yaml

        asked = [
            entry["question"]
            for path in sorted((DEMO / "golden").glob("*.yaml"))
            for entry in yaml.safe_load(path.read_text("utf-8"))
        ]
        vectors = self._kept(asked)
        self._kept.save()
        return dict(zip(asked, vectors, strict=True))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        marks = np.array(
            [np.frombuffer(blake2b(one.encode()).digest(), dtype=np.uint64) for one in texts]
        )
        start = self._texts[marks[:, 0] % len(self._texts)]
        first, second = (self._ways[marks[:, n] % len(self._ways)] for n in (1, 2))
        moved = start + MOVED * (first + second) / np.sqrt(2)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        for place, text in enumerate(texts if len(texts) == 1 else ()):
            if text in self.questions:
                moved[place] = self.questions[text]
        return np.asarray(moved, dtype=np.float32)


def main() -> None:
    options = _options()
    if options.step:
        print(json.dumps(STEPS[options.step](options)), flush=True)
        sys.stdin.readline()  # the other reader still looks at what both map
        return
    print(_line(COLUMNS))
    for shape in options.shapes:
        print(_row(_measured(shape, options.units)), flush=True)


def _measured(shape: str, units: int) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        found: Result = {"shape": shape}
        for step in ("build", "edit"):
            process = _step(step, shape, units, folder)
            found |= _said(process)
            process.communicate("\n")
        readers = [_step("read", shape, units, folder) for _ in range(2)]
        found |= next(iter([_said(reader) for reader in readers]))
        found["PSS MB"] = memory_of(readers[0].pid)["Pss"]
        for reader in readers:
            reader.communicate("\n")
    return found


def build(options: argparse.Namespace) -> Result:
    """Everything is new."""
    index, domains, corpus = _opened(options)
    _ = MovedVectors().questions  # kept from here on: no reader's memory holds the model
    started = time.perf_counter()
    for domain in domains:
        with index.stage(domain) as staging:
            for number in range(corpus.documents):
                staging.put(*corpus.document(number))
            staging.commit({})
    index.close()
    return {"build s": time.perf_counter() - started}


def edit(options: argparse.Namespace) -> Result:
    """One chunk in each of some documents is another."""
    index, domains, corpus = _opened(options)
    started = time.perf_counter()
    with index.stage(domains[0]) as staging:
        for number in range(EDITED):
            staging.put(*corpus.document(number, version=1))
        staging.commit({})
    seconds = time.perf_counter() - started
    index.close()
    files = [file for file in options.folder.rglob("*") if file.is_file()]
    return {
        "publish s": seconds,
        "publish MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "disk MB": sum(file.stat().st_size for file in files) / 1e6,
    }


def read(options: argparse.Namespace) -> Result:
    """Questions to all domains in turn, by one thread."""
    index, domains, _ = _opened(options)
    embedder = MovedVectors()
    questions = list(embedder.questions)
    embedder(questions)
    bare = memory_of()["Rss"]
    started = time.perf_counter()
    snapshots = [index.snapshot(domain) for domain in domains]
    opened = time.perf_counter() - started
    taken = []
    for number in range(QUESTIONS + 2 * len(domains)):
        text = questions[number % len(questions)]
        query = SearchQuery(variants=(text,), keywords=(f"w{number}",), limit=20)
        started, began = time.perf_counter(), time.thread_time()
        snapshots[number % len(domains)].search(query)
        taken.append((time.perf_counter() - started, time.thread_time() - began))
    memory = memory_of()
    seconds, processor = 1_000 * np.array(taken[2 * len(domains) :]).T
    return {
        "p50 ms": float(np.percentile(seconds, 50)),
        "p95 ms": float(np.percentile(seconds, 95)),
        "p50 CPU": float(np.percentile(processor, 50)),
        "RSS MB": memory["Rss"],
        "bare MB": bare,
        "open s": opened / len(domains),
        "vectors": sum(one.info.chunks + one.info.units for one in snapshots),
        "recall": _recall(snapshots[-1], np.array(list(embedder.questions.values()))[:COMPARED]),
    }


STEPS = {"build": build, "edit": edit, "read": read}


def _recall(snapshot: Generation, queries: Vectors) -> float:
    """Share of the nearest hundred units by plain floats that a search finds."""
    folder = snapshot.folder
    found = LocalSearch(folder.unit_vectors, folder.unit_sketch)(queries, DEPTH * UNITS_PER_CHUNK)
    shares = [
        len(set(nearest.tolist()) & set(one.rows[:DEPTH].tolist())) / DEPTH
        for nearest, one in zip(true_nearest(folder.unit_vectors, queries), found, strict=True)
    ]
    return float(np.mean(shares))


def true_nearest(matrix: Quantized, queries: Vectors) -> list[Rows]:
    """The nearest hundred rows of each query, in any order."""
    scores = np.concatenate(
        [
            matrix[start : start + 10_000].exactly() @ queries.T
            for start in range(0, len(matrix), 10_000)
        ]
    )
    return [np.argpartition(-column, DEPTH)[:DEPTH] for column in scores.T]


def _opened(options: argparse.Namespace) -> tuple[Index, list[str], MadeUpCorpus]:
    count, size = (int(number) for number in options.shapes[0].split("x"))
    settings = Settings(_env_file=None, data_dir=options.folder, index_memory_mb=1e6)
    corpus = MadeUpCorpus(size, options.units)
    return open_index(settings, MovedVectors()), [f"d{n}" for n in range(count)], corpus


def _step(name: str, shape: str, units: int, folder: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.sizing", "--step", name, "--folder", folder]
    return subprocess.Popen(
        [*command, "--shapes", shape, "--units", str(units)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _said(process: subprocess.Popen[str]) -> Result:
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise SystemExit("a step of the benchmark failed")
    result: Result = json.loads(line)
    return result


def memory_of(process: int | str = "self") -> dict[str, float]:
    """Megabytes by kind."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()[1:]
    return {name: int(size.split()[0]) / 1e3 for name, _, size in _parts(lines)}


def _parts(lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return (line.partition(":") for line in lines)


def _row(result: Result) -> str:
    cells = [result[name] for name in COLUMNS]
    return _line([_cell(name, value) for name, value in zip(COLUMNS, cells, strict=True)])


def _cell(name: str, value: Any) -> str:
    if name == "recall":
        return f"{value:.3f}"
    return value if isinstance(value, str) else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.rjust(10) for cell in cells)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--units", type=int, default=4, help="unit vectors of each chunk")
    parser.add_argument("--step", choices=tuple(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
