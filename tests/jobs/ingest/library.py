"""A domain of small documents whose source counts what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from config.domain import ChunkOptions
from config.settings import Settings
from enrichment.chunk import DocumentCard
from enrichment.pipeline import Enriched, prepare
from index.publish import Index, open_index
from jobs.ingest.executors import LocalExecutor, Prepare, Way
from jobs.ingest.handoff_store import CrashSuspects, PreparationStore
from jobs.ingest.job import ingest
from jobs.ingest.progress import IngestReport
from loaders.document import Document
from loaders.source import IndexedDocument, SourceChanges
from tests.enrichment.writing import Writer, count_words
from tests.index.conftest import WordEmbedder

DOMAIN = "library"
MODEL = "m-1"


def written(name: str, says: str) -> Document:
    writer = Writer(name.title(), name, content_hash=says, version=says)
    return writer.heading("Rules", 1).paragraphs(f"The {name} says {says}.").document()


def plainly(document: Document) -> Enriched:
    return prepare(document, count_tokens=count_words)


def with_a_model(document: Document) -> Enriched:
    made = plainly(document)
    return replace(made, card=replace(made.card, enriched_by=MODEL, summary="By the model."))


@dataclass
class Shelves:
    """A source that, as Drive does, tells by the version what changed."""

    says: dict[str, str]
    name: str = "shelves"
    read: list[str] = field(default_factory=list)
    on_load: Callable[[str], object] = lambda name: None

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        kept = {
            one
            for one, says in self.says.items()
            if one in settled and one in indexed and indexed[one].version == says
        }
        wanted = [one for one in self.says if one not in kept]
        return SourceChanges(
            changed={one: partial(self._load, one) for one in wanted},
            unchanged=frozenset(kept),
            cursor="seen",
        )

    def _load(self, name: str) -> Document:
        self.read.append(name)
        self.on_load(name)
        return written(name, self.says[name])


class Library:
    """Shelves, and the index that is made of them."""

    def __init__(self, folder: Path, count: int = 4, *, database_url: str | None = None) -> None:
        self.shelves = Shelves({f"book-{number}": "one" for number in range(count)})
        settings = Settings(_env_file=None).model_copy(
            update={"data_dir": folder / "var", "database_url": database_url}
        )
        self.index: Index = open_index(settings, WordEmbedder())
        self.options = ChunkOptions()

    @property
    def engine(self) -> Engine:
        return self.index.engine

    @property
    def handed(self) -> PreparationStore:
        return PreparationStore(self.engine, DOMAIN)

    def ways(self, model: Prepare | None = None) -> Mapping[Way, Prepare]:
        return {"extractive": plainly} if model is None else {"extractive": plainly, "model": model}

    def ingest(self, *, model: Prepare | None = None, **how: Any) -> IngestReport:
        how.setdefault("executor", LocalExecutor(self.ways(model), at_once=2))
        return ingest(
            DOMAIN,
            sources=[self.shelves],
            stage=self.index.stage,
            pipeline=how.pop("pipeline", "1"),
            model=MODEL if model else "",
            store=self.handed,
            suspects=lambda: CrashSuspects(self.engine, DOMAIN, pardon=how.get("full", False)),
            **how,
        )

    def cards(self) -> Mapping[str, DocumentCard]:
        return self.index.snapshot(DOMAIN).documents
