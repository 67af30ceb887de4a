"""Which document of which source an id belongs to, over a whole generation.

A source such as Drive issues its ids. A file is named by its path, and may state an id; anyone who
may write a file could otherwise replace a document that only some may read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from enrichment.chunk import DocumentCard
from loaders.registry import kind_of
from loaders.source import SourceChanges


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

    An issued id belongs to its source, then a path to its file. Of files that state the same id,
    that which had it in the published generation counts, even if it can't be read now; else the
    first. The others are named by their paths, so that every document has an id."""

    def __init__(self, published: Mapping[str, DocumentCard]) -> None:
        self._published = published
        self._complete: dict[str, bool] = {}
        self._issuers: dict[str, str] = {}
        self._files: dict[str, str] = {}
        """Path → the source that lists it."""
        self._earlier: dict[tuple[str, str], str] = {}
        """Source and path of a file → its published id."""
        self._undecided: dict[str, tuple[str, str]] = {}
        """Published id of a listed file that is not loaded yet → that file."""
        self._owners: dict[str, tuple[str, str]] = {}

    def add(self, source: str, changes: SourceChanges) -> None:
        """Register what a source lists."""
        self._complete[source] = changes.complete
        listed = self._files if changes.claims_ids else self._issuers
        for one in changes.changed.keys() | changes.unchanged:
            listed.setdefault(one, source)
        for name, document in changes.published.items():
            self._earlier[source, name] = document
            self._undecided[document] = source, name

    def usurped(self) -> list[str]:
        """Issued ids under which a document of another source is published."""
        published = [one for one in self._issuers if one in self._published]
        return [one for one in published if self._is_of_another(one, self._issuers[one])]

    def own(self, source: str, name: str) -> str:
        """The id of a document that states none."""
        document = name
        while self._is_taken(document, source, name):
            document = f"{source}:{document}"
        return document

    def published(self, source: str, name: str) -> str:
        """The id under which a listed document is published; empty for a new file."""
        is_file = self._files.get(name) == source
        return self._earlier.get((source, name), "") if is_file else self.own(source, name)

    def grant(self, source: str, name: str, stated: str) -> str:
        """The id of a loaded document; `stated` is its name if it states none.

        Empty while the id may be that of a file that is not loaded yet; ask again after `decide`.
        """
        me = source, name
        if (earlier := self._earlier.get(me)) and earlier != stated:
            self._undecided.pop(earlier, None)
        is_qualified = stated.partition(":")[0] in self._complete
        if stated == name or is_qualified or self._is_taken(stated, source, name):
            return self.own(source, name)
        if self._undecided.get(stated, me) != me:
            return ""
        return stated if self._owners.setdefault(stated, me) == me else self.own(source, name)

    def decide(self, source: str) -> None:
        """Files that could not be loaded keep their published ids."""
        for document, file in list(self._undecided.items()):
            if file[0] == source:
                del self._undecided[document]
                self._owners.setdefault(document, file)

    def owner(self, document_id: str) -> str:
        """For messages: the file or source whose id it is."""
        if document_id in self._files:
            return document_id
        if owner := self._owners.get(document_id):
            return owner[1]
        card = self._published.get(document_id)
        issuer = self._issuers.get(document_id) or (card and source_of(card))
        return f"a document of {issuer or document_id.partition(':')[0]}"

    def _is_taken(self, document_id: str, source: str, name: str) -> bool:
        """Whether this document may never have the id, whatever it states."""
        if issuer := self._issuers.get(document_id):
            return (issuer, document_id) != (source, name)
        if self._files.get(document_id) and document_id != name:
            return True
        return self._stays_closed(document_id, source)

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
