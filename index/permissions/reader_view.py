"""A generation limited to one reader. Permissions are checked before text is returned."""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import replace
from typing import Protocol

from enrichment.chunk import Chunk, DocumentCard
from index.search import Hit, SearchQuery, Snapshot

ROUNDS = 3
"""Most searches for one query: it is repeated while a check closes documents. Hits from documents
that are still closed afterwards are dropped."""


class CurrentPermissions(Protocol):
    """The permissions of a domain's documents as last checked."""

    @property
    def epoch(self) -> int:
        """Increases with every change."""
        ...

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        """Ids of the documents that these readers may read, by the last checks."""
        ...

    def check(self, documents: Collection[str]) -> None:
        """Checks the stale ones of these documents, and some other stale ones, again.

        Raises PermissionsUnknown when the source is unavailable and the last check is too old."""
        ...


class ReaderView:
    """A `search.Snapshot` for one reader.

    Text comes only from documents whose permissions were checked minutes ago at most. Counts cover
    only documents that the reader may read."""

    def __init__(
        self, whole: Snapshot, permissions: CurrentPermissions, readers: frozenset[str]
    ) -> None:
        self._whole = whole
        self._permissions = permissions
        self._readers = readers
        self._epoch = -1
        self._cards: Mapping[str, DocumentCard] = {}
        self._ids: frozenset[str] = frozenset()
        self._listed = False
        self._returned: set[str] = set()

    @property
    def domain(self) -> str:
        return self._whole.domain

    @property
    def generation(self) -> int:
        return self._whole.generation

    @property
    def language(self) -> str:
        return self._whole.language

    @property
    def documents(self) -> Mapping[str, DocumentCard]:
        if not self._listed:
            self._permissions.check(())
            self._listed = True
        return _Cards(self)

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        ids = [document for document in documents if document in self.readable()]
        self._permissions.check(ids)
        cards = self.known_cards()
        return [cards[document] for document in ids if document in cards]

    def search(self, query: SearchQuery) -> list[Hit]:
        hits: list[Hit] = []
        for _ in range(ROUNDS):
            readable = self.readable()
            hits = self._whole.search(replace(query, readable=readable))
            self._permissions.check({hit.chunk.document_id for hit in hits})
            if self.readable() == readable:
                break
        visible = [hit for hit in hits if hit.chunk.document_id in self.readable()]
        self._returned.update(hit.chunk.id for hit in visible)
        return visible

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        if not self.is_open(document_id):
            return ()
        chunks = self._whole.chunks(document_id)
        self._returned.update(chunk.id for chunk in chunks)
        return chunks

    def unit_similarities(
        self, question: str, chunk_ids: Collection[str]
    ) -> Mapping[str, Sequence[float]]:
        """Covers only chunks that this view has returned."""
        visible = [chunk_id for chunk_id in chunk_ids if chunk_id in self._returned]
        return self._whole.unit_similarities(question, visible)

    def rarity(self, term: str, *, readable: frozenset[str] | None = None) -> float:
        return self._whole.rarity(term, readable=self._among(readable))

    def is_unheard_of(self, term: str, *, readable: frozenset[str] | None = None) -> bool:
        return self._whole.is_unheard_of(term, readable=self._among(readable))

    def is_open(self, document: str) -> bool:
        """Whether the reader may read it; checks a stale permission first."""
        if document in self.readable():
            self._permissions.check((document,))
        return document in self.readable()

    def readable(self) -> frozenset[str]:
        """Ids of the documents that the reader may read, by the last checks."""
        self._refresh()
        return self._ids

    def known_cards(self) -> Mapping[str, DocumentCard]:
        """The cards of `readable()` by id, in the generation's order."""
        self._refresh()
        return self._cards

    def _refresh(self) -> None:
        epoch = self._permissions.epoch
        if epoch != self._epoch:
            open_ids = self._permissions.open_to(self._readers)
            cards = self._whole.documents
            self._cards = {name: card for name, card in cards.items() if name in open_ids}
            self._ids = frozenset(self._cards)
            self._epoch = epoch

    def _among(self, readable: frozenset[str] | None) -> frozenset[str]:
        return self.readable() if readable is None else self.readable() & readable


class _Cards(Mapping[str, DocumentCard]):
    """Lists documents by the last checks. A lookup checks its document; for many, use `cards`."""

    def __init__(self, view: ReaderView) -> None:
        self._view = view

    def __getitem__(self, document: str) -> DocumentCard:
        if not self._view.is_open(document):
            raise KeyError(document)
        return self._view.known_cards()[document]

    def __contains__(self, document: object) -> bool:
        return document in self._view.readable()

    def __iter__(self) -> Iterator[str]:
        return iter(self._view.known_cards())

    def __len__(self) -> int:
        return len(self._view.known_cards())

    def values(self) -> ValuesView[DocumentCard]:
        return self._view.known_cards().values()

    def items(self) -> ItemsView[str, DocumentCard]:
        return self._view.known_cards().items()


class Guarded(ReaderView):
    """A generation of a domain whose permissions differ between askers.

    By itself it shows documents that everyone may read; `visible_to` adds those of a reader."""

    def __init__(self, whole: Snapshot, permissions: CurrentPermissions) -> None:
        super().__init__(whole, permissions, frozenset())

    def read_by(self, readers: frozenset[str] | None) -> Snapshot:
        """See `index.permissions.rules.visible_to`."""
        if readers is None:
            return self._whole
        return ReaderView(self._whole, self._permissions, readers)
