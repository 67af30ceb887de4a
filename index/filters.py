"""Which documents a question may be answered from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from enrichment.chunk import DocumentCard
from index.search import SearchQuery


def may_answer(card: DocumentCard, query: SearchQuery, now: datetime) -> bool:
    """Type, age and readers; the query's `documents` is a preference and not judged here."""
    if query.document_types and card.document_type not in query.document_types:
        return False
    if query.modified_since is not None and (
        card.modified_at is None or _utc(card.modified_at) < _utc(query.modified_since)
    ):
        return False
    return query.readers is None or may_read(card, query.readers, now)


def may_read(card: DocumentCard, readers: Iterable[str], now: datetime) -> bool:
    """Whether one of the asker's identities (e-mail, groups, domain) has an unexpired permission.

    A document without permissions is open to everyone who may ask in its domain."""
    if not card.permissions:
        return True
    identities = {reader.casefold() for reader in readers}
    return any(
        permission.kind == "anyone" or permission.value.casefold() in identities
        for permission in card.permissions
        if permission.expires_at is None or _utc(permission.expires_at) > now
    )


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
