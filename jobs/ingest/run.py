"""State of one ingestion run: loads documents, collects prepared ones, publishes in steps."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import structlog

from config.errors import CopilotError, LoadError
from config.models import Usage
from enrichment.chunk import DocumentCard
from enrichment.llm.pictures import PictureReport
from enrichment.llm.tables import TableReport
from enrichment.pipeline import Enriched
from index.generations.staging import Staging
from index.store.documents import GenerationInfo
from jobs.ingest.executors import PreparationExecutor, Prepared, Way, attempt, map_in_order
from jobs.ingest.handoff_store import CrashSuspects, PreparationStore
from jobs.ingest.ids import IdOwners, own_documents, source_of
from jobs.ingest.lost_sources import LostSources
from jobs.ingest.progress import IngestProgress, IngestReport, PublishSchedule
from loaders.document import Document
from loaders.source import DocumentSource, Load, SourceChanges
from telemetry import metrics

log = structlog.get_logger()

LOADERS = 4
"""Documents that one process loads at a time. Google's limit covers all of them together, and
reading takes a twentieth of the time of embedding."""
WAIT_SECONDS = 1.0


@dataclass(kw_only=True)
class RunInProgress:
    """The state of a run, and its counts."""

    staging: Staging
    executor: PreparationExecutor
    pipeline: str
    model: str
    store: PreparationStore | None
    suspects: CrashSuspects | None
    lost: LostSources | None
    reads: Callable[[Document], object]
    full: bool
    """Prepare every document again, even if unchanged."""
    seconds: float
    """Computing time for loading one document."""
    steps: PublishSchedule
    watch: IngestProgress
    added: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    failed: list[LoadError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    present: set[str] = field(default_factory=set)
    confirmed: int = 0
    """Documents that were loaded."""
    unlisted: set[str] = field(default_factory=set)
    """Documents that stay because their source could not be listed completely."""
    cursors: dict[str, str] = field(default_factory=dict)
    """By source name."""
    embedded: int = 0
    tables: TableReport = field(default_factory=TableReport)
    pictures: PictureReport = field(default_factory=PictureReport)
    unenriched: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    """Unenriched documents with pictures that only a new load can fetch."""
    awaited: deque[str] = field(default_factory=deque)
    """Documents that wait for capacity of the model."""
    plain: dict[str, Enriched] = field(default_factory=dict)
    """Prepared without the model, published if the model takes longer than a step."""
    unpublished: set[str] = field(default_factory=set)
    completed: set[tuple[str, Way]] = field(default_factory=set)
    """Prepared since the last publication."""

    def __post_init__(self) -> None:
        self.before = dict(self.staging.documents)
        """Documents published before the run."""
        self.ids = IdOwners(self.before)
        self.earlier: dict[str, str] = {}
        """Id of a document → the other id under which it was published."""
        self.mark = hashlib.sha256(self.pipeline.encode()).hexdigest()[:12]
        self.settled = frozenset() if self.full else self._settled()
        self.read_before = frozenset() if self.full else self._read_before()
        if self.full and self.store:
            self.store.forget_all_but(())

    def _settled(self) -> frozenset[str]:
        """Ids of documents that need no work unless they changed."""
        # Cards of older releases do not record the pipeline.
        made = {self.mark}
        if self.staging.cursors.get("pipeline") == self.pipeline:
            made.add("")
        enriched = self.model or "extractive"
        return frozenset(
            card.id
            for card in self.before.values()
            if card.made_by in made and card.enriched_by == enriched
        )

    def _read_before(self) -> frozenset[str]:
        """Ids of documents that need work and whose stored copy is current."""
        versions = self.store.versions() if self.store else {}
        return frozenset(
            one
            for one in versions.keys() & self.before.keys() - self.settled
            if versions[one] == (self.before[one].content_hash, self.before[one].version)
        )

    def read(self, sources: Sequence[DocumentSource]) -> None:
        """List all sources, so that every id has its owner, then load what changed."""
        names = [source.name for source in sources]
        listed = []
        for source in sources:
            indexed = own_documents(self.before, source.name, names)
            changes = self._changes(source, indexed)
            listed.append((source.name, changes, indexed.keys()))
            self.ids.add(source.name, changes)
        for name in self.ids.usurped():
            log.warning("a document had the id of another, and leaves", document=name)
            self.staging.remove(name)
        for name, changes, own in listed:
            failed, confirmed = len(self.failed), self.confirmed
            self._read(name, changes)
            if not changes.complete:
                self.unlisted |= own
            if self.lost:
                failures = self.failed[failed:]
                self.lost.refused(name, failures)
                if changes.unchanged or changes.moved_away or self.confirmed > confirmed:
                    absent = own - self.present - set(changes.published.values())
                    stay, leave = self.lost.lose_places(name, changes, absent)
                    self.unlisted = (self.unlisted | stay) - leave
                else:
                    self._lose(name, failures, own, self.lost)

    def _changes(
        self, source: DocumentSource, indexed: Mapping[str, DocumentCard]
    ) -> SourceChanges:
        cursor = "" if self.full else self.staging.cursors.get(source.name, "")
        try:
            return source.changes(
                cursor=cursor, indexed=indexed, settled=self.settled | self.read_before
            )
        except CopilotError as error:
            if not (self.lost and (indexed or self.lost.was_lost(source.name))):
                raise
            refused = LoadError(source.name, error.problem, remedy=error.remedy, refused=True)
            return SourceChanges(changed={}, failed=(refused,), cursor=cursor, complete=False)

    def _lose(
        self, source: str, failures: Sequence[LoadError], own: Set[str], lost: LostSources
    ) -> None:
        """None of the source's documents was confirmed. What is only damaged isn't lost."""
        if not all(one.refused for one in failures):
            return
        if not (failures or own or lost.was_lost(source)):
            return  # a source that is still empty
        if lost.lose(source, failures, own):
            self.unlisted |= own
            self.cursors[source] = self.staging.cursors.get(source, "")
        else:
            self.present -= own
            self.unlisted -= own

    def _read(self, source: str, changes: SourceChanges) -> None:
        self.failed += changes.failed
        self.warnings += changes.skipped
        self.present |= {self.ids.own(source, name) for name in changes.unchanged}
        self.cursors[source] = changes.cursor
        again = sorted(self.read_before & changes.unchanged)
        self.watch.loading(len(changes.changed) + len(again))
        for name in again:
            self._go_on_with(name)
        alone = self.suspects.alone(changes.changed) if self.suspects else []
        others = {one: load for one, load in changes.changed.items() if one not in alone}
        undecided = self._load_all(source, others)
        if alone:
            self._wait_until_at_work(0)
            suspects = {name: changes.changed[name] for name in alone}
            undecided += self._load_all(source, suspects, at_once=1)
        # Loaded again, because as many as there are files could wait in memory.
        self.ids.decide(source)
        self._load_all(source, {name: changes.changed[name] for name in undecided})

    def finish(self) -> None:
        self._wait_until_at_work(0)
        for document_id in self.staging.documents.keys() - self.present - self.unlisted:
            self._remove(document_id)
        self.removed -= self.present

    def publish(self) -> GenerationInfo:
        """Publish everything at the end of the run."""
        self.watch.publishing()
        published = self._commit({"pipeline": self.pipeline, **self._cursors_to_keep()})
        if self.store:
            # The next run retries failed model enrichments without reading the documents again.
            # Failed documents stay because their rows hold the count of deaths.
            failed = {error.document for error in self.failed}
            self.store.forget_all_but((self.unenriched - self.unread) | failed)
        return published

    def _load_all(
        self, source: str, loads: Mapping[str, Load], at_once: int = LOADERS
    ) -> list[str]:
        """Load and submit documents. Returns those whose id another one may have."""
        undecided: list[str] = []
        for name, document in map_in_order(self._load, loads.items(), at_once):
            self.confirmed += not isinstance(document, LoadError)
            if isinstance(document, LoadError):
                self._fail(self.ids.published(source, name), document)
            elif granted := self.ids.grant(source, name, document.id):
                document = self._identified(source, name, document, granted)
                if self._is_new(document):
                    self._hand_on(name, document)
            else:
                undecided.append(name)
            if self.suspects:
                self.suspects.end(name)
            self._collect()
        return undecided

    def _identified(self, source: str, name: str, document: Document, granted: str) -> Document:
        """The document with the id that it was granted."""
        earlier = self.ids.published(source, name)
        if earlier not in ("", granted):
            self.earlier[granted] = earlier
        if granted == document.id:
            return document
        log.warning("a document claims the id of another", document=name, id=document.id)
        owner = self.ids.owner(document.id)
        warning = f"its id {document.id!r} is already that of {owner}, so its id is {granted!r}"
        return replace(document, id=granted, warnings=(*document.warnings, warning))

    def _load(self, item: tuple[str, Load]) -> tuple[str, Document | LoadError]:
        name, load = item
        try:
            if self.suspects:
                self.suspects.begin(name)
        except LoadError as error:
            return name, error
        return name, attempt(name, load, self.seconds)

    def _is_new(self, document: Document) -> bool:
        """Whether the document has new content."""
        name = document.id
        previous = None if name in self.removed else self.before.get(name)
        self.warnings += [f"{name}: {warning}" for warning in document.warnings]
        if name in self.settled and previous is not None and _same(previous, document):
            self.present.add(name)
            self.watch.done(name)
            return False
        return True

    def _hand_on(self, name: str, document: Document) -> None:
        self.reads(document)
        while not self.executor.has_capacity("extractive"):
            self._collect(WAIT_SECONDS)
        try:
            if self.store and self.model:
                self.store.keep(document)
            self.executor.submit(document, "extractive")
        except ValueError as error:  # text that no database can store
            log.warning("a document's text can't be stored", document=name, cause=str(error))
            self._fail(document.id, LoadError(name, "its text is not valid Unicode"))

    def _go_on_with(self, name: str) -> None:
        """Submit a document that an earlier run loaded."""
        loaded = self.store.loaded(name) if self.store else None
        if loaded is not None:
            self._hand_on(name, loaded.document)

    def _wait_until_at_work(self, most: int) -> None:
        while self.executor.pending + len(self.awaited) > most:
            self._collect(WAIT_SECONDS)

    def _collect(self, wait_seconds: float = 0.0) -> None:
        """Process completed documents, and publish them when a step is due."""
        for one in self.executor.completed(wait_seconds):
            self._take(one)
        while self.awaited and self.executor.has_capacity("model"):
            loaded = self.store.loaded(self.awaited.popleft()) if self.store else None
            if loaded is not None:
                self.executor.submit(loaded.document, "model")
        metrics.INGEST_QUEUE.set(self.executor.pending + len(self.awaited))
        if self.steps.due(bool(self.unpublished or self.plain)):
            self.steps.took(self._step)

    def _take(self, prepared: Prepared) -> None:
        name, enriched = prepared.document, prepared.enriched
        self.completed.add((name, prepared.way))
        self.embedded += prepared.embedded
        if isinstance(enriched, LoadError):
            self.plain.pop(name, None)
            self._fail(name, enriched)
        elif isinstance(enriched, CopilotError):
            raise enriched
        elif prepared.way == "extractive" and self.model:
            self.awaited.append(name)
            previous = self.before.get(name)
            if previous is None or previous.content_hash != enriched.card.content_hash:
                self.plain[name] = enriched
        else:
            self.plain.pop(name, None)
            self._keep(enriched)

    def _keep(self, enriched: Enriched) -> None:
        """Stage the final version of a document in this run."""
        name = enriched.card.id
        if self._put(enriched):
            self.tables.add(enriched.tables)
            self.pictures.add(enriched.pictures)
            if enriched.pictures.unread:
                self.unread.add(name)
            if not enriched.complete:
                self.unenriched.add(name)
            self.warnings += [
                f"{name}: kept out, as it addresses an AI and not people: {text}"
                for text in enriched.card.withheld
            ]
            metrics.INGEST_DOCUMENTS.labels(self.staging.domain, "prepared").inc()
            self.watch.done(name)

    def _put(self, enriched: Enriched) -> bool:
        name = enriched.card.id
        try:
            self.staging.put(replace(enriched.card, made_by=self.mark), enriched.chunks)
        except LoadError as error:
            self._fail(name, error)
            return False
        self.present.add(name)
        self.unpublished.add(name)
        earlier = self.earlier.get(name)
        if earlier in self.before and earlier not in self.present:
            self._remove(earlier)
        (self.changed if name in self.before else self.added).add(name)
        return True

    def _fail(self, name: str, error: LoadError) -> None:
        """The last good version stays: a failed load must not remove an answer."""
        self.failed.append(error)
        self.present |= {name, self.earlier.get(name, name)} & self.staging.documents.keys()
        metrics.INGEST_DOCUMENTS.labels(self.staging.domain, "failed").inc()
        self.watch.done(name)

    def _remove(self, document_id: str) -> None:
        self.staging.remove(document_id)
        self.removed.add(document_id)

    def _step(self) -> None:
        """Publish completed documents. Cursors of the sources are stored at the end only."""
        for enriched in self.plain.values():
            self._put(enriched)
        self.plain.clear()
        self._commit(self.staging.cursors, is_step=True)
        if self.staging.held_back:
            self.steps.stop()  # later steps would be held back too

    def _commit(self, cursors: Mapping[str, str], *, is_step: bool = False) -> GenerationInfo:
        before = self.staging.number
        self.watch.publishing()
        published = self.staging.commit(cursors, is_step=is_step)
        if published.number != before:
            self.embedded += published.embedded
        if not self.staging.held_back:  # else nothing new was published
            if self.store:
                self.store.forget_prepared(self.completed)
            self.unpublished.clear()
            self.completed.clear()
        return published

    def _cursors_to_keep(self) -> Mapping[str, str]:
        """Returns the old cursors after a failure, so that the next run sees the changes again."""
        if not self.failed:
            return self.cursors
        return {name: self.staging.cursors.get(name, "") for name in self.cursors}

    def report(
        self, domain: str, published: GenerationInfo, *, usage: Usage, seconds: float
    ) -> IngestReport:
        return IngestReport(
            domain=domain,
            generation=published.number,
            added=tuple(sorted(self.added)),
            changed=tuple(sorted(self.changed)),
            unchanged=len(self.present - self.added - self.changed),
            removed=tuple(sorted(self.removed)),
            failed=tuple(self.failed),
            lost=tuple(self.lost.lines) if self.lost else (),
            warnings=tuple(self.warnings),
            sources=Counter(map(source_of, self.staging.documents.values())),
            chunks=published.chunks,
            embedded=self.embedded,
            tables=self.tables,
            pictures=self.pictures,
            unenriched=len(self.unenriched),
            usage=usage,
            seconds=seconds,
        )


def _same(card: DocumentCard, document: Document) -> bool:
    """Whether content and stored metadata are equal. An outdated link would break citations."""
    return (
        card.content_hash == document.content_hash
        and card.title == document.title
        and card.url == document.url
        and card.modified_at == document.modified_at
        and document.status in ("", card.status)
        and document.review_by in (None, card.review_by)
        and card.permissions == document.permissions
        and card.source == document.source
    )
