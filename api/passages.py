"""What the index holds, without an answer: passages, documents, places, entities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from agents.answer import LONGEST_QUESTION
from api.doors.turned_away import Refused
from api.served import ADDRESS, Served
from index.pipelines import Pipeline
from index.readers import as_read_by
from index.search import Snapshot, Strategy

Retrieve = Callable[..., dict[str, Any]]
"""(domain, question, *, pipeline, top_k, search_type, readers) → the `/api/retrieve` response."""

DomainName = Annotated[str, Query(max_length=64)]


class RetrieveRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=LONGEST_QUESTION)
    domain: str = Field("", max_length=64)
    pipeline: Pipeline = "standard"
    top_k: int | None = Field(None, description="The domain's own without one", ge=1, le=200)
    search_type: Strategy = "hybrid"
    asker_email: str = Field("", max_length=320, pattern=ADDRESS)


def passage_routes(
    served: Served, retrieve: Retrieve, snapshot: Callable[[str], Snapshot]
) -> APIRouter:
    routes = APIRouter()

    @routes.post("/api/retrieve")
    def retrieve_passages(asked: RetrieveRequest, request: Request) -> dict[str, Any]:
        opened = served.to(request.state.caller, asked.asker_email)
        domain = opened.one(asked.domain)
        found = retrieve(
            domain.domain,
            asked.query,
            pipeline=asked.pipeline,
            top_k=asked.top_k,
            search_type=asked.search_type,
            readers=opened.readers(domain),
        )
        passages = [one["source"] for one in found["documents"]]
        opened.showing("retrieve", domain, found.get("generation", 0), {"passages": passages})
        return found

    def readable(request: Request, name: str, door: str, document_id: str = "") -> Snapshot:
        """What the API may show of a domain to whoever asks, and on record as shown: the one
        document, or all.

        Raises Refused alike for a document that is unknown and one that is not open."""
        opened = served.to(request.state.caller)
        domain = opened.one(name)
        inside = as_read_by(snapshot(domain.domain), opened.readers(domain))
        if document_id and document_id not in inside.documents:
            raise Refused(404, "no such document")
        if served.audit:
            listed = [document_id] if document_id else inside.documents
            opened.showing(door, domain, inside.generation, {"listed": listed})
        return inside

    @routes.get("/api/documents")
    def documents(request: Request, domain: DomainName = "") -> list[dict[str, Any]]:
        inside = readable(request, domain, "documents")
        cards = inside.cards(inside.documents)
        return [{"id": c.id, "title": c.title, "url": c.url, "summary": c.summary} for c in cards]

    @routes.get("/api/documents/{document_id}/summary")
    def summary(request: Request, document_id: str, domain: DomainName = "") -> dict[str, Any]:
        card = readable(request, domain, "summary", document_id).documents[document_id]
        shown = {"id", "title", "url", "summary", "faqs", "keywords", "document_type"}
        return {k: v for k, v in asdict(card).items() if k in shown}

    @routes.get("/api/documents/{document_id}/citations")
    def citations(
        request: Request, document_id: str, domain: DomainName = ""
    ) -> list[dict[str, Any]]:
        """Every place of the document that an answer can point to."""
        chunks = readable(request, domain, "citations", document_id).chunks(document_id)
        places = {chunk.url: " › ".join(chunk.heading_path) for chunk in chunks}
        return [{"url": url, "heading": heading} for url, heading in places.items()]

    @routes.get("/api/entities")
    def entities(request: Request, domain: DomainName = "") -> dict[str, dict[str, int]]:
        """Kind → entity → passages that name it, the most frequent first."""
        return _entities(readable(request, domain, "entities"))

    return routes


def _entities(inside: Snapshot) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document in inside.documents:
        for chunk in inside.chunks(document):
            for entity in chunk.entities:
                counts[entity.kind][entity.value] += 1
    return {kind: dict(named.most_common(200)) for kind, named in sorted(counts.items())}
