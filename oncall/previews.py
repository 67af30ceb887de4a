"""A domain's documents with one of them edited, and agents over both versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from config.errors import UsageError

if TYPE_CHECKING:
    from bot.features.replay.service import EditPreview
    from enrichment.chunk import Chunk, DocumentCard
    from enrichment.pipeline import Enriched
    from index.search import Snapshot
    from loaders.assemble import Metadata
    from loaders.document import Document
    from oncall.answers import Answers
    from oncall.documents import Documents


class Previews:
    """Nothing is published: each preview is removed when its `with` ends."""

    def __init__(self, documents: Documents, answers: Answers) -> None:
        self._documents = documents
        self._answers = answers

    @contextmanager
    def of_file(
        self, name: str, document: str, path: Path, *, all_documents: bool = False
    ) -> Iterator[EditPreview]:
        """With this file's text as the whole document. `all_documents`: also those that not
        everyone may read, with `audience: asker`.

        Raises UsageError, LoadError, and the errors of `Index.preview`."""
        card = self._card(name, document)
        loaded = _load(path, card)
        if loaded.id != card.id:
            raise UsageError(
                f"{path} states the id {loaded.id!r}, and the document has {card.id!r}",
                remedy="correct the id in its header, or name the other document",
            )
        edited = self._prepare(name, loaded)
        card = replace(
            edited.card, path=card.path, source=card.source, permissions=card.permissions
        )
        with self._preview(name, card, edited.chunks, all_documents) as preview:
            yield preview

    @contextmanager
    def of_words(self, name: str, document: str, heading: str, words: str) -> Iterator[EditPreview]:
        """With these words as paragraphs at the end of the section of this heading; at the end of
        the document where it has no such section."""
        card = self._card(name, document)
        chunks = list(self._documents.index.snapshot(name).chunks(document))
        sections = [at for at, chunk in enumerate(chunks) if chunk.heading == heading.strip()]
        at = sections[-1] + 1 if sections else len(chunks)
        place = chunks[at - 1] if chunks else None
        added = self._prepare(name, _paragraphs(card, place, words)).chunks
        if place:
            added = tuple(replace(one, tab=place.tab, page=place.page) for one in added)
        edited = [*chunks[:at], *added, *chunks[at:]]
        numbered = [replace(one, position=number) for number, one in enumerate(edited)]
        with self._preview(name, card, numbered, False) as preview:
            yield preview

    def _card(self, name: str, document: str) -> DocumentCard:
        cards = self._documents.index.snapshot(name).documents
        if document not in cards:
            raise UsageError(f"no document {document!r} in {name}")
        return cards[document]

    def _prepare(self, name: str, document: Document) -> Enriched:
        """As an ingestion would, with the model's descriptions where it makes them."""
        run, preparing = f"preview-{token_hex(8)}", self._documents.preparing
        ways = preparing.ways(run, self._documents.domain(name).chunks)
        return ways.get("model", ways["extractive"])(document)

    @contextmanager
    def _preview(
        self, name: str, card: DocumentCard, chunks: Sequence[Chunk], all_documents: bool
    ) -> Iterator[EditPreview]:
        from bot.features.replay.service import EditPreview
        from index.permissions.rules import EVERYONE, visible_to

        domain, access = self._documents.domain(name), self._documents.access
        by_asker = domain.access.audience == "asker"

        def readable(whole: Snapshot) -> Snapshot:
            if all_documents or not by_asker:
                return whole
            return visible_to(access.guarded(name, whole), EVERYONE)

        with self._documents.index.preview(name, card, chunks) as (current, edited):
            before, after = readable(current), readable(edited)
            if card.id not in before.documents:
                raise UsageError(
                    f"not everyone may read {card.id!r} in {name}, so no answer for everyone "
                    "depends on it",
                    remedy="add --all-documents to answer from all documents of the domain",
                )
            ask_as = partial(self._answers.ask_as, domain, for_people=False)
            yield EditPreview(
                domain=domain,
                document=card.id,
                before=before,
                after=after,
                ask_before=ask_as(snapshot=lambda: before),
                ask_after=ask_as(snapshot=lambda: after),
            )


def _load(path: Path, card: DocumentCard) -> Document:
    """The file as a version of the document. What a file states of itself counts; other sources
    state it apart from the text."""
    from loaders.files.local import load_bytes

    metadata: Metadata = {"id": card.id}
    if not card.path:
        metadata |= {"title": card.title, "owner": card.owner, "status": card.status}
        metadata |= {"review_by": card.review_by}
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    metadata["modified_at"] = card.modified_at
    return load_bytes(data, suffix=path.suffix, url=_address(card), **metadata)


def _address(card: DocumentCard) -> str:
    """Its own, and not that of the page which the copilot serves."""
    from index.page_links import is_web, page_target
    from loaders.assemble import own_address

    has_own = is_web(card.url) and page_target(card.url) is None
    return card.url if has_own else own_address(card.path or card.id)


def _paragraphs(card: DocumentCard, place: Chunk | None, words: str) -> Document:
    """`place`: a chunk of the section that they stand in."""
    from loaders.assemble import BlockWriter, make_document

    writer = BlockWriter(url=place.url if place else _address(card))
    for level, heading in enumerate(place.heading_path if place else (), 1):
        writer.heading(level, heading, heading)
    for paragraph in filter(None, (one.strip() for one in words.split("\n\n"))):
        writer.add("paragraph", paragraph, paragraph)
    return make_document(writer, url=card.url, id=card.id, title=card.title, source=card.source)
