"""What ingestion costs: documents per minute, vectors, and where the processor time goes.

    python -m benchmarks.ingestion [demo] [public]

First embedding alone: the same texts in one call for each document, and many documents' in one.
Then the whole of ingestion from files: all is new; nothing has changed; the same files are in a
second domain. Last a peer, with the same embedder: pieces of 800 characters added to Chroma, one
vector each. What the machine does besides is in the seconds, and some of it in processor time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.material.golden_domains import SETS
from config.minilm import MiniLM
from config.models import Vectors
from config.settings import Settings
from enrichment.pipeline import prepare
from index.generations.build import embedded_texts
from index.generations.staging import TOGETHER
from jobs.evaluation.baseline import pieces
from loaders.files.local import load_file
from oncall import Copilot

ADDED_AT_ONCE = 4_000
"""Below Chroma's limit of 5,461."""
DOMAIN = "domain: {0}\ntitle: {0}\nsources: {{files: ['{1}/*.md']}}\n"


class Counted(MiniLM):
    """The embedder, with what it was asked and the processor time that it took."""

    def __init__(self) -> None:
        super().__init__()
        self.count()

    def count(self) -> None:
        self.calls = self.texts = 0
        self.processor = 0.0

    def __call__(self, texts: Sequence[str]) -> Vectors:
        began = time.process_time()
        vectors = super().__call__(texts)
        self.processor += time.process_time() - began
        self.calls += 1
        self.texts += len(texts)
        return vectors


@dataclass(frozen=True)
class Measuring:
    embedder: Counted
    documents: int
    table: Table

    def __call__(self, way: str, run: Callable[[], object]) -> None:
        """Run it once, and add its row."""
        self.embedder.count()
        began, processor = time.perf_counter(), time.process_time()
        run()
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        counted = self.embedder
        figures = (
            f"{60 * self.documents / seconds:.0f}",
            str(counted.texts),
            str(counted.calls),
            f"{processor:.1f}",
            f"{processor - counted.processor:.1f}",
            f"{seconds:.1f}",
        )
        self.table.add_row(way, *figures)
        print(way, *figures, flush=True)


def main() -> None:
    chosen = [name for name in SETS if name in sys.argv[1:]] or list(SETS)
    folders = [
        documents / golden.stem
        for documents, questions in map(SETS.__getitem__, chosen)
        for golden in sorted(questions.glob("*.yaml"))
    ]
    files = [path for folder in folders for path in sorted(folder.glob("*.md"))]
    embedder = Counted()
    embedder(["The model is loaded before anything is measured."])
    table = Table("way", "docs/min", "vectors", "calls", "CPU s", "not embedding", "seconds")
    measure = Measuring(embedder, len(files), table)
    texts = [
        embedded_texts(prepare(load_file(path), count_tokens=embedder.count_tokens).chunks)
        for path in files
    ]
    joined = list(dict.fromkeys(text for document in texts for text in document))
    groups = [joined[at : at + TOGETHER] for at in range(0, len(joined), TOGETHER)]
    measure("embedding, a call a document", lambda: list(map(embedder, texts)))
    measure(f"embedding, {TOGETHER} texts a call", lambda: list(map(embedder, groups)))
    with TemporaryDirectory() as place:
        copilot = _copilot(Path(place), folders, embedder)
        first = [folder.name for folder in folders]
        measure("ingested", lambda: list(map(copilot.ingest, first)))
        measure("again, nothing changed", lambda: list(map(copilot.ingest, first)))
        second = [f"{name}-again" for name in first]
        measure("the same in other domains", lambda: list(map(copilot.ingest, second)))
        copilot.index.close()
        measure("peer: pieces into Chroma", lambda: _pieces(files, embedder, Path(place)))
    Console(width=120).print(table)


def _copilot(place: Path, folders: Sequence[Path], embedder: Counted) -> Copilot:
    domains = place / "config" / "domains"
    domains.mkdir(parents=True)
    for folder in folders:
        for name in (folder.name, f"{folder.name}-again"):
            (domains / f"{name}.yaml").write_text(DOMAIN.format(name, folder))
    told = {
        "config_dir": domains.parent,
        "data_dir": place / "data",
        "chat_model": None,
        "folders": "/",
    }
    copilot = Copilot(Settings(_env_file=None).model_copy(update=told))
    copilot.models.embedder = embedder
    return copilot


def _pieces(files: Sequence[Path], embedder: Counted, place: Path) -> None:
    texts = [piece for path in files for piece in pieces(path.read_text("utf-8"))]
    from chromadb import PersistentClient

    pieces_of = PersistentClient(str(place)).create_collection("pieces", embedding_function=None)
    vectors = embedder(texts)
    for start in range(0, len(texts), ADDED_AT_ONCE):
        part = slice(start, start + ADDED_AT_ONCE)
        names = [str(number) for number in range(len(texts))[part]]
        pieces_of.add(ids=names, embeddings=vectors[part])


if __name__ == "__main__":
    main()
