"""Ports of the ingestion job for the index and for progress, and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from config.errors import LoadError
from config.models import Usage
from enrichment.chunk import Chunk, DocumentCard
from enrichment.llm.pictures import PictureReport
from enrichment.llm.tables import TableReport
from jobs.canary.outcome import CanaryOutcome


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """The results of one run for one domain."""

    domain: str
    generation: int
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    failed: tuple[LoadError, ...] = ()
    warnings: tuple[str, ...] = ()
    """`document: reason`. Content skipped while loading, or withheld because it addresses an AI."""
    chunks: int = 0
    embedded: int = 0
    """Texts that went through the embedding model in this run."""
    tables: TableReport = field(default_factory=TableReport)
    """Tables of the documents prepared in this run, and their model results."""
    pictures: PictureReport = field(default_factory=PictureReport)
    """Pictures of these documents, and their vision model results."""
    unenriched: int = 0
    """Documents whose model enrichment failed; the next run retries them."""
    canaries: tuple[CanaryOutcome, ...] = ()
    """Results of the golden questions, if a change affects them."""
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def alarms(self) -> bool:
        """Whether the run loses more golden questions than the domain allows."""
        return any(one.alarms for one in self.canaries)


class Published(Protocol):
    @property
    def number(self) -> int: ...

    @property
    def chunks(self) -> int: ...

    @property
    def embedded(self) -> int: ...


class NextGeneration(Protocol):
    """The next generation while it is built. Documents neither put nor removed are carried over."""

    @property
    def domain(self) -> str: ...

    @property
    def number(self) -> int:
        """Number of the current generation; 0 for none."""
        ...

    @property
    def held_back(self) -> bool:
        """Whether the last commit was not published."""
        ...

    @property
    def documents(self) -> Mapping[str, DocumentCard]: ...

    @property
    def cursors(self) -> Mapping[str, str]: ...

    def put(self, card: DocumentCard, chunks: Sequence[Chunk]) -> None: ...

    def remove(self, document_id: str) -> None: ...

    def commit(self, cursors: Mapping[str, str], *, is_step: bool = False) -> Published:
        """Publish the current state. May be called repeatedly."""
        ...


class IngestProgress:
    """Receives the progress of a run; this implementation ignores it."""

    def loading(self, total: int) -> None: ...

    def done(self, document: str) -> None: ...

    def publishing(self) -> None: ...
