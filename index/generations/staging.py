"""Collects changes and publishes them as the next generation."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from pydantic_core import PydanticSerializationError

from config.errors import LoadError, PublishError
from config.models import Embedder
from durable.failures import NO_ROOM
from enrichment.chunk import Chunk, DocumentCard
from index.generations.build import Journal, VectorSource, embedded_texts
from index.generations.folder import Folder
from index.generations.folders import GenerationFolders
from index.store.documents import GenerationInfo, Revision, Store, digest_of
from index.store.vectors import UnpublishedVectors

Look = Callable[[GenerationInfo, Mapping[str, DocumentCard]], bool]
"""Gets a built, unpublished generation. Returns False to keep the current one."""
STEP = "step"
"""Key in the cursors of a generation that is an intermediate step of a run."""
TOGETHER = 1_024
"""Texts embedded in one call, across documents. Sorted by length, they need little padding, and no
core waits for the last batch of each document."""


MadeVectors = Journal | UnpublishedVectors
"""Stores vectors until they are published, so that a resumed run embeds nothing twice."""


class Staging:
    """Stages the next generation. Documents that are neither put nor removed are carried over.

    Nothing is visible before `commit`. A run may commit several times; each commit replaces the
    generation of the run's previous one."""

    def __init__(
        self,
        domain: str,
        base: tuple[GenerationInfo, Folder | None] | None,
        *,
        store: Store,
        folders: GenerationFolders,
        embedder: Embedder,
        look: Look = lambda info, cards: True,
        open_vectors: Callable[[], AbstractContextManager[MadeVectors]] | None = None,
        on_published: Callable[[int], None] = lambda step: None,
    ) -> None:
        """`open_vectors`: opens the store of unpublished vectors; by default a local file.
        `on_published` gets the number of the step that the new generation replaces, or 0."""
        self._look = look
        self._open_vectors = open_vectors or self._journal
        self._on_published = on_published
        self._started = time.monotonic()
        self._domain = domain
        self._store = store
        self._folders = folders
        self._embedder = embedder
        self._base = base[0] if base else None
        self._base_folder = base[1] if base else None
        self._cards: dict[str, DocumentCard] = {}
        self._revisions: dict[str, Revision] = {}
        self._cursors: dict[str, str] = {}
        if self._base:
            self._cards = store.cards(domain, self._base.number)
            revisions = store.revisions(domain, self._base.number)
            self._revisions = {one.document_id: one for one in revisions}
            self._cursors = store.cursors(domain, self._base.number)
        self._closing = ExitStack()
        self._made: MadeVectors | None = None
        self._step = self._base.number if self._base and STEP in self._cursors else 0
        self._cursors.pop(STEP, None)
        self.held_back = False
        """Whether `look` rejected the last generation built."""
        self.in_steps = False
        """Whether this run has already replaced one of its own steps."""
        self._waiting: list[str] = []
        self._vectors = VectorSource(embedder, [])

    def __enter__(self) -> Staging:
        with ExitStack() as opening:
            self._made = opening.enter_context(self._open_vectors())
            self._vectors = self._source(self._made)
            self._closing = opening.pop_all()
        return self

    def _journal(self) -> Journal:
        mark = hashlib.sha256(self._embedder.name.encode()).hexdigest()[:12]
        path = self._folders.of(self._domain) / f"embedded-{mark}.journal"
        return Journal(path, self._embedder.dimensions)

    def _source(self, vectors: MadeVectors) -> VectorSource:
        lookups = [
            vectors.lookup,
            *self._folders.lookups(self._domain, self._base_folder),
            self._folders.elsewhere(self._domain),
        ]
        return VectorSource(self._embedder, lookups, on_embedded=vectors.append)

    def __exit__(self, *_raised: object) -> None:
        self._closing.close()

    @property
    def domain(self) -> str:
        return self._domain

    @property
    def number(self) -> int:
        """Number of the current generation; 0 when there is none."""
        return self._base.number if self._base else 0

    @property
    def documents(self) -> Mapping[str, DocumentCard]:
        """Documents of the next generation so far, by id."""
        return MappingProxyType(dict(self._cards))

    @property
    def cursors(self) -> Mapping[str, str]:
        """Source → where its last published run ended."""
        return MappingProxyType(self._cursors)

    def put(self, card: DocumentCard, chunks: Sequence[Chunk]) -> None:
        """Adds or replaces a document. New texts are embedded in batches with those of other
        documents, at the latest in `commit`.

        Raises LoadError when the text can't be stored; the document then stays unchanged. Raises
        ModelUnavailable when texts can't be embedded, which ends the run."""
        if any(chunk.document_id != card.id for chunk in chunks):
            raise LoadError(card.id, "it holds chunks of another document")
        try:
            revision = self._store.save(self._domain, card, chunks)
        except (PydanticSerializationError, UnicodeError) as error:
            raise LoadError(card.id, "its text is not valid Unicode") from error
        if self._revisions.get(card.id) != revision:
            self._waiting += embedded_texts(chunks)
            while len(self._waiting) >= TOGETHER:
                self._embed(TOGETHER)
        self._revisions[card.id] = revision
        self._cards[card.id] = card

    def remove(self, document_id: str) -> None:
        """Removes a document; unknown ids are ignored."""
        self._revisions.pop(document_id, None)
        self._cards.pop(document_id, None)

    def commit(self, cursors: Mapping[str, str], *, is_step: bool = False) -> GenerationInfo:
        """Publishes the staged documents and returns the new generation's info.

        Returns the current generation's info when nothing changed or `look` rejected the new one;
        the next run then sees the same changes again. A commit replaces the previous commit of
        this run and the last step of an interrupted run, so no rollback leads to half a run.

        Raises ModelUnavailable, PublishError."""
        revisions = [self._revisions[one] for one in sorted(self._revisions)]
        digest = digest_of(revisions)
        base = self._base
        self.held_back = False
        if base and base.digest == digest and base.embedder == self._embedder.name:
            if not is_step and (self._step or dict(cursors) != self._cursors):
                self._store.set_cursors(self._domain, base.number, cursors)
            return self._unchanged(base)
        self._embed(len(self._waiting))
        number = self._store.next_number(self._domain)
        try:
            self._folders.build(
                self._domain,
                number,
                revisions,
                base=self._base_folder,
                cards=lambda one: self._cards[one.document_id],
                vectors=self._vectors,
            )
        except OSError as error:
            raise PublishError(
                f"could not write generation {number} of {self._domain!r}: "
                f"{error.strerror or error}",
                remedy="free some space in ONCALL_DATA_DIR"
                if error.errno in NO_ROOM
                else "look at the disk and at the owner of ONCALL_DATA_DIR",
            ) from error
        info = GenerationInfo(
            domain=self._domain,
            number=number,
            documents=len(revisions),
            chunks=sum(one.chunks for one in revisions),
            units=sum(one.units for one in revisions),
            embedded=self._vectors.embedded,
            seconds=round(time.monotonic() - self._started, 3),
            created_at=datetime.now(UTC),
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
            digest=digest,
        )
        cards = {one.document_id: self._cards[one.document_id] for one in revisions}
        if not self._look(info, cards) and base:
            # Its vectors stay in the journal, so a later run embeds nothing again.
            self.held_back = True
            return self._unchanged(base)
        info = replace(info, manifest=self._folders.share(info))
        self._store.publish(info, revisions, {**cursors, **({STEP: ""} if is_step else {})})
        if self._made:
            self._made.discard()
            self._base, self._base_folder = info, self._folders.open(info)
            self._cursors = dict(cursors)
            self._vectors = self._source(self._made)
            self._started = time.monotonic()
        self._on_published(self._step)
        self.in_steps = self._step > 0
        self._step = number
        return info

    def _embed(self, count: int) -> None:
        """Embeds the first `count` waiting texts; new vectors go into the journal."""
        self._vectors(self._waiting[:count])
        del self._waiting[:count]

    def _unchanged(self, base: GenerationInfo) -> GenerationInfo:
        return replace(base, embedded=0, seconds=round(time.monotonic() - self._started, 3))
