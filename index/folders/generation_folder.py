"""A generation on disk: arrays to be memory-mapped, sealed by checksums, never changed.

A folder is derived from the database; a damaged or missing one is built again (`build.py`).

manifest.json      what it was made of, and size and CRC-32 of every file below
keywords/          BM25 columns as bm25s saves them
chroma/            Chroma's own files (embedded only), their sizes in chroma.json
*.npy, *.json      rows in one order everywhere: documents by id, chunks in reading order"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors
from index.keywords.bm25 import KeywordEngine, Keywords, RankBm25, SparseBm25

FORMAT = 2
"""To be raised when a folder's files, or the terms in them, come out differently: what is of
another format is built again from the database when it is next opened."""
MANIFEST = "manifest.json"
CHROMA = "chroma"
CHROMA_SIZES = "chroma.json"
DATABASE = "chroma.sqlite3"
KEYWORDS = "keywords"


class Damaged(Exception):
    """A folder is missing, incomplete or not what the database says. Handled by a rebuild."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    digest: str
    """Of the revisions inside, see `index/store/generation_info.digest_of`."""
    embedder: str
    dimensions: int
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Relative path → bytes, CRC-32."""


class Keys:
    """Content addresses of a matrix's rows; equal texts share one."""

    def __init__(self, keys: NDArray[np.bytes_], order: NDArray[np.int64]) -> None:
        self.by_row = keys
        self._order = order

    @cached_property
    def _sorted(self) -> NDArray[np.bytes_]:
        return self.by_row[self._order]

    def rows(self, wanted: Sequence[str]) -> list[NDArray[np.int64]]:
        """Rows of each key, in order; empty for an unknown one."""
        asked = np.array([key.encode() for key in wanted], dtype=self._sorted.dtype)
        starts = np.searchsorted(self._sorted, asked, side="left")
        ends = np.searchsorted(self._sorted, asked, side="right")
        return [self._order[start:end] for start, end in zip(starts, ends, strict=True)]


class Folder:
    """A generation's folder, verified and memory-mapped. Raises Damaged."""

    def __init__(self, path: Path, digest: str, *, keyword_engine: KeywordEngine = "bm25s") -> None:
        self.path = path
        self._keyword_engine = keyword_engine
        self.manifest = read_manifest(path)
        if self.manifest.digest != digest:
            raise Damaged(f"{path} was made of other documents")
        _verify(path, self.manifest)
        self.revision_ids: list[int] = self._array("revision_ids").tolist()
        self.row_starts: list[int] = self._array("row_starts").tolist()
        """Document i's chunks are rows row_starts[i] … row_starts[i + 1]."""
        self.unit_starts = self._array("unit_starts")
        """Chunk row r's units are unit rows unit_starts[r] … unit_starts[r + 1]."""
        self.row_ids = self._array("row_ids")
        """Chunk row → id in the database."""
        self.chunk_vectors: Vectors = self._array("chunk_vectors")
        self.unit_vectors: Vectors = self._array("unit_vectors")

    @cached_property
    def keywords(self) -> Keywords:
        if self._keyword_engine == "bm25s":
            return SparseBm25(self.path / KEYWORDS)
        vocabulary, term_ids, starts = self.terms
        words = [vocabulary[term] for term in term_ids]
        return RankBm25([words[start:end] for start, end in pairwise(starts)])

    @cached_property
    def chunk_ids(self) -> list[str]:
        ids: list[str] = self.text("chunk_ids")
        return ids

    @cached_property
    def chunk_keys(self) -> Keys:
        return Keys(self._array("chunk_keys"), self._array("chunk_key_order"))

    @cached_property
    def unit_keys(self) -> Keys:
        return Keys(self._array("unit_keys"), self._array("unit_key_order"))

    @cached_property
    def terms(self) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
        """(vocabulary, term ids of all rows, where each row's terms start)."""
        return self.text("vocabulary"), self._array("term_ids"), self._array("term_starts")

    def lookup(self, keys: Sequence[str]) -> dict[str, Vectors]:
        """Vectors by content address; unknown keys are left out."""
        found: dict[str, Vectors] = {}
        for held, matrix in (
            (self.chunk_keys, self.chunk_vectors),
            (self.unit_keys, self.unit_vectors),
        ):
            for key, rows in zip(keys, held.rows(keys), strict=True):
                if len(rows):
                    found[key] = matrix[rows[0]]
        return found

    def text(self, name: str) -> Any:
        return json.loads((self.path / f"{name}.json").read_text("utf-8"))

    def _array(self, name: str) -> NDArray[Any]:
        path = self.path / f"{name}.npy"
        try:
            mapped = np.load(path, mmap_mode="r")
        except ValueError:  # an empty array can't be mapped
            mapped = np.load(path)
        # A plain view of the same memory: numpy's memmap class makes every slice slow.
        return np.asarray(mapped)


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
    """Write the manifest over all files but Chroma's, and see everything onto the disk."""
    files = {}
    for file in sorted(path.rglob("*")):
        _sync(file)
        if file.is_file() and file.relative_to(path).parts[0] != CHROMA:
            files[str(file.relative_to(path))] = (file.stat().st_size, checksum(file))
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


def seal_chroma(path: Path) -> None:
    """Note the sizes of Chroma's graph files; its database changes whenever it is opened."""
    sizes = {}
    for file in sorted((path / CHROMA).rglob("*")):
        _sync(file)
        if file.suffix in {".bin", ".pickle"}:
            sizes[str(file.relative_to(path))] = file.stat().st_size
    (path / CHROMA_SIZES).write_text(json.dumps(sizes), "utf-8")
    _sync(path / CHROMA_SIZES)
    _sync(path)


def verify_chroma(path: Path) -> None:
    """Raise Damaged unless Chroma's files are there and as long as they were."""
    try:
        sizes = json.loads((path / CHROMA_SIZES).read_text("utf-8"))
        found = {name: (path / name).stat().st_size for name in sizes}
    except (OSError, ValueError) as error:
        raise Damaged(f"{path / CHROMA} is incomplete") from error
    if found != sizes or not (path / CHROMA / DATABASE).is_file():
        raise Damaged(f"{path / CHROMA} is damaged")


def put_in_place(built: Path, final: Path) -> None:
    """Rename a sealed folder to where readers look; whatever stood there is removed.

    Processes that still have the old files mapped keep reading them undisturbed."""
    if final.exists():
        old = final.with_name(f".old-{final.name}-{os.getpid()}-{built.name}")
        final.rename(old)
        built.rename(final)
        shutil.rmtree(old, ignore_errors=True)
    else:
        built.rename(final)
    _sync(final.parent)


def checksum(file: Path) -> int:
    with file.open("rb") as opened:
        if not file.stat().st_size:
            return 0
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return zlib.crc32(mapped)


def _verify(path: Path, manifest: Manifest) -> None:
    for name, (size, crc) in manifest.files.items():
        file = path / name
        try:
            intact = file.stat().st_size == size and checksum(file) == crc
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
