"""A generation with an edited document, on trial: nothing is published, stored or locked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from config.errors import GenerationReplaced
from enrichment.chunk import Chunk, DocumentCard
from index.generations.build import VectorSource, build_folder
from index.generations.engines import local_searches
from index.generations.folder import Folder, Manifest, seal
from index.page_links import LinkedChunks, PageLinks
from index.snapshot import Generation
from index.store.documents import Revision, Store, digest_of
from index.vectors.search import QuestionVectors

EDITED = -1
"""Id of the edited revision. The database numbers from 1, so its chunks' ids are negative, too."""


class EditedStore(Store):
    """Reads the edited document from memory, and all others from the database."""

    def __init__(self, store: Store, chunks: Sequence[Chunk]) -> None:
        super().__init__(store.engine)
        self._edited = {EDITED - place: chunk for place, chunk in enumerate(chunks)}

    def content(self, revision_id: int) -> list[tuple[int, Chunk]]:
        if revision_id == EDITED:
            return list(self._edited.items())
        return super().content(revision_id)

    def chunks(self, row_ids: Sequence[int]) -> dict[int, Chunk]:
        edited = {row: self._edited[row] for row in row_ids if row in self._edited}
        return edited | super().chunks([row for row in row_ids if row not in edited])


@contextmanager
def preview_edit(
    current: Generation,
    store: Store,
    links: PageLinks,
    questions: QuestionVectors,
    card: DocumentCard,
    chunks: Sequence[Chunk],
) -> Iterator[Generation]:
    """The generation with this document in place of the one of its id, in a temporary folder that
    is removed at the end. Only texts that are new are embedded.

    Raises GenerationReplaced when the generation is deleted meanwhile, and ModelUnavailable."""
    domain, number, embedder = current.domain, current.generation, questions.embedder
    edited = Revision(
        id=EDITED,
        document_id=card.id,
        digest="edited",
        chunks=len(chunks),
        units=sum(len(chunk.units) for chunk in chunks),
    )
    published = store.revisions(domain, number)
    revisions = [edited if one.document_id == card.id else one for one in published]
    if len(revisions) != current.info.documents:
        raise GenerationReplaced(domain, number)
    cards = {**store.cards(domain, number), card.id: card}
    vectors, both = VectorSource(embedder, [current.folder.lookup]), EditedStore(store, chunks)
    with TemporaryDirectory(prefix="oncall-preview-") as place:
        target, digest = Path(place) / "generation", digest_of(revisions)
        build_folder(
            target, revisions, base=current.folder, store=both, vectors=vectors,
            cards=lambda one: cards[one.document_id],
        )  # fmt: skip
        seal(target, Manifest(digest, embedder.name, embedder.dimensions))
        folder = Folder(target, digest, verified=True)
        info = replace(
            current.info, digest=digest, chunks=sum(one.chunks for one in revisions),
            units=sum(one.units for one in revisions), embedded=vectors.embedded,
        )  # fmt: skip
        searches, linked = local_searches(folder), LinkedChunks(both, links)
        yield Generation(info, folder, searches, links.cards(cards), linked, questions)
