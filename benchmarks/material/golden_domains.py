"""The domains with golden questions, indexed for a measurement."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.material.kept_vectors import KeptVectors
from config.domain import Domain, Sources
from config.domain_files import load_domains
from config.minilm import MiniLM
from config.models import Vectors
from config.settings import Settings
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from enrichment.extractive.lifecycle import with_successors
from enrichment.pipeline import enrich
from index.publish import Index, open_index
from index.search import Snapshot
from jobs.golden.questions import GoldenQuestion, load_golden
from loaders.files.local import load_file

ROOT = Path(__file__).resolve().parents[2]

SHARED = Path(os.environ.get("ONCALL_SHARED_DIR", ROOT.parent / "shared"))
SETS = {
    "demo": (ROOT / "playground/demo", ROOT / "playground/demo/golden"),
    "public": (SHARED / "corpus", SHARED / "golden"),
}


@dataclass(frozen=True)
class Measured:
    """One domain: its documents, published, and the questions about them."""

    set: str
    domain: Domain
    snapshot: Snapshot
    questions: list[GoldenQuestion]


class KeptMiniLM:
    """MiniLM that remembers between runs."""

    def __init__(self) -> None:
        self._model = MiniLM()
        self.name = self._model.name
        self.dimensions = self._model.dimensions
        self.max_tokens = self._model.max_tokens
        self.language = self._model.language
        self.count_tokens = self._model.count_tokens
        self.knows = self._model.knows
        self.kept = KeptVectors(self._model, ROOT / "var/benchmarks/golden_domains.npz")

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return self.kept(texts) if texts else self._model(texts)


def golden_chunks() -> Iterator[
    tuple[str, dict[str, list[Chunk]], list[GoldenQuestion], dict[str, list[str]]]
]:
    """Of every set that is here, without an index: (domain, chunks of each document, questions,
    glossary)."""
    for name, (documents, folder_of_golden) in SETS.items():
        for golden in sorted(folder_of_golden.glob("*.yaml")) if folder_of_golden.is_dir() else []:
            chunks = {}
            for path in sorted((documents / golden.stem).glob("*.md")):
                document = load_file(path)
                cut = split(document, count_tokens=lambda text: len(text) // 4 + 1)
                chunks[document.id] = list(enrich(document, cut).chunks)
            glossary = _glossary(name, golden.stem)
            yield golden.stem, chunks, load_golden([golden]), glossary


@contextmanager
def measured_domains(sets: Sequence[str]) -> Iterator[list[Measured]]:
    """Every domain of these sets that is here; the index is thrown away afterwards."""
    with TemporaryDirectory() as folder:
        settings = Settings.model_validate({"data_dir": Path(folder)})
        embedder = KeptMiniLM()
        index = open_index(settings, embedder)
        try:
            domains = [
                _published(name, documents / golden.stem, golden, index, embedder)
                for name, (documents, folder_of_golden) in SETS.items()
                if name in sets and folder_of_golden.is_dir()
                for golden in sorted(folder_of_golden.glob("*.yaml"))
            ]
            embedder.kept.save()
            yield domains
        finally:
            index.close()
            embedder.kept.save()


def _published(
    name: str, folder: Path, golden: Path, index: Index, embedder: KeptMiniLM
) -> Measured:
    documents = [load_file(path) for path in sorted(folder.glob("*.md"))]
    enriched = [enrich(one, split(one, count_tokens=embedder.count_tokens)) for one in documents]
    cards = with_successors(one.card for one in enriched)
    with index.stage(golden.stem) as staging:
        for card, one in zip(cards, enriched, strict=True):
            staging.put(card, one.chunks)
        staging.commit({})
    domain = Domain(
        domain=golden.stem,
        title=golden.stem,
        sources=Sources(),
        glossary=_glossary(name, golden.stem),
    )
    return Measured(name, domain, index.snapshot(golden.stem), load_golden([golden]))


def _glossary(name: str, domain: str) -> dict[str, list[str]]:
    """What ships with the demo; nobody has written one for the public documents."""
    return load_domains(ROOT / "config")[domain].glossary if name == "demo" else {}
