"""Cuts the files of a generation's folder into parts that are named by their content.

Consecutive generations share most parts. A file of wide rows (vectors, keys) is cut after rows that
a hash of their bytes chooses, so an inserted row changes one part and not all that follow. Other
files are cut at fixed sizes. Source: Muthitacharoen et al., "A Low-Bandwidth Network File System",
SOSP 2001."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from index.generations.folder import FORMAT, MANIFEST, read_manifest
from index.memory_map import mapped

LIST_NAME = "parts.json"
"""Stands in a folder beside its manifest, which doesn't list it."""
LEAST_BYTES, MEAN_BYTES, MOST_BYTES = 128 * 1024, 512 * 1024, 2 * 1024 * 1024
WIDE_ROW = 16
"""Bytes. Narrower rows repeat too often to choose boundaries by them."""
HASHED_ROWS = 65_536
HASHERS = 2


@dataclass(frozen=True)
class Part:
    digest: str
    """SHA-256 of its bytes, 64 hexadecimal digits."""
    size: int


@dataclass(frozen=True)
class Place:
    """Where a part stands in a folder."""

    path: Path
    offset: int
    part: Part

    def read(self) -> bytes | None:
        """The part's bytes; None when the file holds others or can't be read."""
        try:
            with self.path.open("rb", buffering=0) as opened:
                data = os.pread(opened.fileno(), self.part.size, self.offset)
        except OSError:
            return None
        return data if digest_of(data) == self.part.digest else None


@dataclass(frozen=True)
class PartList:
    """The parts of each file of a folder, its manifest included."""

    files: dict[str, tuple[Part, ...]]
    """Relative path → parts in order."""
    format: int = FORMAT

    @cached_property
    def content(self) -> bytes:
        files = {
            name: [[part.digest, part.size] for part in parts]
            for name, parts in sorted(self.files.items())
        }
        return json.dumps({"format": self.format, "files": files}).encode()

    @classmethod
    def parse(cls, content: bytes) -> PartList:
        """Raises ValueError, KeyError or TypeError for something else."""
        stored = json.loads(content)
        files = {
            name: tuple(Part(*one) for one in parts) for name, parts in stored["files"].items()
        }
        return cls(files, stored["format"])

    def places(self, folder: Path) -> Iterator[Place]:
        for name, parts in self.files.items():
            offset = 0
            for part in parts:
                yield Place(folder / name, offset, part)
                offset += part.size

    def sizes(self) -> dict[str, int]:
        """Digest of each distinct part → bytes."""
        return {part.digest: part.size for parts in self.files.values() for part in parts}


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def parts_of(folder: Path) -> PartList:
    """The list that stands in a sealed folder; made and written there if there is none.

    Raises Damaged, OSError."""
    try:
        return PartList.parse((folder / LIST_NAME).read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        names = sorted({*read_manifest(folder).files, MANIFEST})
        with ThreadPoolExecutor(HASHERS, thread_name_prefix="hashing") as pool:
            cut = {name: partial(_part, folder / name) for name in names}
            made = PartList(
                {name: tuple(pool.map(part, _cuts(folder / name))) for name, part in cut.items()}
            )
        (folder / LIST_NAME).write_bytes(made.content)
        return made


def places_in(folders: Sequence[Path]) -> dict[str, list[Place]]:
    """Digest → its places in these folders. Whoever reads it verifies it: a folder may be
    damaged or only partly fetched."""
    held: dict[str, list[Place]] = {}
    for folder in folders:
        try:
            listed = PartList.parse((folder / LIST_NAME).read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for place in listed.places(folder):
            held.setdefault(place.part.digest, []).append(place)
    return held


def _part(file: Path, span: tuple[int, int]) -> Part:
    start, end = span
    with file.open("rb", buffering=0) as opened:
        return Part(digest_of(os.pread(opened.fileno(), end - start, start)), end - start)


def _cuts(file: Path) -> Iterator[tuple[int, int]]:
    """[start, end) of each part of a file."""
    size, start = file.stat().st_size, 0
    for end in _chosen(file) if file.suffix == ".npy" and size > MOST_BYTES else ():
        if end - start < LEAST_BYTES:
            continue
        while end - start > MOST_BYTES:
            yield start, start + MOST_BYTES
            start += MOST_BYTES
        if end > start:
            yield start, end
            start = end
    while start < size:
        yield start, min(size, start + MOST_BYTES)
        start = min(size, start + MOST_BYTES)


def _chosen(file: Path) -> Iterator[int]:
    """Ends of the rows that the hash chooses, ascending; none in a file of narrow rows."""
    array = mapped(file)
    rows = array.reshape(len(array), -1)
    width = rows.itemsize * rows.shape[1]
    if width < WIDE_ROW:
        return
    header = file.stat().st_size - array.nbytes
    one_in = np.uint64(2**64 // max(1, MEAN_BYTES // width))
    words = width // 8
    factors = np.random.default_rng(0).integers(2**63, size=words, dtype=np.uint64) | np.uint64(1)
    for first in range(0, len(rows), HASHED_ROWS):
        bytes_of = np.ascontiguousarray(rows[first : first + HASHED_ROWS]).view(np.uint8)
        hashes = _hashes(bytes_of.reshape(-1, width)[:, : words * 8], factors)
        for row in np.flatnonzero(hashes < one_in).tolist():
            yield header + (first + row + 1) * width


def _hashes(rows: NDArray[np.uint8], factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Multiply-add of the rows' words modulo 2^64, mixed so that its high bits depend on all."""
    mixed: NDArray[np.uint64] = np.ascontiguousarray(rows).view("<u8") @ factors
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))
