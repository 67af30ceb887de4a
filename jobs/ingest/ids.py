"""Which document of which source an id belongs to, over a whole generation.

A source such as Drive issues its ids. A file claims one, by its front matter or its name; anyone
who may write a file could otherwise replace a document that only some may read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from enrichment.chunk import DocumentCard
from loaders.registry import kind_of
from loaders.source import SourceChanges

Verdict = Literal["granted", "undecided", "refused"]


def source_of(card: DocumentCard) -> str:
    """Name of the source that a document was loaded from."""
    # Cards of older releases have no source.
    by_url = "file" if card.url.startswith("file:") else "google_drive"
    source = card.source or by_url
    kind = kind_of(source)
    return kind.key if kind else source


def own_documents(
    published: Mapping[str, DocumentCard], source: str, sources: Collection[str]
) -> dict[str, DocumentCard]:
    """Published documents without those of the other sources.

    A source would take another's document with one of its ids for its own, and not load its own."""
    others = set(sources) - {source}
    return {one: card for one, card in published.items() if source_of(card) not in others}


class IdOwners:
    """Grants each id to one document, named by its source and its name there.

    An issued id belongs to its source. Of claims, that of the document which had the id in the
    published generation counts, even if that can't be read now; else the first."""

    def __init__(self, published: Mapping[str, DocumentCard]) -> None:
        self._published = published
        self._complete: dict[str, bool] = {}
        self._issuers: dict[str, str] = {}
        self._undecided: dict[str, str] = {}
        """Published id of a listed file that is not loaded yet → its source."""
        self._owners: dict[str, tuple[str, str]] = {}

    def add(self, source: str, changes: SourceChanges) -> None:
        """Register what a source lists."""
        listed = changes.changed.keys() | changes.unchanged
        self._complete[source] = changes.complete
        if changes.claims_ids:
            self._undecided |= dict.fromkeys(listed & self._published.keys(), source)
        for one in () if changes.claims_ids else listed:
            self._issuers.setdefault(one, source)

    def usurped(self) -> list[str]:
        """Issued ids under which a document of another source is published."""
        published = [one for one in self._issuers if one in self._published]
        return [one for one in published if self._is_of_another(one, self._issuers[one])]

    def ask(self, source: str, name: str, document_id: str) -> Verdict:
        """Whether a loaded document may have this id.

        `undecided`: the id may be that of a file that is not loaded yet; ask again after `decide`.
        """
        me = source, name
        if name != document_id:
            self._undecided.pop(name, None)
        if issuer := self._issuers.get(document_id):
            return "granted" if (issuer, document_id) == me else "refused"
        if self._stays_closed(document_id, source):
            return "refused"
        if name != document_id and document_id in self._undecided:
            return "undecided"
        return "granted" if self._owners.setdefault(document_id, me) == me else "refused"

    def decide(self, source: str) -> None:
        """Files that could not be loaded keep their published ids."""
        for one in [one for one, its in self._undecided.items() if its == source]:
            del self._undecided[one]
            self._owners.setdefault(one, (source, one))

    def owner(self, document_id: str) -> str:
        """For messages: where the document with this id is."""
        if issuer := self._issuers.get(document_id):
            return f"a document of {issuer}"
        _, name = self._owners.get(document_id, ("", document_id))
        card = self._published.get(document_id)
        return card.url if card and name == document_id else name

    def _is_of_another(self, document_id: str, source: str) -> bool:
        other = source_of(self._published[document_id])
        return other != source and other in self._complete

    def _stays_closed(self, document_id: str, source: str) -> bool:
        """Whether another source published a restricted document under this id, which leaves with
        this run, or could not be listed completely: an open one never takes its place at once."""
        if document_id not in self._published or not self._is_of_another(document_id, source):
            return False
        card = self._published[document_id]
        return bool(card.permissions) or not self._complete[source_of(card)]
