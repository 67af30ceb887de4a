"""Questions as vectors: each through the model once, however many domains are searched for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from config.models import Embedder, Vectors
from index.recent import Recent

KEPT = 2_048
"""Questions and their variants; 1.5 kB each."""


class QuestionVectors:
    """Of one embedding model, for all generations that were made with it. Thread-safe."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._kept: Recent[str, Vectors] = Recent(KEPT)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimensions). Raises ModelUnavailable."""
        held = {text: self._kept.get(text) for text in texts}
        missing = [text for text, vector in held.items() if vector is None]
        if missing:
            for text, vector in zip(missing, self.embedder(missing), strict=True):
                held[text] = vector
                self._kept.put(text, vector)
        return np.array([held[text] for text in texts], dtype=np.float32)
