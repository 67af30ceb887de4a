"""The index: publishes generations and opens the current one for reading."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock

from sqlalchemy import Engine, inspect

from config.errors import AnotherRun, GenerationReplaced, IndexUnavailable, NothingPublished
from config.models import Embedder
from config.parsing.secret_files import private_folder
from config.settings import Settings
from durable.connections import end
from enrichment.chunk import Chunk, DocumentCard
from enrichment.extractive.lifecycle import with_successors
from enrichment.references import paths_of
from index.generations.build import VectorSource, embedded_texts
from index.generations.engines import ChromaEngine, local_searches
from index.generations.folder import Folder
from index.generations.folders import GenerationFolders
from index.generations.staging import Staging
from index.open_generations import OpenGenerations
from index.page_links import LinkedChunks, PageLinks, page_base
from index.preview import preview_edit
from index.search import Snapshot
from index.snapshot import Generation
from index.store.database import (
    FILE_NAME,
    CurrentRow,
    create_index_tables,
    open_database,
)
from index.store.documents import GenerationInfo, Store
from index.store.domain_lock import domain_lock, is_locked
from index.store.vectors import UnpublishedVectors
from index.vectors.chroma import ChromaServer
from index.vectors.quantized import one_thread_each
from index.vectors.search import QuestionVectors

RETAINED = 3
"""Number of newest generations that stay in the database for rollback, for some time."""
WAIT_SECONDS = 600.0

logger = logging.getLogger(__name__)


def open_index(settings: Settings, embedder: Embedder) -> Index:
    """Opens the database and brings its tables up to date. Raises ConfigError."""
    one_thread_each()
    private_folder(settings.data_dir)
    engine = open_database(settings)
    create_index_tables(engine)
    server = ChromaServer(settings.chroma_url) if settings.chroma_url else None
    return Index(settings, embedder, engine, server)


def published_documents(settings: Settings, domain: str) -> dict[str, str] | None:
    """Id → path of the published documents; None when nothing is published. Creates nothing.

    Raises ConfigError for a database that can't be reached."""
    if not (settings.database_url or (settings.data_dir / FILE_NAME).exists()):
        return None
    engine = open_database(settings)
    try:
        store = Store(engine)
        has_tables = inspect(engine).has_table(CurrentRow.__tablename__)
        number = store.current(domain) if has_tables else None
        if number is None:
            return None
        return paths_of(store.cards(domain, number).values())
    finally:
        engine.dispose()


