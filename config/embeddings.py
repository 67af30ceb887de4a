"""Embedders: the local MiniLM or an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Lock, Semaphore
from typing import TYPE_CHECKING

import numpy as np

from config.errors import ConfigError, ModelUnavailable
from config.minilm import MiniLM
from config.models import Embedder, Vectors
from config.settings import Settings

if TYPE_CHECKING:
    from openai import OpenAI

LOCAL_NAMES = {MiniLM.name.lower(), f"sentence-transformers/{MiniLM.name}".lower()}
TIMEOUT_SECONDS = 60.0
RETRIES = 4
BATCH_TEXTS = 128
MAX_CHARACTERS = 16_000
"""OpenAI's models accept 8,191 tokens; dense text has about two characters per token."""


def embeds_here(settings: Settings) -> bool:
    """Whether vectors are computed in this process, not by a server."""
    return settings.embedding_model.lower() in LOCAL_NAMES


def build_embedder(settings: Settings) -> Embedder:
    """The configured embedder. It loads and requests nothing before its first use.

    Raises ConfigError when the model needs a server and none is set."""
    if embeds_here(settings):
        return MiniLM()
    if not (settings.openai_api_key or settings.openai_base_url):
        raise ConfigError(
            f"embedding model {settings.embedding_model!r} needs a server",
            remedy=f"set OPENAI_API_KEY or OPENAI_BASE_URL, or use the local {MiniLM.name}",
        )
    return RemoteEmbedder(settings)


class RemoteEmbedder:
    """Asks an OpenAI-compatible server.

    Every failure becomes ModelUnavailable, whose text never contains the key."""

    max_tokens = 8191
    language = ""

    def __init__(self, settings: Settings, *, retries: int = RETRIES) -> None:
        self.name = settings.embedding_model
        self._key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
        self._base_url = settings.openai_base_url
        self._retries = retries
        self._at_once = settings.embeddings_at_once
        self._slots = Semaphore(self._at_once)
        self._measuring = Lock()

    @property
    def dimensions(self) -> int:
        """Measured once, by embedding a word."""
        with self._measuring:
            return self._dimensions

    @cached_property
    def _dimensions(self) -> int:
        return int(self(["dimensions"]).shape[1])

    def count_tokens(self, text: str) -> int:
        """An estimate of 4 bytes per token: the server's tokenizer is unknown."""
        return -(-len(text.encode("utf-8", "replace")) // 4)

    def knows(self, word: str) -> bool:
        """Always True: the server's vocabulary is unknown."""
        return True

    def __call__(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        parts = [texts[at : at + BATCH_TEXTS] for at in range(0, len(texts), BATCH_TEXTS)]
        if len(parts) == 1:
            return self._embed(parts[0])
        with ThreadPoolExecutor(min(self._at_once, len(parts)), "embeddings") as pool:
            return np.vstack(list(pool.map(self._embed, parts)))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        from openai import APIError

        # Servers reject an empty text; send a space instead.
        inputs = [text[:MAX_CHARACTERS] if text.strip() else " " for text in texts]
        try:
            with self._slots:
                reply = self._client.embeddings.create(
                    model=self.name, input=inputs, encoding_format="float"
                )
            vectors = np.array([item.embedding for item in reply.data], dtype=np.float32)
        except APIError as error:
            # A server may echo the key: the error names kind or status, and drops such a cause.
            status = getattr(error, "status_code", None)
            failure = self._unavailable(f"HTTP {status}" if status else type(error).__name__)
            raise failure from (None if self._key and self._key in repr(error) else error)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._unavailable("malformed reply") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise self._unavailable(f"reply of shape {vectors.shape} for {len(texts)} texts")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)

    def _unavailable(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"embedding model {self.name!r} did not answer: {reason}",
            remedy="check OPENAI_API_KEY, OPENAI_BASE_URL and ONCALL_EMBEDDING_MODEL",
        )

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        return OpenAI(
            api_key=self._key or "none",
            base_url=self._base_url,
            timeout=TIMEOUT_SECONDS,
            max_retries=self._retries,
        )
