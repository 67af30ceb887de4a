"""A generation on disk: memory-mapped arrays, sealed by checksums, never changed.

A folder is derived from the database; a damaged or missing one is rebuilt (`build.py`).

manifest.json      its source, and size and checksums of every file below
keywords/          BM25 columns in the format of bm25s, and the place of each term's column
names/             which chunks name what, see `index/keywords/columns.py`
*_sketch/          sketch of a large matrix, see `index/vectors/sketch.py`
*.npy, *.json      rows in one order everywhere: documents by id, chunks in reading order

All files are mapped when the folder is opened, so they stay readable after its removal."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors
from index.keywords.bm25 import KeywordEngine, Keywords, RankBm25, SparseBm25
from index.keywords.columns import Columns, Names
from index.memory_map import mapped
from index.vectors.quantized import Quantized
from index.vectors.sketch import Sketch, open_sketch

FORMAT = 7
"""Raise it when the files of a folder, or the terms or names in them, change. A folder of another
format is rebuilt from the database when it is next opened."""
MANIFEST = "manifest.json"
BLOCK = 4 * 1024 * 1024
"""Bytes per checksum. The intact blocks of a damaged file are still usable (`recovery.py`)."""
KEYWORDS, NAMES = "keywords", "names"
PLAIN_FACTOR = 8
"""Memory of the plain keyword engine, as a multiple of the keyword files' size."""
VECTOR_PARTS = ("leading", "trailing", "scales")


class Damaged(Exception):
    """A folder is missing, incomplete or not what the database says. Handled by a rebuild."""


@dataclass(frozen=True)
class Manifest:
    digest: str
    """Digest of its revisions, see `index.store.documents.digest_of`."""
    embedder: str
    dimensions: int
    files: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Relative path → bytes, then the CRC-32 of each block."""


class Keys:
    """Keys of a matrix's rows: content addresses (equal texts share one) or chunk ids."""

    def __init__(self, keys: NDArray[np.bytes_], order: NDArray[np.int64]) -> None:
        self.by_row = keys
        self._order = order

    def rows(self, keys: Sequence[str]) -> list[NDArray[np.int64]]:
        """Rows of each key, in order; empty for an unknown one."""
        longest = self.by_row.dtype.itemsize
        # A truncated longer key could match another key.
        encoded = [key.encode("utf-8", "surrogatepass") for key in keys]
        positions = np.array(
            [key if len(key) <= longest else b"" for key in encoded], dtype=self.by_row.dtype
        )
        starts = np.searchsorted(self.by_row, positions, side="left", sorter=self._order)
        ends = np.searchsorted(self.by_row, positions, side="right", sorter=self._order)
        return [self._order[start:end] for start, end in zip(starts, ends, strict=True)]


