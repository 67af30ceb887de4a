"""A loaded document to what is published: nothing planted, tables checked, split, enriched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from config.domain import ChunkOptions
from config.models import ChatModel, Vectors
from enrichment.chunking.chunker import split
from enrichment.chunking.pieces import CountTokens
from enrichment.enrich import Enriched, enrich
from enrichment.trust.withholding import without_planted
from enrichment.with_model.budget import Budget
from enrichment.with_model.reply_cache import ReplyCache
from enrichment.with_model.verified_tables import TableReport, with_verified_tables
from loaders.document import Document

VERSION = 4
"""To be raised when the same document comes out differently: every document is then done again."""


def prepare(
    document: Document,
    *,
    count_tokens: CountTokens,
    options: ChunkOptions = ChunkOptions(),
    embed: Callable[[Sequence[str]], Vectors] | None = None,
    model: ChatModel | None = None,
    cache: ReplyCache | None = None,
    budget: Budget | None = None,
) -> Enriched:
    """Never raises for a model's sake. `budget` is shared by all documents of a run."""
    tables = TableReport(tables=sum(block.table is not None for block in document.blocks))
    budget = budget or Budget()
    document, withheld = without_planted(document)
    if model is not None and cache is not None:
        document, tables = with_verified_tables(document, model=model, cache=cache, budget=budget)
    chunks = split(document, count_tokens=count_tokens, options=options, embed=embed)
    enriched = enrich(document, chunks, model=model, cache=cache, budget=budget)
    enriched = replace(enriched, tables=tables, card=replace(enriched.card, withheld=withheld))
    if not tables.failed:
        return enriched
    return replace(
        enriched,
        failures=(*enriched.failures, *tables.reasons),
        card=replace(enriched.card, enriched_by="extractive"),
    )
