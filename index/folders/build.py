"""Building a generation's folder out of database revisions, reusing all that a base already has."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from config.models import Embedder, Vectors
from enrichment.chunk import Chunk, DocumentCard
from index.folders.arrays import FolderArrays, FreshDocument
from index.folders.generation_folder import Folder, Manifest, seal
from index.keywords.bm25 import chunk_terms
from index.store.generation_info import Revision, digest_of
from index.store.sql_store import Store

Lookup = Callable[[Sequence[str]], Mapping[str, Vectors]]


def key_of(embedder: str, text: str) -> str:
    """Content address of a text's vector, 32 hexadecimal digits."""
    content = f"{embedder}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]


def embedded_texts(chunks: Sequence[Chunk]) -> list[str]:
    """What vectors are made of: each chunk, then each unit, in order."""
    units = (unit.index_text for chunk in chunks for unit in chunk.units)
    return [*(chunk.index_text for chunk in chunks), *units]


class VectorSource:
    """Vectors of texts: looked up where they may exist already, embedded where not."""

    def __init__(
        self,
        embedder: Embedder,
        lookups: Sequence[Lookup],
        on_embedded: Callable[[Mapping[str, Vectors]], None] = lambda _: None,
    ) -> None:
        self.embedder = embedder
        self.embedded = 0
        self._lookups = lookups
        self._on_embedded = on_embedded

    def __call__(self, texts: Sequence[str]) -> tuple[list[str], Mapping[str, Vectors]]:
        """(key of each text, vector by key). Raises ModelUnavailable."""
        keys = [key_of(self.embedder.name, text) for text in texts]
        missing = dict(zip(keys, texts, strict=True))
        found: dict[str, Vectors] = {}
        for lookup in self._lookups:
            if missing:
                found.update(lookup(list(missing)))
                missing = {key: text for key, text in missing.items() if key not in found}
        if missing:
            fresh = self.embedder(list(missing.values()))
            made = dict(zip(missing, fresh, strict=True))
            self.embedded += len(made)
            self._on_embedded(made)
            found.update(made)
        return keys, found


def build_folder(
    target: Path,
    held: Sequence[Revision],
    *,
    base: Folder | None,
    store: Store,
    cards: Callable[[Revision], DocumentCard],
    vectors: VectorSource,
) -> None:
    """Write everything but the seal.

    `base` must be of the same embedder: its documents are copied, the others read from `store`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    place_of = {revision: place for place, revision in enumerate(base.revision_ids if base else ())}
    with FolderArrays(target, held, vectors.embedder.dimensions, base) as arrays:
        for revision in held:
            place = place_of.get(revision.id)
            if base is None or place is None:
                arrays.add(_fresh(store, revision, cards(revision), vectors))
            else:
                arrays.carry(base, place)
        arrays.save()


def seal_folder(target: Path, held: Sequence[Revision], embedder: Embedder) -> None:
    manifest = Manifest(
        digest=digest_of(held), embedder=embedder.name, dimensions=embedder.dimensions
    )
    seal(target, manifest)


def _fresh(
    store: Store, revision: Revision, card: DocumentCard, vectors: VectorSource
) -> FreshDocument:
    content = store.content(revision.id)
    keys, found = vectors(embedded_texts([chunk for _, chunk in content]))
    made = np.array([found[key] for key in keys], dtype=np.float32)
    return FreshDocument(
        row_ids=[row_id for row_id, _ in content],
        chunk_ids=[chunk.id for _, chunk in content],
        unit_counts=[len(chunk.units) for _, chunk in content],
        keys=keys,
        vectors=made.reshape(len(keys), vectors.embedder.dimensions),
        terms=[chunk_terms(chunk, card) for _, chunk in content],
    )
