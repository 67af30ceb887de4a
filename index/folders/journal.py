"""Vectors already embedded for a generation that isn't published yet: a crash loses none."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.models import Vectors

KEY_BYTES = 32


class Journal:
    """An append-only file of (key, checksum, vector) records, read back whole when opened."""

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

    def append(self, found: Mapping[str, Vectors]) -> None:
        records = np.zeros(len(found), dtype=self._record)
        for place, (key, vector) in enumerate(found.items()):
            records[place] = (key.encode(), zlib.crc32(vector.tobytes()), vector)
        self._file.write(records.tobytes())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._vectors.update(found)

    def discard(self) -> None:
        """Forget everything: the vectors are published."""
        self._file.truncate(0)
        self._vectors.clear()

    def _read(self) -> dict[str, Vectors]:
        """Whole records; from the first torn one on the file is cut off."""
        if not self._path.is_file():
            return {}
        data = self._path.read_bytes()
        whole = len(data) // self._record.itemsize
        records: NDArray[np.void] = np.frombuffer(data, dtype=self._record, count=whole)
        found: dict[str, Vectors] = {}
        for record in records:
            if zlib.crc32(record["vector"].tobytes()) != record["crc"]:
                break
            found[record["key"].decode()] = record["vector"].copy()
        with self._path.open("r+b") as opened:
            opened.truncate(len(found) * self._record.itemsize)
        return found
