"""What came of a run of the ingestion job."""

from __future__ import annotations

from dataclasses import dataclass, field

from config.errors import LoadError
from config.models import Usage
from enrichment.llm.pictures import PictureReport
from enrichment.llm.tables import TableReport
from jobs.replay.canary_outcome import CanaryOutcome


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
