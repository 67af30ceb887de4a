"""Prepares a loaded document for publishing: describes pictures, withholds planted text, verifies
tables, splits and enriches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from config.domain import ChunkOptions
from config.models import ChatModel, Vectors
from enrichment.chunk import Chunk, DocumentCard
from enrichment.chunking.chunker import split
from enrichment.chunking.pieces import CountTokens
from enrichment.extractive.cards import extractive_card, extractive_chunks
from enrichment.llm.budget import Budget
from enrichment.llm.cards import DocumentModel, enrich_card, enrich_passages
from enrichment.llm.pictures import PictureReport, Vision, with_descriptions
from enrichment.llm.reply_cache import ReplyCache
from enrichment.llm.tables import TableReport, with_verified_tables
from enrichment.safety.withholding import without_planted
from loaders.document import Document


@dataclass(frozen=True, kw_only=True)
class Enriched:
    """One document, ready to publish."""

    card: DocumentCard
    chunks: tuple[Chunk, ...]
    calls: int = 0
    """Model requests for it, including failed ones; the Budget counts their cost."""
    cached: int = 0
    """Replies from the cache."""
    failures: tuple[str, ...] = ()
    """Reasons why parts stayed extractive. Failures aren't cached: the next run asks again."""
    tables: TableReport = field(default_factory=TableReport)
    """Results for the tables with an unclear structure."""
    pictures: PictureReport = field(default_factory=PictureReport)

    @property
    def complete(self) -> bool:
        return not self.failures


def enrich(
    document: Document,
    chunks: Sequence[Chunk],
    *,
    model: ChatModel | None = None,
    cache: ReplyCache | None = None,
    budget: Budget | None = None,
) -> Enriched:
    """Enrich the chunks of a document. Never raises when the model fails: the extractive enrichment
    replaces a failed call.

    `card.enriched_by` is the model's name only when nothing failed."""
    card = extractive_card(document)
    described = extractive_chunks(document, chunks)
    if model is None or cache is None:
        return Enriched(card=card, chunks=described)
    client = DocumentModel(model=model, budget=budget or Budget(), cache=cache)
    card = enrich_card(document, card, client)
    described = enrich_passages(document, described, client)
    return Enriched(
        card=replace(card, enriched_by="extractive") if client.failures else card,
        chunks=described,
        calls=client.calls,
        cached=client.cached,
        failures=tuple(client.failures),
    )


VERSION = 8
"""Raise it when the same document gives another result: every document is then prepared again."""


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
    """Prepare a document for publishing. Never raises when a model fails.

    `budget` is shared by all documents of a run; `vision` describes pictures on its own budget."""
    tables = TableReport(tables=sum(block.table is not None for block in document.blocks))
    budget = budget or Budget()
    pictures = PictureReport()
    cache = cache.drawn_from([document.id]) if cache else None
    if vision is not None:
        vision = replace(vision, cache=vision.cache.drawn_from([document.id]))
        document, pictures = with_descriptions(document, vision)
    document, withheld = without_planted(document)
    if model is not None and cache is not None:
        document, tables = with_verified_tables(document, model=model, cache=cache, budget=budget)
    chunks = split(document, count_tokens=count_tokens, options=options, embed=embed)
    enriched = enrich(document, chunks, model=model, cache=cache, budget=budget)
    card = replace(enriched.card, withheld=withheld)
    if vision is not None and model is None:
        card = replace(card, enriched_by=vision.model.name)
    failures = (*(tables.reasons if tables.failed else ()), *pictures.reasons)
    if failures:
        card = replace(card, enriched_by="extractive")
    return replace(
        enriched,
        card=card,
        tables=tables,
        pictures=pictures,
        calls=enriched.calls + pictures.asked,
        cached=enriched.cached + pictures.known,
        failures=(*enriched.failures, *failures),
    )
