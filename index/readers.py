"""Who may read a document: the one place that decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from config.domain import Domain
from enrichment.chunk import Chunk, DocumentCard
from index.search import Hit, SearchQuery, Snapshot


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
    """What a permission may name a person by: the address and its domain; none without one."""
    address = email.strip().casefold()
    name, _, domain = address.partition("@")
    return frozenset({address, domain}) if name and domain else EVERYONE


def by_email(domain: Domain, person: Person) -> frozenset[str]:
    """Without groups: the address alone, and its domain."""
    return identities(person.email)


def readers_of(
    audience: Literal["channel", "asker"], asker: Callable[[], frozenset[str]]
) -> frozenset[str] | None:
    """As whom a domain is searched; None: as its channel, whatever single permissions say.

    `asker` is looked up only where it matters."""
    return None if audience == "channel" else asker()


def may_read(card: DocumentCard, readers: Iterable[str] | None, now: datetime) -> bool:
    """Whether one of the identities has an unexpired permission; see `readers_of` for None.

    A document without permissions is open to everyone who may ask in its domain."""
    if readers is None or not card.permissions:
        return True
    known = {reader.casefold() for reader in readers}
    return any(
        permission.kind == "anyone" or permission.value.casefold() in known
        for permission in card.permissions
        if permission.expires_at is None or _utc(permission.expires_at) > now
    )


def as_read_by(snapshot: Snapshot, readers: frozenset[str] | None) -> Snapshot:
    """The generation with nothing in it that they may not read; see `readers_of` for None."""
    if readers is None:
        return snapshot
    now = datetime.now(UTC)
    cards = {
        name: card for name, card in snapshot.documents.items() if may_read(card, readers, now)
    }
    return _Readable(whole=snapshot, readers=readers, documents=cards)


@dataclass(frozen=True, kw_only=True)
class _Readable:
    """See `as_read_by`. How rare a word is stays that of the whole: it names no document."""

    whole: Snapshot
    readers: frozenset[str]
    documents: Mapping[str, DocumentCard]

    @property
    def domain(self) -> str:
        return self.whole.domain

    @property
    def generation(self) -> int:
        return self.whole.generation

    def search(self, query: SearchQuery) -> list[Hit]:
        return self.whole.search(replace(query, readers=self.readers))

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        return self.whole.chunks(document_id) if document_id in self.documents else ()

    def unit_similarities(
        self, question: str, chunk_ids: Collection[str]
    ) -> Mapping[str, Sequence[float]]:
        return self.whole.unit_similarities(question, chunk_ids)

    def rarity(self, term: str) -> float:
        return self.whole.rarity(term)

    def is_unheard_of(self, term: str) -> bool:
        return self.whole.is_unheard_of(term)


def all_may_read(
    cards: Mapping[str, DocumentCard], documents: Collection[str], now: datetime
) -> bool:
    """Whether these documents exist and are open to everyone."""
    return all(one in cards and may_read(cards[one], EVERYONE, now) for one in documents)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
