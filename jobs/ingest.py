"""One run of the ingestion job: load what changed, split, enrich, publish one generation."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from config.errors import LoadError
from config.models import Usage
from enrichment.chunk import Chunk, DocumentCard
from enrichment.with_model.verified_tables import TableReport
from loaders.document import Document

LOADERS = 4
"""Documents loaded at the same time: Google's per-minute limit is the wall, not our threads."""

Load = Callable[[], Document]


@dataclass(frozen=True, kw_only=True)
class Found:
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


class Source(Protocol):
    """Somewhere that documents come from."""

    @property
    def name(self) -> str: ...

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> Found:
        """`indexed`: what the last generation holds; those not in `settled` are to be loaded again
        even if they did not change. `cursor` is what the last run returned, or empty."""
        ...


class PreparedDocument(Protocol):
    @property
    def card(self) -> DocumentCard: ...

    @property
    def chunks(self) -> Sequence[Chunk]: ...

    @property
    def complete(self) -> bool: ...

    @property
    def tables(self) -> TableReport: ...


Enrich = Callable[[Document], PreparedDocument]
"""Splits a document and enriches its chunks."""


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
    def documents(self) -> Mapping[str, DocumentCard]: ...

    @property
    def cursors(self) -> Mapping[str, str]: ...

    def put(self, card: DocumentCard, chunks: Sequence[Chunk]) -> None: ...

    def remove(self, document_id: str) -> None: ...

    def commit(self, cursors: Mapping[str, str]) -> Published: ...


class Watch:
    """Told how far the run is; this one looks away."""

    def loading(self, total: int) -> None: ...

    def done(self, document: str) -> None: ...

    def publishing(self) -> None: ...


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
    """`document: what was skipped while loading it`."""
    chunks: int = 0
    embedded: int = 0
    """Texts that went through the embedding model in this run."""
    tables: TableReport = field(default_factory=TableReport)
    """Tables of the documents that were done in this run, and what the model made of them."""
    unenriched: int = 0
    """Documents whose model enrichment failed; tried again at the next run."""
    usage: Usage = Usage()
    seconds: float = 0.0


@dataclass
class _Run:
    """The tally of a run in progress."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    failed: list[LoadError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    present: set[str] = field(default_factory=set)
    paths: dict[str, str] = field(default_factory=dict)
    """Id → what it was loaded from: two sources of one id would overwrite each other."""
    tables: TableReport = field(default_factory=TableReport)
    unenriched: int = 0


def ingest(
    domain: str,
    *,
    sources: Sequence[Source],
    stage: Callable[[str], AbstractContextManager[NextGeneration]],
    enrich: Enrich,
    enriched_by: str = "extractive",
    pipeline: str,
    spent: Callable[[], Usage] = Usage,
    full: bool = False,
    watch: Watch | None = None,
) -> IngestReport:
    """Publish what changed since the last run as one generation.

    `pipeline` names the way documents are split, enriched and embedded: when it differs from the
    last run's, every document is done again. `enriched_by` is what a complete enrichment is signed
    with: a document signed otherwise is enriched again. `spent` is asked at the end.

    Raises PublishError, IndexUnavailable, or a source's ConfigError; the last generation serves on.
    """
    watch = watch or Watch()
    started = time.monotonic()
    run = _Run()
    with stage(domain) as staging:
        again = full or staging.cursors.get("pipeline") != pipeline
        settled = frozenset() if again else _settled(staging.documents, enriched_by)
        cursors = {"pipeline": pipeline}
        complete = True
        for source in sources:
            cursor = "" if again else staging.cursors.get(source.name, "")
            found = source.look(cursor=cursor, indexed=staging.documents, settled=settled)
            run.failed += found.failed
            run.warnings += found.skipped
            run.present |= found.kept
            complete &= found.complete
            cursors[source.name] = found.cursor
            watch.loading(len(found.changed))
            for name, document in _load(found.changed):
                _take(name, document, run=run, staging=staging, settled=settled, enrich=enrich)
                watch.done(name)
        gone = sorted(staging.documents.keys() - run.present) if complete else []
        for document_id in gone:
            staging.remove(document_id)
        watch.publishing()
        published = staging.commit(cursors if not run.failed else _retry(cursors, staging.cursors))
    return IngestReport(
        domain=domain,
        generation=published.number,
        added=tuple(run.added),
        changed=tuple(run.changed),
        unchanged=len(run.present) - len(run.added) - len(run.changed),
        removed=tuple(gone),
        failed=tuple(run.failed),
        warnings=tuple(run.warnings),
        chunks=published.chunks,
        embedded=published.embedded,
        tables=run.tables,
        unenriched=run.unenriched,
        usage=spent(),
        seconds=time.monotonic() - started,
    )


def _settled(documents: Mapping[str, DocumentCard], enriched_by: str) -> frozenset[str]:
    """Ids of those whose enrichment is as good as it can be now."""
    return frozenset(card.id for card in documents.values() if card.enriched_by == enriched_by)


def _load(changed: Mapping[str, Load]) -> Iterator[tuple[str, Document | LoadError]]:
    """Loaded in parallel, handed on in order."""

    def attempt(load: Load) -> Document | LoadError:
        try:
            return load()
        except LoadError as error:
            return error

    with ThreadPoolExecutor(LOADERS, thread_name_prefix="load") as pool:
        yield from zip(changed, pool.map(attempt, changed.values()), strict=True)


def _take(
    name: str,
    document: Document | LoadError,
    *,
    run: _Run,
    staging: NextGeneration,
    settled: Collection[str],
    enrich: Enrich,
) -> None:
    if isinstance(document, LoadError):
        run.failed.append(document)
        # Its last good version stays: a stumble of Google's must not take an answer away.
        run.present |= {name} & staging.documents.keys()
        return
    if (other := run.paths.setdefault(document.id, name)) != name:
        reason = f"its id {document.id!r} is already that of {other}"
        run.failed.append(LoadError(name, reason, remedy="give one of them another `id`"))
        return
    run.present.add(document.id)
    run.warnings += [f"{document.id}: {warning}" for warning in document.warnings]
    previous = staging.documents.get(document.id)
    if document.id in settled and previous is not None and _same(previous, document):
        return
    enriched = enrich(document)
    run.unenriched += not enriched.complete
    run.tables.add(enriched.tables)
    staging.put(enriched.card, enriched.chunks)
    (run.added if previous is None else run.changed).append(document.id)


def _same(card: DocumentCard, document: Document) -> bool:
    """Nothing that the index keeps of it differs; a moved link would break citations."""
    return (
        card.content_hash == document.content_hash
        and card.title == document.title
        and card.url == document.url
        and card.modified_at == document.modified_at
        and document.status in ("", card.status)
        and card.permissions == document.permissions
    )


def _retry(cursors: Mapping[str, str], last: Mapping[str, str]) -> Mapping[str, str]:
    """After a failure the old cursors stand, so that the next run sees the same changes again."""
    return {**cursors, **{name: last.get(name, "") for name in cursors if name != "pipeline"}}
