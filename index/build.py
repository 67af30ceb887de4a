"""Building a generation's folder out of database revisions, reusing all that a base already has."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.models import Embedder, Vectors
from enrichment.chunk import DocumentCard
from index.folder import KEYWORDS, Folder, Manifest, seal
from index.keywords import chunk_terms, save_sparse
from index.store import Revision, Store, digest_of

Lookup = Callable[[Sequence[str]], Mapping[str, Vectors]]
KEY = np.dtype("S32")


def key_of(embedder: str, text: str) -> str:
    """Content address of a text's vector, 32 hexadecimal digits."""
    content = f"{embedder}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]


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


@dataclass(frozen=True, kw_only=True)
class Part:
    """One document's share of every array."""

    row_ids: Sequence[int]
    chunk_ids: Sequence[str]
    tabs: Sequence[str]
    unit_counts: Sequence[int]
    term_counts: Sequence[int]
    term_ids: NDArray[np.int32]
    chunk_keys: NDArray[np.bytes_]
    unit_keys: NDArray[np.bytes_]
    chunk_vectors: Vectors
    unit_vectors: Vectors


class Base:
    """The documents of an existing folder, by revision."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._place = {revision: place for place, revision in enumerate(folder.revision_ids)}
        self.vocabulary, self._term_ids, starts = folder.terms
        self._term_starts = starts
        self._term_counts = np.diff(starts)
        self._unit_counts = np.diff(folder.unit_starts)

    def part(self, revision_id: int) -> Part | None:
        place = self._place.get(revision_id)
        if place is None:
            return None
        folder = self._folder
        first, last = folder.row_starts[place : place + 2]
        rows = slice(first, last)
        units = slice(int(folder.unit_starts[first]), int(folder.unit_starts[last]))
        occurrences = slice(int(self._term_starts[first]), int(self._term_starts[last]))
        return Part(
            row_ids=folder.row_ids[rows].tolist(),
            chunk_ids=folder.chunk_ids[rows],
            tabs=[folder.tabs[tab] for tab in folder.tab_of[rows]],
            unit_counts=self._unit_counts[rows].tolist(),
            term_counts=self._term_counts[rows].tolist(),
            term_ids=self._term_ids[occurrences],
            chunk_keys=folder.chunk_keys.by_row[rows],
            unit_keys=folder.unit_keys.by_row[units],
            chunk_vectors=folder.chunk_vectors[rows],
            unit_vectors=folder.unit_vectors[units],
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
    """Write everything but Chroma's part and the seal.

    `base` must be of the same embedder: its documents are copied, the others read from `store`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    carried = Base(base) if base else None
    vocabulary = {term: place for place, term in enumerate(carried.vocabulary if carried else ())}
    width = vectors.embedder.dimensions
    matrices = _Matrices(target, held, width)
    parts: list[Part] = []
    for revision in held:
        part = carried.part(revision.id) if carried else None
        if part is None:
            part = _fresh(store, revision, cards(revision), vocabulary, vectors)
        parts.append(matrices.take(part))
    matrices.flush()
    _save_rows(target, held, parts)
    _save_keys(target, parts)
    _save_terms(target, parts, vocabulary)


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
    texts = [chunk.index_text for _, chunk in content]
    unit_texts = [unit.index_text for _, chunk in content for unit in chunk.units]
    keys, found = vectors([*texts, *unit_texts])
    width = vectors.embedder.dimensions
    matrix = np.array([found[key] for key in keys], dtype=np.float32).reshape(len(keys), width)
    bags = [chunk_terms(chunk, card) for _, chunk in content]
    term_ids = [vocabulary.setdefault(term, len(vocabulary)) for bag in bags for term in bag]
    addresses = np.array([key.encode() for key in keys], dtype=KEY)
    return Part(
        row_ids=[row_id for row_id, _ in content],
        chunk_ids=[chunk.id for _, chunk in content],
        tabs=[chunk.tab for _, chunk in content],
        unit_counts=[len(chunk.units) for _, chunk in content],
        term_counts=[len(bag) for bag in bags],
        term_ids=np.array(term_ids, dtype=np.int32),
        chunk_keys=addresses[: len(texts)],
        unit_keys=addresses[len(texts) :],
        chunk_vectors=matrix[: len(texts)],
        unit_vectors=matrix[len(texts) :],
    )


