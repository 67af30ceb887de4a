"""Decides who may read a document, and limits a generation to its reader: permissions are checked
before text is returned."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    ValuesView,
)
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Literal, Protocol

from config.domain import Domain
from config.errors import PermissionsUnknown
from config.parsing.fields import ADDRESS
from enrichment.chunk import Chunk, DocumentCard
from index.search import Hit, SearchQuery, Snapshot
from loaders.document import Permission


@dataclass(frozen=True, kw_only=True)
class Person:
    """An asker, by the names that permissions and groups use."""

    email: str = ""
    slack_user: str = ""


IdentitiesOf = Callable[[Domain, Person], frozenset[str]]
"""Returns every name that a permission of this domain may use for this person. See `identities`."""

EVERYONE: frozenset[str] = frozenset()
"""No identities: documents open to everyone are still readable."""


def address_of(text: str) -> str:
    """An e-mail address as people are looked up, compared and stored by it: in lower case.

    '' without a valid one. Addresses that Google does not issue count as invalid: with a second
    `@`, the domain could be a group's address."""
    return text.strip().lower() if re.fullmatch(f" *{ADDRESS} *", text) else ""


def identities(email: str) -> frozenset[str]:
    """The address and its domain; empty without a valid address."""
    address = address_of(email)
    return frozenset({address, address.partition("@")[2]}) if address else EVERYONE


def by_email(domain: Domain, person: Person) -> frozenset[str]:
    """Identities without groups: the address and its domain."""
    return identities(person.email)


def readers_of(
    audience: Literal["channel", "asker"], asker: Callable[[], frozenset[str]]
) -> frozenset[str] | None:
    """The readers to search a domain for; None for its channel, which ignores document permissions.

    `asker` is called only when the audience is the asker."""
    return None if audience == "channel" else asker()


def grants(permission: Permission, readers: Collection[str], now: datetime) -> bool:
    """Whether the permission is unexpired and names one of the readers (in lower case)."""
    if permission.expires_at is not None and _utc(permission.expires_at) <= now:
        return False
    return permission.kind == "anyone" or permission.value.lower() in readers


def may_read(card: DocumentCard, readers: Iterable[str] | None, now: datetime) -> bool:
    """Whether a permission of the document names a reader; see `readers_of` for None.

    A document without permissions is closed."""
    if readers is None:
        return True
    lowered = {reader.lower() for reader in readers}
    return any(grants(permission, lowered, now) for permission in card.permissions)


class PermissionIndex:
    """Documents by the permissions that open them. Thread-safe.

    A query takes one lookup for each identity, independent of the number of documents."""

    def __init__(self, permissions: Mapping[str, tuple[Permission, ...]]) -> None:
        """`permissions`: document id → its permissions."""
        self._of: dict[str, tuple[Permission, ...]] = {}
        self._by_name: dict[str, dict[Permission, set[str]]] = defaultdict(dict)
        self._lock = Lock()
        self.epoch = 0
        """Increases with every changed permission."""
        self.update(permissions)

    def update(self, permissions: Mapping[str, tuple[Permission, ...]]) -> None:
        """Replaces the permissions of these documents."""
        with self._lock:
            for document, new in permissions.items():
                old = self._of.get(document, ())
                if set(old) != set(new):
                    self._strike(document, old)
                    for each in new:
                        self._by_name[_name(each)].setdefault(each, set()).add(document)
                    self.epoch += 1
                self._of[document] = new

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        """Ids of the documents that these readers may read now."""
        now = datetime.now(UTC)
        with self._lock:
            readable = [
                documents
                for name in ("", *readers)
                for permission, documents in self._by_name.get(name, {}).items()
                if grants(permission, readers, now)
            ]
            return frozenset().union(*readable)

    def of(self, document: str) -> tuple[Permission, ...]:
        """The document's permissions; empty for an unknown document."""
        return self._of.get(document, ())

    def check(self, documents: Collection[str]) -> None:
        """Does nothing: these permissions have no source to check."""

    def groups(self) -> frozenset[str]:
        """Addresses of the groups that documents are shared with."""
        with self._lock:
            return frozenset(
                name
                for name, permissions in self._by_name.items()
                if any(
                    each.kind == "group" and documents for each, documents in permissions.items()
                )
            )

    def _strike(self, document: str, permissions: Iterable[Permission]) -> None:
        for each in permissions:
            by_permission = self._by_name[_name(each)]
            by_permission[each].discard(document)
            if not by_permission[each]:
                del by_permission[each]


def shared_groups(cards: Iterable[DocumentCard]) -> frozenset[str]:
    """Addresses of the groups that documents were shared with when they were published."""
    return PermissionIndex({card.id: card.permissions for card in cards}).groups()


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

    def named(
        self, keys: Collection[str], *, mentions: bool = False
    ) -> Mapping[str, tuple[str, ...]]:
        documents = self._whole.named(keys, mentions=mentions)
        self._permissions.check(
            {one for ids in documents.values() for one in ids} & self.readable()
        )
        readable = self.readable()
        among = {
            key: tuple(document for document in ids if document in readable)
            for key, ids in documents.items()
        }
        return {key: ids for key, ids in among.items() if ids}

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
        """See `visible_to`."""
        if readers is None:
            return self._whole
        return ReaderView(self._whole, self._permissions, readers)


def visible_to(snapshot: Snapshot, readers: frozenset[str] | None) -> Snapshot:
    """The generation limited to what these readers may read; see `readers_of` for None.

    A guarded generation uses the current permissions, any other the published ones."""
    if isinstance(snapshot, Guarded):
        return snapshot.read_by(readers)
    if readers is None:
        return snapshot
    published = {card.id: card.permissions for card in snapshot.documents.values()}
    return ReaderView(snapshot, PermissionIndex(published), readers)


def all_may_read(snapshot: Snapshot, documents: Collection[str]) -> bool:
    """Whether these documents exist and are open to everyone; False while that is unknown."""
    try:
        return visible_to(snapshot, EVERYONE).documents.keys() >= set(documents)
    except PermissionsUnknown:
        return False


def _name(permission: Permission) -> str:
    return "" if permission.kind == "anyone" else permission.value.lower()


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
