"""What the ingestion job needs of the index, its progress port, and its report."""

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
    """Results of the golden questions, if something changed that affects them."""
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def alarms(self) -> bool:
        """Whether more golden questions were lost than the domain allows."""
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
        """Of the generation that is answered from now; 0 where there is none."""
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
        """Publish the present state; may be called again."""
        ...


class IngestProgress:
    """Reports the progress of a run; this one ignores it."""

    def loading(self, total: int) -> None: ...

    def done(self, document: str) -> None: ...

    def publishing(self) -> None: ...
