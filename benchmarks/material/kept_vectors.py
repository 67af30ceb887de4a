"""An embedder that remembers on disk what it has embedded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from config.models import Vectors

_BATCH = 1_024


class KeptVectors:
    """Vectors by the hash of their text, in one file."""

    def __init__(self, embed: Callable[[Sequence[str]], Vectors], path: Path) -> None:
        self._embed, self._path = embed, path
        self._known: dict[str, Vectors] = {}
        self._unsaved = 0
        if path.is_file():
            with np.load(path) as stored:
                self._known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}
        for start in range(0, len(missing), _BATCH):
            batch = list(missing.items())[start : start + _BATCH]
            vectors = self._embed([text for _, text in batch])
            self._known.update(zip((key for key, _ in batch), vectors, strict=True))
            self._unsaved += len(batch)
            if self._unsaved >= _BATCH:
                self.save()
        return np.stack([self._known[key] for key in keys])

    def save(self) -> None:
        if not self._unsaved:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        vectors = np.stack(list(self._known.values()))
        np.savez(self._path, keys=np.array(list(self._known)), vectors=vectors)
        self._unsaved = 0