class Folder:
    """A generation's folder, verified and memory-mapped. Raises Damaged."""

    def __init__(
        self,
        path: Path,
        digest: str,
        *,
        keyword_engine: KeywordEngine = "bm25s",
        verified: bool = False,
    ) -> None:
        """`verified`: this process has already verified the checksums."""
        self.path = path
        self.manifest = read_manifest(path)
        if self.manifest.digest != digest:
            raise Damaged(f"{path} was made of other documents")
        if not verified:
            _verify(path, self.manifest)
        try:
            self._map(keyword_engine)
        except (OSError, ValueError) as error:  # the folder is just being removed
            raise Damaged(f"{path} can't be read: {error}") from error

    def _map(self, keyword_engine: KeywordEngine) -> None:
        self.revision_ids: list[int] = self._array("revision_ids").tolist()
        self.row_starts: list[int] = self._array("row_starts").tolist()
        """Document i's chunks are rows row_starts[i] … row_starts[i + 1]."""
        self.unit_starts = self._array("unit_starts")
        """Chunk row r's units are unit rows unit_starts[r] … unit_starts[r + 1]."""
        self.row_ids = self._array("row_ids")
        """Chunk row → id in the database."""
        self.chunk_ids = Keys(self._array("chunk_ids"), self._array("chunk_id_order"))
        self.chunk_vectors, self.unit_vectors = self._vectors("chunk"), self._vectors("unit")
        self.chunk_sketch, self.unit_sketch = self._sketch("chunk"), self._sketch("unit")
        self.chunk_keys = Keys(self._array("chunk_keys"), self._array("chunk_key_order"))
        self.unit_keys = Keys(self._array("unit_keys"), self._array("unit_key_order"))
        self._sparse = SparseBm25(self.path / KEYWORDS)
        self.names = Names(self.path / NAMES)
        self._plain = keyword_engine == "rank_bm25"

    @cached_property
    def keywords(self) -> Keywords:
        if not self._plain:
            return self._sparse
        return RankBm25(self._sparse.bags())

    @property
    def columns(self) -> Columns:
        """The term counts that the keyword scores are computed from."""
        return self._sparse.columns

    @property
    def vector_bytes(self) -> int:
        """Size of the mapped files that a search of vectors reads. They take this much memory,
        shared by all processes of a machine."""
        return self._size_of("_leading.npy", "_scales.npy", "_sketch/")

    @property
    def keyword_bytes(self) -> int:
        """The same for keywords, or what the plain engine takes in each process."""
        return self._size_of(f"{KEYWORDS}/") * (PLAIN_FACTOR if self._plain else 1)

    def _size_of(self, *parts: str) -> int:
        files = self.manifest.files.items()
        return sum(size for name, (size, *_) in files if any(part in name for part in parts))

    def lookup(self, keys: Sequence[str]) -> dict[str, Vectors]:
        """Vectors by content address; unknown keys are left out."""
        vectors: dict[str, Vectors] = {}
        for keys_of_kind, matrix in (
            (self.chunk_keys, self.chunk_vectors),
            (self.unit_keys, self.unit_vectors),
        ):
            for key, rows in zip(keys, keys_of_kind.rows(keys), strict=True):
                if len(rows):
                    vectors[key] = matrix.row(int(rows[0]))
        return vectors

    def _vectors(self, kind: str) -> Quantized:
        return Quantized(*(self._array(f"{kind}_{part}") for part in VECTOR_PARTS))

    def _sketch(self, kind: str) -> Sketch | None:
        folder = self.path / f"{kind}_sketch"
        return open_sketch(folder) if folder.is_dir() else None

    def _array(self, name: str) -> NDArray[Any]:
        return mapped(self.path / f"{name}.npy")


def read_manifest(path: Path) -> Manifest:
    try:
        stored = json.loads((path / MANIFEST).read_text("utf-8"))
        if stored.pop("format") != FORMAT:
            raise Damaged(f"{path} is of another format")
        stored["files"] = {name: tuple(seal) for name, seal in stored["files"].items()}
        return Manifest(**stored)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{path} has no readable manifest") from error


def seal(path: Path, manifest: Manifest) -> None:
    """Writes the manifest with all checksums and syncs every file to disk."""
    files = {}
    for file in sorted(path.rglob("*")):
        _sync(file)
        if file.is_file():
            files[str(file.relative_to(path))] = (file.stat().st_size, *checksums(file))
    content = {
        "format": FORMAT,
        "digest": manifest.digest,
        "embedder": manifest.embedder,
        "dimensions": manifest.dimensions,
        "files": files,
    }
    (path / MANIFEST).write_text(json.dumps(content), "utf-8")
    _sync(path / MANIFEST)
    _sync(path)


def put_in_place(built: Path, final: Path) -> None:
    """Renames a sealed folder to its final path and removes a folder that was there before.

    Processes that have the old files mapped can still read them."""
    if final.exists():
        old = final.with_name(f".old-{final.name}-{os.getpid()}-{built.name}")
        final.rename(old)
        built.rename(final)
        shutil.rmtree(old, ignore_errors=True)
    else:
        built.rename(final)
    _sync(final.parent)


def checksums(file: Path, block: int | None = None) -> list[int]:
    """CRC-32 of each `block` bytes of a file, BLOCK by default."""
    with file.open("rb") as opened:
        return [zlib.crc32(part) for part in iter(lambda: opened.read(block or BLOCK), b"")]


def _verify(path: Path, manifest: Manifest) -> None:
    for name, (size, *sealed) in manifest.files.items():
        file = path / name
        try:
            intact = file.stat().st_size == size and checksums(file) == sealed
        except OSError as error:
            raise Damaged(f"{file} is missing") from error
        if not intact:
            raise Damaged(f"{file} is damaged")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
