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
from enrichment.with_model.described_pictures import PictureReport, Vision, with_descriptions
from enrichment.with_model.reply_cache import ReplyCache
from enrichment.with_model.verified_tables import TableReport, with_verified_tables
from loaders.document import Document

VERSION = 5
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
    vision: Vision | None = None,
) -> Enriched:
    """Never raises for a model's sake. `budget` is shared by all documents of a run; `vision`
    describes pictures, and has one of its own."""
    tables = TableReport(tables=sum(block.table is not None for block in document.blocks))
    budget = budget or Budget()
    pictures = PictureReport()
    if vision is not None:
        document, pictures = with_descriptions(document, vision)
    document, withheld = without_planted(document)
    if model is not None and cache is not None:
        document, tables = with_verified_tables(document, model=model, cache=cache, budget=budget)
    chunks = split(document, count_tokens=count_tokens, options=options, embed=embed)
    enriched = enrich(document, chunks, model=model, cache=cache, budget=budget)
    if vision is not None and model is None:
        enriched = replace(enriched, card=replace(enriched.card, enriched_by=vision.model.name))
    enriched = replace(
        enriched,
        tables=tables,
        pictures=pictures,
        calls=enriched.calls + pictures.asked,
        cached=enriched.cached + pictures.known,
        card=replace(enriched.card, withheld=withheld),
    )
    failures = (*(tables.reasons if tables.failed else ()), *pictures.reasons)
    if not failures:
        return enriched
    return replace(
        enriched,
        failures=(*enriched.failures, *failures),
        card=replace(enriched.card, enriched_by="extractive"),
    )
