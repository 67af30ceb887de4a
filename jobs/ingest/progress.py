"""The progress of a run of the ingestion job, when it publishes in steps, and its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from config.errors import LoadError
from config.models import Usage
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
    lost: tuple[str, ...] = ()
    """A line for each source of which nothing could be read: the run failed."""
    warnings: tuple[str, ...] = ()
    """`document: reason`. Content skipped while loading, or withheld because it addresses an AI."""
    sources: Mapping[str, int] = field(default_factory=dict)
    """Key below `sources` → how many documents are published of it."""
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
    unchecked: str = ""
    """Why golden questions were not compared, e.g. a file that is gone; or empty."""
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def alarms(self) -> bool:
        """Whether the run loses more golden questions than the domain allows."""
        return any(one.alarms for one in self.canaries)


FIRST_SECONDS = 60.0
SHARE = 0.1
"""Maximum share of a run's time for its steps: a larger index takes longer to publish."""


class PublishSchedule:
    """The first step is due after a minute, later ones when they cost little of the run's time."""

    def __init__(
        self, seconds: float = FIRST_SECONDS, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`seconds`: minimum time between two steps."""
        self._seconds = seconds
        self._clock = clock
        self._next = clock() + seconds

    def due(self, something: bool) -> bool:
        return something and self._clock() >= self._next

    def took(self, publish: Callable[[], None]) -> None:
        """Publish, and schedule the next step by the time it took."""
        began = self._clock()
        publish()
        now = self._clock()
        self._next = max(self._next, now + max(self._seconds, (now - began) / SHARE))

    def stop(self) -> None:
        """Stop publishing in steps; the rest is published at the end."""
        self._next = float("inf")


class IngestProgress:
    """Receives the progress of a run; this implementation ignores it."""

    def loading(self, total: int) -> None: ...

    def done(self, document: str) -> None: ...

    def publishing(self) -> None: ...
