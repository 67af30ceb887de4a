"""The local embedding model, loaded once in a process; a text that it has read costs no more."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from config import minilm
from config.models import Vectors

Encoder = minilm._Encoder
"""The product's, for tests of the model itself."""


class RememberingEncoder:
    """A text's vector is the same whatever is embedded with it, so it is computed once."""

    def __init__(self, weights: Path) -> None:
        self._encode = Encoder(weights)
        self._vectors: dict[tuple[int, ...], Vectors] = {}

    def __call__(self, ids: Sequence[Sequence[int]]) -> Vectors:
        texts = [tuple(one) for one in ids]
        fresh = [one for one in texts if one not in self._vectors]
        if fresh:
            self._vectors.update(zip(fresh, self._encode(fresh), strict=True))
        return np.stack([self._vectors[one] for one in texts])


@contextmanager
def loaded_once() -> Iterator[None]:
    load_tokenizer = minilm.MiniLM._loaded_tokenizer.func
    tokenizer = functools.cache(lambda: load_tokenizer(minilm.MiniLM()))
    with (
        patch.object(minilm, "_Encoder", functools.cache(RememberingEncoder)),
        patch.object(minilm.MiniLM, "_loaded_tokenizer", property(lambda _: tokenizer())),
    ):
        yield
