"""Decides who may read a document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Literal

from config.domain import Domain
from config.errors import PermissionsUnknown
from enrichment.chunk import DocumentCard
from index.permissions.reader_view import Guarded, ReaderView
from index.search import Snapshot
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


def identities(email: str) -> frozenset[str]:
    """The address and its domain, in lower case; empty without a valid address.

    Addresses that Google does not issue count as invalid. With a second `@`, the domain could be a
    group's address; non-ASCII letters could fold into another person's address."""
    address = email.strip().lower()
    name, _, domain = address.partition("@")
    plain = email.isascii() and "@" not in domain
    return frozenset({address, domain}) if name and domain and plain else EVERYONE


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