class _Matrices:
    """Both matrices, written as the parts come: they can be larger than memory."""

    def __init__(self, target: Path, held: Sequence[Revision], width: int) -> None:
        self._chunks = _matrix(target / "chunk_vectors.npy", sum(r.chunks for r in held), width)
        self._units = _matrix(target / "unit_vectors.npy", sum(r.units for r in held), width)
        self._chunk = self._unit = 0

    def take(self, part: Part) -> Part:
        """Write the part's vectors and let go of them."""
        chunks, units = len(part.chunk_vectors), len(part.unit_vectors)
        self._chunks[self._chunk : self._chunk + chunks] = part.chunk_vectors
        self._units[self._unit : self._unit + units] = part.unit_vectors
        self._chunk += chunks
        self._unit += units
        nothing = part.chunk_vectors[:0]
        return replace(part, chunk_vectors=nothing, unit_vectors=nothing)

    def flush(self) -> None:
        for matrix in (self._chunks, self._units):
            if isinstance(matrix, np.memmap):
                matrix.flush()


def _matrix(path: Path, rows: int, width: int) -> Vectors:
    if rows:
        made: Vectors = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float32, shape=(rows, width)
        )
        return made
    empty: Vectors = np.zeros((0, width), dtype=np.float32)
    np.save(path, empty)
    return empty


def _save_rows(target: Path, held: Sequence[Revision], parts: Sequence[Part]) -> None:
    tabs = sorted({tab for part in parts for tab in part.tabs})
    number = {tab: place for place, tab in enumerate(tabs)}
    np.save(target / "revision_ids.npy", np.array([one.id for one in held], dtype=np.int64))
    np.save(target / "row_starts.npy", _starts([len(part.row_ids) for part in parts]))
    np.save(target / "unit_starts.npy", _starts(_each(part.unit_counts for part in parts)))
    np.save(target / "row_ids.npy", np.array(_each(p.row_ids for p in parts), dtype=np.int64))
    tab_of = [number[tab] for part in parts for tab in part.tabs]
    np.save(target / "tab_of.npy", np.array(tab_of, dtype=np.int32))
    _save_json(target / "tabs.json", tabs)
    _save_json(target / "chunk_ids.json", [one for part in parts for one in part.chunk_ids])


def _save_keys(target: Path, parts: Sequence[Part]) -> None:
    for kind in ("chunk", "unit"):
        each = [part.chunk_keys if kind == "chunk" else part.unit_keys for part in parts]
        keys = np.concatenate([np.zeros(0, dtype=KEY), *each])
        np.save(target / f"{kind}_keys.npy", keys)
        np.save(target / f"{kind}_key_order.npy", np.argsort(keys, kind="stable").astype(np.int64))


def _save_terms(target: Path, parts: Sequence[Part], vocabulary: Mapping[str, int]) -> None:
    """Drop the terms of documents that left, then write rows' terms and the BM25 columns."""
    counts = np.array(_each(part.term_counts for part in parts), dtype=np.int64)
    ids = np.concatenate([np.zeros(0, dtype=np.int32), *(part.term_ids for part in parts)])
    used = np.bincount(ids, minlength=len(vocabulary)) > 0
    renumbered = (np.cumsum(used) - 1).astype(np.int32)
    ids = renumbered[ids] if len(ids) else ids
    kept = [term for term, place in vocabulary.items() if used[place]]
    np.save(target / "term_ids.npy", ids)
    np.save(target / "term_starts.npy", _starts(counts))
    _save_json(target / "vocabulary.json", kept)
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    save_sparse(target / KEYWORDS, vocabulary=kept, term_ids=ids, rows=rows, size=len(counts))


def _starts(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64))]).astype(np.int64)


def _each(groups: Iterator[Sequence[int]]) -> list[int]:
    return [one for group in groups for one in group]


def _save_json(path: Path, content: Sequence[str]) -> None:
    path.write_text(json.dumps(content), "utf-8")
