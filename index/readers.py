"""Who may read a document: the one place that decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal

from enrichment.chunk import DocumentCard
from index.search import SearchQuery

EVERYONE: frozenset[str] = frozenset()
"""Nobody in particular: opens what is open to all."""


def identities(email: str) -> frozenset[str]:
    """What a permission may name a person by: the address and its domain; none without one."""
    address = email.strip().casefold()
    return frozenset({address, address.partition("@")[2]} - {""})


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


def all_may_read(
    cards: Mapping[str, DocumentCard], documents: Collection[str], now: datetime
) -> bool:
    """Whether these documents exist and are open to everyone."""
    return all(one in cards and may_read(cards[one], EVERYONE, now) for one in documents)


def may_answer(card: DocumentCard, query: SearchQuery, now: datetime) -> bool:
    """Type, age and readers; the query's `documents` is a preference and not judged here."""
    if query.document_types and card.document_type not in query.document_types:
        return False
    if query.modified_since is not None and (
        card.modified_at is None or _utc(card.modified_at) < _utc(query.modified_since)
    ):
        return False
    return may_read(card, query.readers, now)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
