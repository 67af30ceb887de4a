"""What the index holds, without an answer: passages, documents, places, entities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field

from api.served import Served
from index.readers import as_read_by
from index.search import Snapshot

Retrieve = Callable[..., dict[str, Any]]
"""(domain, question, *, pipeline, top_k, search_type, readers) → the `/api/retrieve` response."""


class RetrieveRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=8_000)
    domain: str = Field("", max_length=64)
    pipeline: str = "standard"
    top_k: int | None = Field(None, description="The domain's own without one", ge=1, le=200)
    search_type: str = "hybrid"
    asker_email: str = Field("", max_length=320)


def passage_routes(
    served: Served, retrieve: Retrieve, snapshot: Callable[[str], Snapshot]
) -> APIRouter:
    routes = APIRouter()

    @routes.post("/api/retrieve")
    def retrieve_passages(asked: RetrieveRequest) -> dict[str, Any]:
        domain = served.one(asked.domain)
        return retrieve(
            domain.domain,
            asked.query,
            pipeline=asked.pipeline,
            top_k=asked.top_k,
            search_type=asked.search_type,
            readers=served.readers(domain, asked.asker_email),
        )

    def opened(name: str) -> Snapshot:
        """What the API may show of a domain to whoever asks."""
        domain = served.one(name)
        return as_read_by(snapshot(domain.domain), served.readers(domain, ""))

    @routes.get("/api/documents")
    def documents(domain: str = "") -> list[dict[str, Any]]:
        inside = opened(domain)
        cards = inside.cards(inside.documents)
        return [{"id": c.id, "title": c.title, "url": c.url, "summary": c.summary} for c in cards]

    @routes.get("/api/documents/{document_id}/summary")
    def summary(document_id: str, domain: str = "") -> dict[str, Any]:
        card = opened(domain).documents.get(document_id)
        if card is None:
            raise HTTPException(404, f"no document {document_id!r}")
        shown = {"id", "title", "url", "summary", "faqs", "keywords", "document_type"}
        return {k: v for k, v in asdict(card).items() if k in shown}

    @routes.get("/api/documents/{document_id}/citations")
    def citations(document_id: str, domain: str = "") -> list[dict[str, Any]]:
        """Every place of the document that an answer can point to."""
        summary(document_id, domain)  # 404 for one that is unknown or not open
        chunks = opened(domain).chunks(document_id)
        places = {chunk.url: " › ".join(chunk.heading_path) for chunk in chunks}
        return [{"url": url, "heading": heading} for url, heading in places.items()]

    @routes.get("/api/entities")
    def entities(domain: str = "") -> dict[str, dict[str, int]]:
        """Kind → entity → passages that name it, the most frequent first."""
        return _entities(opened(domain))

    return routes


def _entities(inside: Snapshot) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document in inside.documents:
        for chunk in inside.chunks(document):
            for entity in chunk.entities:
                counts[entity.kind][entity.value] += 1
    return {kind: dict(named.most_common(200)) for kind, named in sorted(counts.items())}
