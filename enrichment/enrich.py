"""Between splitting and publishing: every document gets its card, every chunk its names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from config.models import ChatModel
from enrichment.chunk import Chunk, DocumentCard
from enrichment.with_model.budget import Budget
from enrichment.with_model.described_pictures import PictureReport
from enrichment.with_model.model_card import AskedModel, enrich_card, enrich_passages
from enrichment.with_model.reply_cache import ReplyCache
from enrichment.with_model.verified_tables import TableReport
from enrichment.without_model.extractive_card import extractive_card, extractive_chunks
from loaders.document import Document


@dataclass(frozen=True, kw_only=True)
class Enriched:
    """One document, ready to be published."""

    card: DocumentCard
    chunks: tuple[Chunk, ...]
    calls: int = 0
    """Requests made for it, failed ones included; what they cost is counted by the Budget."""
    cached: int = 0
    """Replies that were already known."""
    failures: tuple[str, ...] = ()
    """Why some of it stayed extractive. Failures aren't cached: the next run asks again."""
    tables: TableReport = field(default_factory=TableReport)
    """What became of the tables whose structure was unclear."""
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
    """Never raises for a model's sake: what a call doesn't give, the extractive enrichment does.

    `card.enriched_by` is the model's name only when nothing failed."""
    card = extractive_card(document)
    described = extractive_chunks(document, chunks)
    if model is None or cache is None:
        return Enriched(card=card, chunks=described)
    asked = AskedModel(model=model, budget=budget or Budget(), cache=cache)
    card = enrich_card(document, card, asked)
    described = enrich_passages(document, described, asked)
    return Enriched(
        card=replace(card, enriched_by="extractive") if asked.failures else card,
        chunks=described,
        calls=asked.calls,
        cached=asked.cached,
        failures=tuple(asked.failures),
    )
