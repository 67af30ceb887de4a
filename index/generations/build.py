"""Builds a generation's folder from database revisions and reuses the base's rows.

A journal stores the vectors of an unpublished generation, so a crash loses none."""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.models import Embedder, Vectors
from enrichment.chunk import Chunk, DocumentCard
from enrichment.names import names_of
from index.generations.arrays import FolderArrays, FreshDocument
from index.generations.folder import Folder
from index.keywords.bm25 import chunk_terms
from index.store.documents import Revision, Store

Lookup = Callable[[Sequence[str]], Mapping[str, Vectors]]


def key_of(embedder: str, text: str) -> str:
    """Content address of a text's vector: 32 hexadecimal digits."""
    content = f"{embedder}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]


def embedded_texts(chunks: Sequence[Chunk]) -> list[str]:
    """The texts to embed: of each chunk, then of each unit, in order."""
    units = (unit.index_text for chunk in chunks for unit in chunk.units)
    return [*(chunk.index_text for chunk in chunks), *units]


class VectorSource:
    """Vectors of texts: existing ones are looked up, the others embedded."""

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
        by_key: dict[str, Vectors] = {}
        for lookup in self._lookups:
            if missing:
                by_key.update(lookup(list(missing)))
                missing = {key: text for key, text in missing.items() if key not in by_key}
        if missing:
            fresh = self.embedder(list(missing.values()))
            by_key_new = dict(zip(missing, fresh, strict=True))
            self.embedded += len(by_key_new)
            self._on_embedded(by_key_new)
            by_key.update(by_key_new)
        return keys, by_key


def build_folder(
    target: Path,
    revisions: Sequence[Revision],
    *,
    base: Folder | None,
    store: Store,
    cards: Callable[[Revision], DocumentCard],
    vectors: VectorSource,
) -> None:
    """Writes everything but the manifest.

    `base` must have the same embedder. Its documents are copied, the others read from `store`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    place_of = {revision: place for place, revision in enumerate(base.revision_ids if base else ())}
    with FolderArrays(target, revisions, vectors.embedder.dimensions, base) as arrays:
        for revision in revisions:
            place = place_of.get(revision.id)
            if base is None or place is None:
                arrays.add(_fresh(store, revision, cards(revision), vectors))
            else:
                arrays.carry(base, place)
        arrays.save()


def _fresh(
    store: Store, revision: Revision, card: DocumentCard, vectors: VectorSource
) -> FreshDocument:
    content = store.content(revision.id)
    keys, by_key = vectors(embedded_texts([chunk for _, chunk in content]))
    matrix = np.array([by_key[key] for key in keys], dtype=np.float32)
    return FreshDocument(
        row_ids=[row_id for row_id, _ in content],
        chunk_ids=[chunk.id for _, chunk in content],
        unit_counts=[len(chunk.units) for _, chunk in content],
        keys=keys,
        vectors=matrix.reshape(len(keys), vectors.embedder.dimensions),
        terms=[chunk_terms(chunk, card) for _, chunk in content],
        names=[names_of(chunk, card) for _, chunk in content],
    )


KEY_BYTES = 32


class Journal:
    """An append-only file of (key, checksum, vector) records, read completely when opened."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._record = np.dtype(
            [("key", f"S{KEY_BYTES}"), ("crc", "<u4"), ("vector", "<f4", (dimensions,))]
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        self._vectors = self._read()
        self._file = path.open("ab")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._file.close()

    def lookup(self, keys: Sequence[str]) -> dict[str, Vectors]:
        return {key: self._vectors[key] for key in keys if key in self._vectors}

    @property
    def vectors(self) -> Mapping[str, Vectors]:
        return self._vectors

    def append(self, vectors: Mapping[str, Vectors]) -> None:
        records = np.zeros(len(vectors), dtype=self._record)
        for place, (key, vector) in enumerate(vectors.items()):
            records[place] = (key.encode(), zlib.crc32(vector.tobytes()), vector)
        self._file.write(records.tobytes())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._vectors.update(vectors)

    def discard(self) -> None:
        """Deletes all records: the vectors are published."""
        self._file.truncate(0)
        self._vectors.clear()

    def _read(self) -> dict[str, Vectors]:
        """Reads the valid records and truncates the file at the first torn one."""
        if not self._path.is_file():
            return {}
        data = self._path.read_bytes()
        whole = len(data) // self._record.itemsize
        records: NDArray[np.void] = np.frombuffer(data, dtype=self._record, count=whole)
        vectors: dict[str, Vectors] = {}
        for record in records:
            if zlib.crc32(record["vector"].tobytes()) != record["crc"]:
                break
            vectors[record["key"].decode()] = record["vector"].copy()
        with self._path.open("r+b") as opened:
            opened.truncate(len(vectors) * self._record.itemsize)
        return vectors
