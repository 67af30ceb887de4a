"""The index as the composition root opens it: publish one side, read the other."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import Lock

from sqlalchemy import Engine, inspect

from config.disk.private_files import private_folder
from config.errors import IndexUnavailable, NothingPublished
from config.models import Embedder
from config.settings import Settings
from enrichment.chunk import DocumentCard
from index.folders.generation_folder import Folder
from index.folders.shelf import Shelf
from index.folders.staging import Staging
from index.search import Snapshot
from index.snapshot import Generation
from index.store.database import FILE_NAME, open_database
from index.store.generation_info import GenerationInfo
from index.store.lock import domain_lock
from index.store.schema import current, migrate
from index.store.sql_store import Store
from index.vectors.chroma import ChromaServer
from index.vectors.matrix import one_thread_each

KEPT = 3
"""Newest generations that stay: to roll back to, and for readers that are about to swap."""
LOOK_EVERY_SECONDS = 1.0
WAIT_SECONDS = 600.0

logger = logging.getLogger(__name__)


def open_index(settings: Settings, embedder: Embedder) -> Index:
    """Opens the database and brings its tables up to date. Raises ConfigError."""
    one_thread_each()
    private_folder(settings.data_dir)
    engine = open_database(settings)
    migrate(engine)
    server = ChromaServer(settings.chroma_url) if settings.chroma_url else None
    return Index(settings, embedder, engine, server)


def published_documents(settings: Settings, domain: str) -> frozenset[str] | None:
    """Ids of what a domain answers from; None when nothing is published. Creates nothing.

    Raises ConfigError for a database that can't be reached."""
    if not (settings.database_url or (settings.data_dir / FILE_NAME).exists()):
        return None
    engine = open_database(settings)
    try:
        store = Store(engine)
        number = store.current(domain) if inspect(engine).has_table(current.name) else None
        if number is None:
            return None
        return frozenset(one.document_id for one in store.revisions(domain, number))
    finally:
        engine.dispose()


