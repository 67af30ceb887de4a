"""Who may read a document: the one place that decides."""

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
    """Somebody who asks, as permissions and groups may name them."""

    email: str = ""
    slack_user: str = ""


IdentitiesOf = Callable[[Domain, Person], frozenset[str]]
"""All that a permission in this domain may name this person by; see `identities`."""

EVERYONE: frozenset[str] = frozenset()
"""Nobody in particular: opens what is open to all."""


def identities(email: str) -> frozenset[str]:
    """What a permission may name a person by: the address and its domain; none without one.

    An address that Google would not hand out names nobody: with a second `@` its domain could be a
    group, and letters beyond ASCII fold into those of somebody else."""
    address = email.strip().lower()
    name, _, domain = address.partition("@")
    plain = email.isascii() and "@" not in domain
    return frozenset({address, domain}) if name and domain and plain else EVERYONE


def by_email(domain: Domain, person: Person) -> frozenset[str]:
    """Without groups: the address alone, and its domain."""
    return identities(person.email)


def readers_of(
    audience: Literal["channel", "asker"], asker: Callable[[], frozenset[str]]
) -> frozenset[str] | None:
    """As whom a domain is searched; None: as its channel, whatever single permissions say.

    `asker` is looked up only where it matters."""
    return None if audience == "channel" else asker()


def grants(permission: Permission, readers: Collection[str], now: datetime) -> bool:
    """Whether it is unexpired and names one of the readers, who are in lower case."""
    if permission.expires_at is not None and _utc(permission.expires_at) <= now:
        return False
    return permission.kind == "anyone" or permission.value.lower() in readers


def may_read(card: DocumentCard, readers: Iterable[str] | None, now: datetime) -> bool:
    """Whether a permission of the document opens it; see `readers_of` for None.

    A document without permissions is closed: nobody says that anybody may read it."""
    if readers is None:
        return True
    lowered = {reader.lower() for reader in readers}
    return any(grants(permission, lowered, now) for permission in card.permissions)


class PermissionIndex:
    """Documents by the permissions that open them: what somebody may read costs a look-up for each
    of their identities, however many documents there are. Thread-safe."""

    def __init__(self, permissions: Mapping[str, tuple[Permission, ...]]) -> None:
        """`permissions`: document id → who may read it."""
        self._of: dict[str, tuple[Permission, ...]] = {}
        self._by_name: dict[str, dict[Permission, set[str]]] = defaultdict(dict)
        self._lock = Lock()
        self.epoch = 0
        """Counts up whenever a permission changes."""
        self.update(permissions)

    def update(self, permissions: Mapping[str, tuple[Permission, ...]]) -> None:
        """From now on these documents have these permissions and no others."""
        with self._lock:
            for document, new in permissions.items():
                old = self._of.get(document, ())
                if set(old) != set(new):
                    self._strike(document, old)
                    self._enter(document, new)
                    self.epoch += 1
                self._of[document] = new

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        """Ids of the documents that they may read now."""
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
        """None for a document that it has never heard of."""
        return self._of.get(document, ())

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

    def _enter(self, document: str, permissions: Iterable[Permission]) -> None:
        for each in permissions:
            self._by_name[_name(each)].setdefault(each, set()).add(document)

    def _strike(self, document: str, permissions: Iterable[Permission]) -> None:
        for each in permissions:
            by_permission = self._by_name[_name(each)]
            by_permission[each].discard(document)
            if not by_permission[each]:
                del by_permission[each]


@dataclass(frozen=True)
class _AsPublished:
    """What the index holds of permissions, never asked again."""

    index: PermissionIndex

    @property
    def epoch(self) -> int:
        return self.index.epoch

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        return self.index.open_to(readers)

    def check(self, documents: Collection[str]) -> None:
        """Nobody to ask."""


def visible_to(snapshot: Snapshot, readers: frozenset[str] | None) -> Snapshot:
    """The generation with nothing in it that they may not read; see `readers_of` for None.

    A guarded one is read by what its permissions are now, any other by what was published."""
    if isinstance(snapshot, Guarded):
        return snapshot.read_by(readers)
    if readers is None:
        return snapshot
    cards = snapshot.documents.values()
    register = PermissionIndex({card.id: card.permissions for card in cards})
    return ReaderView(snapshot, _AsPublished(register), readers)


def all_may_read(snapshot: Snapshot, documents: Collection[str]) -> bool:
    """Whether these documents exist and are open to everyone. While nobody can tell: no."""
    try:
        return visible_to(snapshot, EVERYONE).documents.keys() >= set(documents)
    except PermissionsUnknown:
        return False


def _name(permission: Permission) -> str:
    return "" if permission.kind == "anyone" else permission.value.lower()


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