class Index:
    """All domains' generations. Thread-safe."""

    def __init__(
        self, settings: Settings, embedder: Embedder, engine: Engine, server: ChromaServer | None
    ) -> None:
        self.engine = engine
        self._embedder = embedder
        self._page_base = page_base(settings)
        self._questions = QuestionVectors(embedder)
        self._server = server
        self._store = Store(engine)
        self._chroma = ChromaEngine(server) if settings.vector_engine == "chroma" else None
        self._folders = GenerationFolders(settings, self._store, embedder, server)
        self._open_ones = OpenGenerations(
            self._store,
            self._open,
            most_bytes=settings.index_memory_mb * 1e6,
            most_domains=settings.open_domains,
            on_swap=self._remove_older,
            upkeep=self.retire,
        )
        self._rollback_time = timedelta(hours=settings.deleted_text_hours)
        self._opened_folders: dict[str, tuple[int, Folder | None]] = {}
        self._holding = Lock()

    def snapshot(self, domain: str) -> Snapshot:
        """The current generation. One published by any process is opened in the background within
        seconds.

        Raises IndexUnavailable when there is none or another embedding model made it."""
        return self._open_ones.current(domain)

    def figures(self, domain: str) -> GenerationInfo:
        """Of the current generation, from the database: opens, fetches and builds nothing.

        Raises IndexUnavailable as `snapshot` does, unless only opening it shows why."""
        number = self._store.current(domain)
        if number is None:
            raise NothingPublished(domain)
        return self._usable(domain, number)

    def cards(self, info: GenerationInfo) -> list[DocumentCard]:
        """Of its documents, with their successors. Opens nothing, either."""
        cards = self._links(info.domain).cards(self._store.cards(info.domain, info.number))
        return with_successors(cards.values())

    def is_here(self, info: GenerationInfo) -> bool:
        """Whether this machine has its folder, intact. A missing one is fetched or built when the
        first question comes."""
        return self._folders.if_there(info) is not None

    @contextmanager
    def stage(
        self,
        domain: str,
        *,
        accepts: Callable[[Snapshot], bool] = lambda snapshot: True,
        wait_seconds: float = WAIT_SECONDS,
        on_wait: Callable[[str], None] = logger.warning,
    ) -> Iterator[Staging]:
        """Makes the next generation. A second run on the same domain waits and calls `on_wait`.

        `accepts` gets a changed generation before it is published. False discards it; the current
        one stays. A domain's first generation is published in any case.

        Raises PublishError when the other run hasn't finished after `wait_seconds`."""
        with self._alone(domain, wait_seconds, on_wait):
            base = self._base(domain)
            unpublished = partial(UnpublishedVectors, self.engine, domain)
            # Other machines may publish vectors that this one made.
            is_shared = self.engine.dialect.name == "postgresql"
            with Staging(
                domain,
                base,
                store=self._store,
                folders=self._folders,
                embedder=self._embedder,
                look=lambda info, cards: accepts(self._generation(info, cards)),
                open_vectors=unpublished if is_shared else None,
                on_published=partial(self._published, domain),
            ) as staging:
                yield staging
            self._open_ones.swap(domain)
            self._share_current(domain)
            self._clean(domain, keep_texts=staging.in_steps)

    @contextmanager
    def preview(
        self, domain: str, card: DocumentCard, chunks: Sequence[Chunk]
    ) -> Iterator[tuple[Snapshot, Snapshot]]:
        """The current generation, and as `preview_edit` makes it. Raises IndexUnavailable."""
        current, links = self._open(domain, self.figures(domain).number), self._links(domain)
        with preview_edit(current, self._store, links, self._questions, card, chunks) as edited:
            yield current, edited

    def embed_ahead(self, domain: str, chunks: Sequence[Chunk]) -> int:
        """Computes and stores the vectors of these chunks for the machine that publishes them.

        Returns the number of texts embedded. Raises ModelUnavailable."""
        unpublished = UnpublishedVectors(self.engine, domain)
        lookups = self._folders.lookups(domain, self._held_here(domain))
        source = VectorSource(
            self._embedder, [unpublished.lookup, *lookups], on_embedded=unpublished.append
        )
        source(embedded_texts(chunks))
        return source.embedded

    def generations(self, domain: str) -> list[GenerationInfo]:
        """Stored generations, newest first."""
        return self._store.generations(domain)

    def rollback(self, domain: str) -> GenerationInfo:
        """Makes the newest stored generation before the current one current again."""
        with self._alone(domain, 0.0):
            current = self._store.current(domain) or 0
            older = [one for one in self._store.generations(domain) if one.number < current]
            if not older:
                raise IndexUnavailable(
                    f"{domain!r} has no earlier generation",
                    remedy=f"see `oncall index list {domain}`",
                )
            self._store.point_to(domain, older[0].number)
        self._open_ones.swap(domain)
        generation = self._store.generation(domain, older[0].number)
        return generation or older[0]

    def retire(self, *, at: datetime | None = None) -> None:
        """Deletes generations that were replaced too long ago for a rollback, with the text of
        documents that were deleted or changed since; on this machine also their folders.

        `at`: the present, UTC. Each machine calls it now and then."""
        for domain in self._store.currents():
            generations = self._store.generations(domain)
            retained = self._retained(generations, at)
            folders = {one.number for one in _needed(retained)}
            if retained == generations and not self._folders.has_others(domain, folders):
                continue
            try:
                with self._alone(domain, 0.0):
                    unchanged = retained == generations
                    self._clean(domain, keep_texts=unchanged, at=at, is_reader=True)
            except AnotherRun:
                continue  # it cleans up at its end

    def close(self) -> None:
        self._open_ones.close()
        if self._chroma:
            self._chroma.close()
        if self._server:
            self._server.close()
        end(self.engine)

    def _alone(
        self, domain: str, wait_seconds: float, on_wait: Callable[[str], None] = logger.info
    ) -> AbstractContextManager[None]:
        folder = self._folders.of(domain)
        return domain_lock(folder, domain, self.engine, wait_seconds=wait_seconds, on_wait=on_wait)

    def is_locked(self, domain: str) -> bool:
        """Whether a run on any machine is at work on it."""
        return is_locked(self._folders.of(domain), domain, self.engine)

    def current(self, domain: str) -> GenerationInfo | None:
        return next((one for one in self._store.generations(domain) if one.is_current), None)

    def _base(self, domain: str) -> tuple[GenerationInfo, Folder | None] | None:
        info = self.current(domain)
        if info is None:
            return None
        if info.embedder != self._embedder.name:
            return info, None
        return info, self._folders.open(info)

    def _open(self, domain: str, number: int) -> Generation:
        return self._generation(self._usable(domain, number), self._store.cards(domain, number))

    def _usable(self, domain: str, number: int) -> GenerationInfo:
        info = self._store.generation(domain, number)
        if info is None:
            raise GenerationReplaced(domain, number)
        if info.embedder != self._embedder.name:
            raise IndexUnavailable(
                f"the index of {domain!r} was made with embedding model {info.embedder!r}, "
                f"but {self._embedder.name!r} is configured",
                remedy=f"set ONCALL_EMBEDDING_MODEL={info.embedder}, "
                f"or run `oncall ingest {domain}` to embed it again",
            )
        return info

    def _generation(self, info: GenerationInfo, cards: Mapping[str, DocumentCard]) -> Generation:
        folder = self._folders.open(info)
        chroma = self._chroma
        searches = chroma.open(info.domain, folder) if chroma else local_searches(folder)
        links = self._links(info.domain)
        chunks = LinkedChunks(self._store, links)
        return Generation(info, folder, searches, links.cards(cards), chunks, self._questions)

    def _links(self, domain: str) -> PageLinks:
        return PageLinks(domain, self._page_base)

    def _held_here(self, domain: str) -> Folder | None:
        """The current generation's folder; None if this machine doesn't have it."""
        info = self.current(domain)
        if info is None or info.embedder != self._embedder.name:
            return None
        with self._holding:
            cached = self._opened_folders.get(domain)
            if cached is None or cached[0] != info.number:
                cached = self._opened_folders[domain] = info.number, self._folders.if_there(info)
            return cached[1]

    def _published(self, domain: str, step: int) -> None:
        """`step`: an intermediate generation of the same run, which is deleted; 0 for none."""
        self._open_ones.swap(domain)
        self._clean(domain, step, keep_texts=step > 0)

    def _share_current(self, domain: str) -> None:
        """Uploads the current generation if the index store lacks it or has a damaged copy."""
        info = self.current(domain)
        if info and (address := self._folders.share_again(info)):
            self._store.set_manifest(domain, info.number, address)

    def _clean(
        self,
        domain: str,
        step: int = 0,
        *,
        keep_texts: bool,
        at: datetime | None = None,
        is_reader: bool = False,
    ) -> None:
        """`keep_texts`: keep the texts of deleted generations until the next run, because other
        machines may still read or build the previous step. `is_reader`: not of a run."""
        generations = [one for one in self._store.generations(domain) if one.number != step]
        retained = self._retained(generations, at)
        expired = [one.number for one in generations if one not in retained]
        self._store.forget(domain, [*expired, step] if step else expired, keep_texts=keep_texts)
        needed = _needed(retained)
        self._folders.remove_except(domain, [one.number for one in needed])
        self._folders.remove_vectors_except(domain, needed)
        self._folders.remove_shared_except(
            domain, self._store.generations(domain), is_reader=is_reader
        )

    def _retained(
        self, generations: Sequence[GenerationInfo], at: datetime | None
    ) -> list[GenerationInfo]:
        """Those that stay, newest first: the current one, and the newest others for as long as text
        of deleted documents may stay. `at`: the present, UTC."""
        oldest = (at or datetime.now(UTC)) - self._rollback_time
        newer = [*generations[:1], *generations]  # that replaced it; the newest itself
        return [
            one
            for place, (one, after) in enumerate(zip(generations, newer, strict=False))
            if one.is_current or (place < RETAINED and after.created_at > oldest)
        ]

    def _remove_older(self, domain: str) -> None:
        """Deletes older folders; on a machine that only reads, nothing else does."""
        generations = self._store.generations(domain)
        current = next((one.number for one in generations if one.is_current), 0)
        self._folders.remove_before(domain, current, [one.number for one in _needed(generations)])


def _needed(generations: Sequence[GenerationInfo]) -> list[GenerationInfo]:
    """Generations whose folders stay: the current one, the one before it (for rollback) and newer
    ones that were rolled back. `generations`: newest first."""
    current = next((one.number for one in generations if one.is_current), 0)
    newer = [one for one in generations if one.number >= current]
    return [*newer, *[one for one in generations if one.number < current][:1]]
