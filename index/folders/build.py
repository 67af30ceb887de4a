"""Building a generation's folder out of database revisions, reusing all that a base already has."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from config.models import Embedder, Vectors
from enrichment.chunk import Chunk, DocumentCard
from index.folders.arrays import KEY, Matrices, Part, save_keys, save_rows, save_terms
from index.folders.generation_folder import Folder, Manifest, seal
from index.keywords.bm25 import chunk_terms
from index.store.generation_info import Revision, digest_of
from index.store.sql_store import Store
from index.vectors.quantised import quantised

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


class Base:
    """The documents of an existing folder, by revision."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._place = {revision: place for place, revision in enumerate(folder.revision_ids)}
        self.vocabulary = folder.vocabulary
        self._term_counts = np.diff(folder.term_starts)
        self._unit_counts = np.diff(folder.unit_starts)

    def part(self, revision_id: int) -> Part | None:
        place = self._place.get(revision_id)
        if place is None:
            return None
        folder = self._folder
        first, last = folder.row_starts[place : place + 2]
        rows = slice(first, last)
        units = slice(int(folder.unit_starts[first]), int(folder.unit_starts[last]))
        occurrences = slice(int(folder.term_starts[first]), int(folder.term_starts[last]))
        return Part(
            row_ids=folder.row_ids[rows].tolist(),
            chunk_ids=[one.decode() for one in folder.chunk_ids.by_row[rows].tolist()],
            unit_counts=self._unit_counts[rows].tolist(),
            term_counts=self._term_counts[rows].tolist(),
            term_ids=folder.term_ids[occurrences],
            chunk_keys=folder.chunk_keys.by_row[rows],
            unit_keys=folder.unit_keys.by_row[units],
            chunk_vectors=folder.chunk_vectors[rows],
            unit_vectors=folder.unit_vectors[units],
            first_row=first,
            first_unit=units.start,
        )


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
    carried = Base(base) if base else None
    vocabulary = {term: place for place, term in enumerate(carried.vocabulary if carried else ())}
    width = vectors.embedder.dimensions
    matrices = Matrices(target, held, width)
    parts: list[Part] = []
    for revision in held:
        part = carried.part(revision.id) if carried else None
        if part is None:
            part = _fresh(store, revision, cards(revision), vocabulary, vectors)
        parts.append(matrices.take(part))
    matrices.save_sketches(target, parts, base)
    save_rows(target, held, parts)
    save_keys(target, parts)
    save_terms(target, parts, vocabulary)


def seal_folder(target: Path, held: Sequence[Revision], embedder: Embedder) -> None:
    manifest = Manifest(
        digest=digest_of(held), embedder=embedder.name, dimensions=embedder.dimensions
    )
    seal(target, manifest)


def _fresh(
    store: Store,
    revision: Revision,
    card: DocumentCard,
    vocabulary: dict[str, int],
    vectors: VectorSource,
) -> Part:
    content = store.content(revision.id)
    size = len(content)
    keys, found = vectors(embedded_texts([chunk for _, chunk in content]))
    width = vectors.embedder.dimensions
    vectors_of = np.array([found[key] for key in keys], dtype=np.float32)
    matrix = quantised(vectors_of.reshape(len(keys), width))
    bags = [chunk_terms(chunk, card) for _, chunk in content]
    term_ids = [vocabulary.setdefault(term, len(vocabulary)) for bag in bags for term in bag]
    addresses = np.array([key.encode() for key in keys], dtype=KEY)
    return Part(
        row_ids=[row_id for row_id, _ in content],
        chunk_ids=[chunk.id for _, chunk in content],
        unit_counts=[len(chunk.units) for _, chunk in content],
        term_counts=[len(bag) for bag in bags],
        term_ids=np.array(term_ids, dtype=np.int32),
        chunk_keys=addresses[:size],
        unit_keys=addresses[size:],
        chunk_vectors=matrix[:size],
        unit_vectors=matrix[size:],
    )
