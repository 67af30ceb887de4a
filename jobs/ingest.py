"""One run of the ingestion job: load what changed, split, enrich, publish one generation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from config.errors import CopilotError, LoadError
from config.models import Usage
from enrichment.chunk import DocumentCard
from enrichment.with_model.verified_tables import TableReport
from jobs.ingest_outcome import IngestReport
from jobs.ingest_ports import (
    DocumentSource,
    Enrich,
    Load,
    NextGeneration,
    PreparedDocument,
    Published,
    Watch,
)
from jobs.side_by_side import in_turn
from loaders.document import Document
from loaders.time_limit import SECONDS, time_limit

log = structlog.get_logger()

Result = TypeVar("Result")

LOADERS = 4
"""Documents loaded at the same time: Google's per-minute limit is the wall, not our threads."""


def ingest(
    domain: str,
    *,
    sources: Sequence[DocumentSource],
    stage: Callable[[str], AbstractContextManager[NextGeneration]],
    enrich: Enrich,
    enriched_by: str = "extractive",
    at_once: int = 1,
    pipeline: str,
    spent: Callable[[], Usage] = Usage,
    full: bool = False,
    document_seconds: float = SECONDS,
    watch: Watch | None = None,
) -> IngestReport:
    """Publish what changed since the last run as one generation.

    `pipeline` names the way documents are split, enriched and embedded: when it differs from the
    last run's, every document is done again. `enriched_by` is what a complete enrichment is signed
    with: a document signed otherwise is enriched again. `spent` is asked at the end.
    `at_once`: documents that are enriched side by side; of use while they wait for a model.
    `document_seconds` of computing may go into loading one document, and as many into the rest.
    A document that takes longer, or that breaks its loader, is reported like any that can't be
    read: its last good version stays, and all others go on.

    Raises PublishError, IndexUnavailable, or a source's ConfigError; the last generation serves on.
    """
    watch = watch or Watch()
    started = time.monotonic()
    with stage(domain) as staging:
        again = full or staging.cursors.get("pipeline") != pipeline
        settled = frozenset() if again else _settled(staging.documents, enriched_by)
        run = _Run(
            staging=staging,
            enrich=enrich,
            at_once=at_once,
            again=again,
            settled=settled,
            seconds=document_seconds,
        )
        for source in sources:
            run.read(source, watch)
        run.remove_what_is_gone()
        watch.publishing()
        published = staging.commit({"pipeline": pipeline, **run.cursors_to_keep()})
    return run.report(domain, published, usage=spent(), seconds=time.monotonic() - started)


