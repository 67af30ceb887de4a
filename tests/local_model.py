"""The local embedding model, loaded once in a process; a text is embedded once on a machine, until
the model or its code changes."""

from __future__ import annotations

import functools
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from unittest.mock import patch

import numpy as np

from config import minilm
from config.models import Vectors
from config.weights import bert_graph

Encoder = minilm._Encoder
"""The product's, for tests of the model itself."""


class RememberingEncoder:
    """Computes a text's vector once, for all processes and runs: it depends on no other text."""

    def __init__(self, weights: Path, file: Path) -> None:
        self._weights = weights
        self._model = _fingerprint()
        self._vectors: dict[bytes, Vectors] = {}
        self._lock = Lock()
        file.parent.mkdir(exist_ok=True)
        self._file = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self._file.executescript(
            "PRAGMA synchronous = OFF;"
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)"
        )

    @functools.cached_property
    def _encode(self) -> minilm._Encoder:
        return Encoder(self._weights)

    def __call__(self, ids: Sequence[Sequence[int]]) -> Vectors:
        keys = [
            hashlib.sha256(self._model + np.array(one, np.int32).tobytes()).digest() for one in ids
        ]
        with self._lock:
            self._read(keys)
            fresh = {
                key: one for key, one in zip(keys, ids, strict=True) if key not in self._vectors
            }
        if fresh:
            computed = dict(zip(fresh, self._encode(list(fresh.values())), strict=True))
            with self._lock, self._file:
                self._vectors |= computed
                self._file.executemany(
                    "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                    [(key, vector.tobytes()) for key, vector in computed.items()],
                )
        return np.stack([self._vectors[key] for key in keys])

    def _read(self, keys: Sequence[bytes]) -> None:
        for key in dict.fromkeys(keys):
            if key not in self._vectors:
                row = self._file.execute(
                    "SELECT vector FROM vectors WHERE key = ?", (key,)
                ).fetchone()
                if row:
                    self._vectors[key] = np.frombuffer(row[0], dtype=np.float32)


def _fingerprint() -> bytes:
    """Everything that a vector depends on but its text."""
    code = [Path(str(module.__file__)).read_bytes() for module in (minilm, bert_graph)]
    return hashlib.sha256(b"".join([version("onnxruntime").encode(), *code])).digest()


@contextmanager
def loaded_once(file: Path) -> Iterator[None]:
    """`file`: where processes and runs share what they embedded."""
    load_tokenizer = minilm.MiniLM._loaded_tokenizer.func
    tokenizer = functools.cache(lambda: load_tokenizer(minilm.MiniLM()))
    encoder = functools.cache(lambda weights: RememberingEncoder(weights, file))
    with (
        patch.object(minilm, "_Encoder", encoder),
        patch.object(minilm.MiniLM, "_loaded_tokenizer", property(lambda _: tokenizer())),
    ):
        yield