class Index:
    """All domains' generations. Thread-safe."""

    def __init__(
        self, settings: Settings, embedder: Embedder, engine: Engine, server: ChromaServer | None
    ) -> None:
        self.engine = engine
        self._embedder = embedder
        self._server = server
        self._store = Store(engine)
        self._shelf = Shelf(
            settings.data_dir / "index", self._store, embedder, server, settings.keyword_engine
        )
        self._readers: dict[str, _Reader] = {}
        self._lock = Lock()

    def snapshot(self, domain: str) -> Snapshot:
        """The current generation; a publication by any process is seen within seconds.

        Raises IndexUnavailable when there is none, or it was made by another embedding model."""
        return self._reader(domain).current()

    @contextmanager
    def stage(
        self,
        domain: str,
        *,
        accepts: Callable[[Snapshot], bool] = lambda snapshot: True,
        wait_seconds: float = WAIT_SECONDS,
        on_wait: Callable[[str], None] = logger.warning,
    ) -> Iterator[Staging]:
        """Make the next generation. A second run on the same domain waits and says so.

        `accepts` sees it whole before anybody else does, and is asked only when something changed;
        False: it is removed again, and the current one stays, where there is one.

        Raises PublishError when the first one isn't finished after `wait_seconds`."""
        with self._alone(domain, wait_seconds, on_wait):
            base = self._base(domain)
            with Staging(
                domain,
                base,
                store=self._store,
                shelf=self._shelf,
                embedder=self._embedder,
                look=lambda info, cards: accepts(self._generation(info, cards)),
            ) as staging:
                yield staging
            self._look_again(domain)
            self._clean(domain)

    def generations(self, domain: str) -> list[GenerationInfo]:
        """Kept generations, newest first."""
        return self._store.generations(domain)

    def rollback(self, domain: str) -> GenerationInfo:
        """Make the newest kept generation before the current one current again."""
        with self._alone(domain, 0.0):
            current = self._store.current(domain)
            older = [
                one
                for one in self._store.generations(domain)
                if current is not None and one.number < current
            ]
            if not older:
                raise IndexUnavailable(
                    f"{domain!r} has no earlier generation",
                    remedy=f"see `oncall index list {domain}`",
                )
            self._store.point_to(domain, older[0].number)
        self._look_again(domain)
        found = self._store.generation(domain, older[0].number)
        return found or older[0]

    def close(self) -> None:
        with self._lock:
            self._readers.clear()
        if self._server:
            self._server.close()
        self.engine.dispose()

    def _reader(self, domain: str) -> _Reader:
        with self._lock:
            return self._readers.setdefault(domain, _Reader(domain, self._store, self._open))

    def _look_again(self, domain: str) -> None:
        self._reader(domain).expire()

    def _alone(
        self, domain: str, wait_seconds: float, on_wait: Callable[[str], None] = logger.info
    ) -> AbstractContextManager[None]:
        return domain_lock(
            self._shelf.of(domain), domain, self.engine, wait_seconds=wait_seconds, on_wait=on_wait
        )

    def _current(self, domain: str) -> GenerationInfo | None:
        return next((one for one in self._store.generations(domain) if one.is_current), None)

    def _base(self, domain: str) -> tuple[GenerationInfo, Folder | None] | None:
        info = self._current(domain)
        if info is None:
            return None
        if info.embedder != self._embedder.name:
            return info, None
        return info, self._shelf.opened(info)

    def _open(self, domain: str, number: int) -> Generation:
        info = self._store.generation(domain, number)
        if info is None:
            raise IndexUnavailable(f"generation {number} of {domain!r} is gone", remedy="ask again")
        if info.embedder != self._embedder.name:
            raise IndexUnavailable(
                f"the index of {domain!r} was made with embedding model {info.embedder!r}, "
                f"but {self._embedder.name!r} is configured",
                remedy=f"set ONCALL_EMBEDDING_MODEL={info.embedder}, "
                f"or run `oncall ingest {domain}` to embed it again",
            )
        return self._generation(info, self._store.cards(domain, number))

    def _generation(self, info: GenerationInfo, cards: Mapping[str, DocumentCard]) -> Generation:
        folder = self._shelf.opened(info)
        neighbours, close = self._shelf.neighbours(info)
        opened = Generation(info, folder, cards, self._store, self._embedder, neighbours)
        # Questions still being answered hold the old generation; the last one closes it.
        weakref.finalize(opened, close)
        return opened

    def _clean(self, domain: str) -> None:
        known = self._store.generations(domain)
        kept = [one for place, one in enumerate(known) if place < KEPT or one.is_current]
        gone = [one.number for one in known if one not in kept]
        self._store.forget(domain, gone)
        self._shelf.remove_except(domain, [one.number for one in kept])
        self._shelf.remove_vectors_except(domain, kept)


class _Reader:
    """One domain's open generation, swapped whole."""

    def __init__(self, domain: str, store: Store, opened: Callable[[str, int], Generation]) -> None:
        self._domain = domain
        self._store = store
        self._opened = opened
        self._held: Generation | None = None
        self._looked = -LOOK_EVERY_SECONDS
        self._looking = Lock()

    def current(self) -> Generation:
        """While one thread looks for a newer generation, the others go on with the held one."""
        held = self._held
        if held and time.monotonic() - self._looked < LOOK_EVERY_SECONDS:
            return held
        if not self._looking.acquire(blocking=held is None) and held:
            return held
        try:
            return self._refreshed()
        finally:
            self._looking.release()

    def expire(self) -> None:
        """Look at the next question, however recent the last look was."""
        self._looked = -LOOK_EVERY_SECONDS

    def _refreshed(self) -> Generation:
        try:
            number = self._store.current(self._domain)
        except IndexUnavailable as error:
            if self._held is None:
                raise
            logger.warning("staying with generation %s: %s", self._held.generation, error)
            number = self._held.generation
        if number is None:
            self._held = None
            raise NothingPublished(self._domain)
        if self._held is None or self._held.generation != number:
            try:
                self._held = self._opened(self._domain, number)
            except IndexUnavailable as error:
                if self._held is None:
                    raise
                logger.warning("staying with generation %s: %s", self._held.generation, error)
        self._looked = time.monotonic()
        return self._held
