"""How a loaded document becomes what is published, in whichever process does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial

from sqlalchemy import Engine

from config.domain import ChunkOptions
from config.models import ChatModel, Embedder, Usage
from enrichment.chunk import Chunk
from enrichment.enrich import Enriched
from enrichment.pipeline import prepare
from enrichment.with_model.budget import Budget
from enrichment.with_model.reply_cache import ReplyCache
from jobs.preparing.handed_over import HandedOver
from jobs.preparing.workers import Assignment
from jobs.preparing.workshop import Prepare, Way
from loaders.document import Document
from loaders.time_limit import uncounted

RUNS = 64
"""Whose budgets are remembered."""


class Preparation:
    """With the models and the database of this process. Thread-safe."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        embed_ahead: Callable[[str, Sequence[Chunk]], int],
        model: ChatModel | None,
        engine: Engine,
        budget: Callable[[str], Budget],
    ) -> None:
        """`budget` of a run; all who work on it in this process have the same one."""
        self._embedder = embedder
        self._embed_ahead = embed_ahead
        self._model = model
        self.budget = lru_cache(RUNS)(budget)
        self.handed_over = cache(partial(HandedOver, engine))
        self._replies = cache(lambda: ReplyCache(engine))

    def ways(self, run: str, options: ChunkOptions) -> dict[Way, Prepare]:
        plainly = partial(
            prepare,
            count_tokens=self._embedder.count_tokens,
            options=options,
            embed=uncounted(self._embedder),
        )
        if self._model is None:
            return {"extractive": plainly}
        asking = partial(plainly, model=self._model, cache=self._replies(), budget=self.budget(run))
        return {"extractive": plainly, "model": asking}

    def prepare(self, assignment: Assignment, document: Document) -> Enriched:
        return self.ways(assignment.run, assignment.options)[assignment.way](document)

    def embed(self, domain: str, chunks: Sequence[Chunk]) -> int:
        return self._embed_ahead(domain, chunks)

    def spent(self, run: str) -> Usage:
        return self.budget(run).usage if self._model else Usage()
