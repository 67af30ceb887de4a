"""Prepares loaded documents for publishing, in any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial

from sqlalchemy import Engine

from config.domain import ChunkOptions
from config.models import ChatModel, Embedder, Usage
from enrichment.chunk import Chunk
from enrichment.llm.budget import Budget
from enrichment.llm.pictures import PendingPictureStore, Vision
from enrichment.llm.reply_cache import ReplyCache
from enrichment.pipeline import Enriched, prepare
from jobs.ingest.executors import Prepare, Way
from jobs.ingest.handoff_store import PreparationStore
from jobs.ingest.shared_queue import PreparationTask
from loaders.document import Document
from loaders.time_limit import outside_time_limit

RUNS = 64
"""Number of runs whose budgets are cached."""


class Preparation:
    """Uses the models and the database of this process. Thread-safe."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        embed_ahead: Callable[[str, Sequence[Chunk]], int],
        model: ChatModel | None,
        engine: Engine,
        budget: Callable[[str], Budget],
        vision_model: ChatModel | None = None,
        vision_budget: Callable[[str], Budget] | None = None,
    ) -> None:
        """`budget` returns a run's budget, shared by its workers in this process. Spending of
        `vision_budget` counts there too."""
        self._embedder = embedder
        self._embed_ahead = embed_ahead
        self._model = model
        self.budget = lru_cache(RUNS)(budget)
        self.store_of = cache(partial(PreparationStore, engine))
        self._vision_model = vision_model
        self._vision_budget = lru_cache(RUNS)(vision_budget or budget)
        self._replies = cache(lambda: ReplyCache(engine))
        self._shelf = cache(lambda: PendingPictureStore(engine))

    def ways(self, run: str, options: ChunkOptions) -> dict[Way, Prepare]:
        plainly = partial(
            prepare,
            count_tokens=self._embedder.count_tokens,
            options=options,
            embed=outside_time_limit(self._embedder),
        )
        if self._model is None and self._vision_model is None:
            return {"extractive": plainly}
        asking = partial(
            plainly,
            model=self._model,
            cache=self._replies(),
            budget=self.budget(run),
            vision=self.vision(run),
        )
        return {"extractive": plainly, "model": asking}

    def vision(self, run: str) -> Vision | None:
        """Describes pictures; None without a vision model."""
        if self._vision_model is None:
            return None
        return Vision(
            model=self._vision_model,
            budget=self._vision_budget(run),
            cache=self._replies(),
            pending=self._shelf(),
        )

    @contextmanager
    def release(self, run: str) -> Iterator[None]:
        """A context in which no work of this run waits for a model."""
        with self.budget(run).let_go(), self._vision_budget(run).let_go():
            yield

    def prepare(self, assignment: PreparationTask, document: Document) -> Enriched:
        return self.ways(assignment.run, assignment.options)[assignment.way](document)

    def embed(self, domain: str, chunks: Sequence[Chunk]) -> int:
        return self._embed_ahead(domain, chunks)

    def spent(self, run: str) -> Usage:
        return self.budget(run).usage if self._model or self._vision_model else Usage()