@dataclass(kw_only=True)
class _Run:
    """A run in progress: what it works on, and its tally."""

    staging: NextGeneration
    enrich: Enrich
    at_once: int
    again: bool
    """Every document is done again, whatever changed."""
    seconds: float
    """Of computing, for each of the two halves of a document's way."""
    settled: frozenset[str]
    """Ids of documents that need no work unless they changed."""
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failed: list[LoadError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    present: set[str] = field(default_factory=set)
    paths: dict[str, str] = field(default_factory=dict)
    """Id → what it was loaded from: two sources of one id would overwrite each other."""
    cursors: dict[str, str] = field(default_factory=dict)
    """Source → where it got to."""
    complete: bool = True
    """Every source could be listed to its end."""
    tables: TableReport = field(default_factory=TableReport)
    unenriched: int = 0

    def read(self, source: DocumentSource, watch: Watch) -> None:
        """Stage what changed in a source."""
        found = source.look(
            cursor="" if self.again else self.staging.cursors.get(source.name, ""),
            indexed=self.staging.documents,
            settled=self.settled,
        )
        self.failed += found.failed
        self.warnings += found.skipped
        self.present |= found.kept
        self.complete &= found.complete
        self.cursors[source.name] = found.cursor
        watch.loading(len(found.changed))
        loaded = in_turn(self._load, found.changed.items(), LOADERS)
        for name, document, enriched in in_turn(
            self._enriched, self._wanted(loaded, watch), self.at_once
        ):
            self._keep(name, document, enriched)
            watch.done(name)

    def _load(self, item: tuple[str, Load]) -> tuple[str, Document | LoadError]:
        return item[0], _attempt(*item, self.seconds)

    def _wanted(
        self, loaded: Iterable[tuple[str, Document | LoadError]], watch: Watch
    ) -> Iterator[tuple[str, Document]]:
        """Those that hold something new."""
        for name, document in loaded:
            if isinstance(document, LoadError):
                self.failed.append(document)
                # Its last good version stays: a stumble of Google's must not take an answer away.
                self.present |= {name} & self.staging.documents.keys()
            elif self._is_new(name, document):
                yield name, document
                continue
            watch.done(name)

    def _is_new(self, name: str, document: Document) -> bool:
        if (other := self.paths.setdefault(document.id, name)) != name:
            reason = f"its id {document.id!r} is already that of {other}"
            self.failed.append(LoadError(name, reason, remedy="give one of them another `id`"))
            return False
        previous = self.staging.documents.get(document.id)
        self.warnings += [f"{document.id}: {warning}" for warning in document.warnings]
        if document.id in self.settled and previous is not None and _same(previous, document):
            self.present.add(document.id)
            return False
        return True

    def _enriched(
        self, item: tuple[str, Document]
    ) -> tuple[str, Document, PreparedDocument | LoadError]:
        name, document = item
        return name, document, _attempt(name, lambda: self.enrich(document), self.seconds)

    def _keep(self, name: str, document: Document, enriched: PreparedDocument | LoadError) -> None:
        previous = self.staging.documents.get(document.id)
        if isinstance(enriched, LoadError):
            self.failed.append(enriched)
            self.present |= {document.id} & self.staging.documents.keys()
            return
        self.present.add(document.id)
        self.unenriched += not enriched.complete
        self.tables.add(enriched.tables)
        self.warnings += [
            f"{document.id}: kept out, as it addresses an AI and not people: {text}"
            for text in enriched.card.withheld
        ]
        self.staging.put(enriched.card, enriched.chunks)
        (self.added if previous is None else self.changed).append(document.id)

    def remove_what_is_gone(self) -> None:
        if self.complete:
            self.removed = sorted(self.staging.documents.keys() - self.present)
        for document_id in self.removed:
            self.staging.remove(document_id)

    def cursors_to_keep(self) -> Mapping[str, str]:
        """After a failure the old ones, so that the next run sees the same changes again."""
        if not self.failed:
            return self.cursors
        return {name: self.staging.cursors.get(name, "") for name in self.cursors}

    def report(
        self, domain: str, published: Published, *, usage: Usage, seconds: float
    ) -> IngestReport:
        return IngestReport(
            domain=domain,
            generation=published.number,
            added=tuple(self.added),
            changed=tuple(self.changed),
            unchanged=len(self.present) - len(self.added) - len(self.changed),
            removed=tuple(self.removed),
            failed=tuple(self.failed),
            warnings=tuple(self.warnings),
            chunks=published.chunks,
            embedded=published.embedded,
            tables=self.tables,
            unenriched=self.unenriched,
            usage=usage,
            seconds=seconds,
        )


def _settled(documents: Mapping[str, DocumentCard], enriched_by: str) -> frozenset[str]:
    """Ids of those whose enrichment is as good as it can be now."""
    return frozenset(card.id for card in documents.values() if card.enriched_by == enriched_by)


def _attempt(name: str, act: Callable[[], Result], seconds: float) -> Result | LoadError:
    """Raises what concerns the whole run; what concerns this document alone is returned."""
    try:
        with time_limit(name, seconds):
            return act()
    except LoadError as error:
        return error
    except CopilotError:
        raise
    except Exception as error:
        log.exception("a document broke its loader", document=name)
        kind = type(error).__name__
        return LoadError(name, f"reading it failed ({kind})", remedy="the log holds the details")


def _same(card: DocumentCard, document: Document) -> bool:
    """Nothing that the index keeps of it differs; a moved link would break citations."""
    return (
        card.content_hash == document.content_hash
        and card.title == document.title
        and card.url == document.url
        and card.modified_at == document.modified_at
        and document.status in ("", card.status)
        and card.permissions == document.permissions
        and card.source == document.source
    )
