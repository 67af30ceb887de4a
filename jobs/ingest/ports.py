"""What the ingestion job needs of its neighbours: sources, enrichment, the next generation.

What came of a run of the ingestion job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from config.errors import LoadError
from config.models import Usage
from enrichment.chunk import Chunk, DocumentCard
from enrichment.llm.pictures import PictureReport
from enrichment.llm.tables import TableReport
from jobs.canary.outcome import CanaryOutcome
from loaders.document import Document


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """What one run did to one domain."""

    domain: str
    generation: int
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    failed: tuple[LoadError, ...] = ()
    warnings: tuple[str, ...] = ()
    """`document: what was skipped while loading it, or kept out as planted for an AI`."""
    chunks: int = 0
    embedded: int = 0
    """Texts that went through the embedding model in this run."""
    tables: TableReport = field(default_factory=TableReport)
    """Tables of the documents that were done in this run, and what the model made of them."""
    pictures: PictureReport = field(default_factory=PictureReport)
    """Pictures of these documents, and what a model that sees made of them."""
    unenriched: int = 0
    """Documents whose model enrichment failed; tried again at the next run."""
    canaries: tuple[CanaryOutcome, ...] = ()
    """How the golden questions fare, where something changed that they could notice."""
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def alarms(self) -> bool:
        """Golden questions were lost, beyond the domain's limit."""
        return any(one.alarms for one in self.canaries)


Load = Callable[[], Document]


@dataclass(frozen=True, kw_only=True)
class SourceChanges:
    """What a source holds now, against what the index knows of it."""

    changed: Mapping[str, Load]
    """Id or path → loads that document, or raises the LoadError that names it."""
    kept: frozenset[str] = frozenset()
    """Ids whose indexed version stands."""
    failed: tuple[LoadError, ...] = ()
    """Folders and documents that we can't see."""
    skipped: tuple[str, ...] = ()
    """Files that no loader reads, a line each."""
    cursor: str = ""
    """Stored with the generation and given back at the next run."""
    complete: bool = True
    """False when a part could not be listed: then nothing may be taken for deleted."""


class DocumentSource(Protocol):
    """Somewhere that documents come from."""

    @property
    def name(self) -> str: ...

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> SourceChanges:
        """`indexed`: what the last generation holds; those not in `settled` are to be loaded again
        even if they did not change. `cursor` is what the last run returned, or empty."""
        ...


class Published(Protocol):
    @property
    def number(self) -> int: ...

    @property
    def chunks(self) -> int: ...

    @property
    def embedded(self) -> int: ...


class NextGeneration(Protocol):
    """The next generation in the making; what is neither put nor removed is carried over."""

    @property
    def domain(self) -> str: ...

    @property
    def number(self) -> int:
        """Of the generation that is answered from now; 0 where there is none."""
        ...

    @property
    def held_back(self) -> bool:
        """Whether the last thing committed was not to be published."""
        ...

    @property
    def documents(self) -> Mapping[str, DocumentCard]: ...

    @property
    def cursors(self) -> Mapping[str, str]: ...

    def put(self, card: DocumentCard, chunks: Sequence[Chunk]) -> None: ...

    def remove(self, document_id: str) -> None: ...

    def commit(self, cursors: Mapping[str, str], *, is_step: bool = False) -> Published:
        """Publish what there is; may be called again when there is more."""
        ...


class IngestProgress:
    """Told how far the run is; this one looks away."""

    def loading(self, total: int) -> None: ...

    def done(self, document: str) -> None: ...

    def publishing(self) -> None: ...
