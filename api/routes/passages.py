"""Content of the index without an answer: passages, documents, citations, entities."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Body, Path, Query, Request

from agents.answer import BUDGET_NOTICES
from agents.ledger.ledger import QuestionOrigin
from agents.routing.router import DomainRouter
from api.auth.routes import RequestRejected
from api.errors import NO_DOCUMENT, RETRIEVE_PROBLEMS
from api.schemas.examples import (
    DOCUMENT_CITED,
    DOCUMENT_NAMED,
    DOCUMENT_SUMMED_UP,
    DOCUMENTS_LISTED,
    DOMAIN_NAMED,
    ENTITIES_COUNTED,
    RETRIEVE_ASKED,
    RETRIEVED,
    UNKNOWN_DOCUMENT,
)
from api.schemas.passages import RetrieveRequest
from api.scope import RequestScopes
from index.page_links import address
from index.permissions.acts import Act
from index.permissions.rules import visible_to
from index.search import Snapshot

log = structlog.get_logger()

Retrieve = Callable[..., dict[str, Any]]
"""(domain, question, *, readers, …) → the `/api/retrieve` response; …: RetrieveRequest's fields."""

DomainName = Annotated[
    str,
    Query(
        description="Needed unless there is only one",
        max_length=64,
        openapi_examples=DOMAIN_NAMED,
    ),
]
DocumentId = Annotated[str, Path(openapi_examples=DOCUMENT_NAMED)]


def passage_routes(
    served: RequestScopes,
    retrieve: Retrieve,
    snapshot: Callable[[str], Snapshot],
    answering: DomainRouter,
) -> APIRouter:
    routes = APIRouter()

    @routes.post(
        "/api/retrieve",
        summary="Find passages",
        response_model=None,
        responses={200: RETRIEVED, **RETRIEVE_PROBLEMS},
    )
    def retrieve_passages(
        body: Annotated[RetrieveRequest, Body(openapi_examples=RETRIEVE_ASKED)], request: Request
    ) -> dict[str, Any]:
        """A switch that is set wins over the pipeline; one that is left out is as the pipeline has
        it. What was wanted and could not be done stands in `degraded`, also where the daily
        budget for the model is used up."""
        opened = served.to(request.state.caller, Act.API_RETRIEVE, body.asker_email)
        domain = opened.one(body.domain)
        search = partial(
            retrieve,
            domain.domain,
            body.query,
            readers=opened.readers(domain),
            **body.model_dump(exclude={"query", "domain", "asker_email", "workflow_id"}),
        )
        if body.asks_a_model:
            question = QuestionOrigin(id=secrets.token_hex(8), door="retrieve", text=body.query)
            origin, _ = opened.admitted(answering, question, domain.domain)
            with answering.attempt(origin, [domain]) as attempt:
                attempt.domain = domain.domain
                response = search(spent=attempt.add, without_model=bool(attempt.spent))
                if budget := attempt.spent.get(domain.domain):
                    response["notices"] = [BUDGET_NOTICES[budget], *response["notices"]]
        else:
            response = search()
        passages = [one["source"] for one in response["documents"]]
        opened.showing(domain, response.get("generation", 0), {"passages": passages})
        if body.workflow_id:
            log.info("passages", domain=domain.domain, workflow_id=body.workflow_id)
        return {**response, "workflow_id": body.workflow_id}

    def readable(request: Request, name: str, act: Act, document_id: str = "") -> Snapshot:
        """Returns what the asker may read of a domain, and records access to one document or all.

        Raises the same RequestRejected for an unknown and an unreadable document."""
        opened = served.to(request.state.caller, act)
        domain = opened.one(name)
        inside = visible_to(snapshot(domain.domain), opened.readers(domain))
        if document_id and document_id not in inside.documents:
            raise RequestRejected(404, NO_DOCUMENT)
        if served.audit:
            listed = [document_id] if document_id else inside.documents
            opened.showing(domain, inside.generation, {"listed": listed})
        return inside

    @routes.get(
        "/api/documents",
        summary="List documents",
        response_model=None,
        responses={200: DOCUMENTS_LISTED},
    )
    def documents(request: Request, domain: DomainName = "") -> list[dict[str, Any]]:
        inside = readable(request, domain, Act.API_DOCUMENTS)
        cards = inside.cards(inside.documents)
        return [{"id": c.id, "title": c.title, "url": c.url, "summary": c.summary} for c in cards]

    @routes.get(
        "/api/documents/{document_id:path}/summary",
        summary="What a document is about",
        response_model=None,
        responses={200: DOCUMENT_SUMMED_UP, 404: UNKNOWN_DOCUMENT},
    )
    def summary(
        request: Request, document_id: DocumentId, domain: DomainName = ""
    ) -> dict[str, Any]:
        card = readable(request, domain, Act.API_SUMMARY, document_id).documents[document_id]
        fields = {"id", "title", "url", "summary", "faqs", "keywords", "document_type"}
        return {k: v for k, v in asdict(card).items() if k in fields}

    @routes.get(
        "/api/documents/{document_id:path}/citations",
        summary="What of a document can be cited",
        response_model=None,
        responses={200: DOCUMENT_CITED, 404: UNKNOWN_DOCUMENT},
    )
    def citations(
        request: Request, document_id: DocumentId, domain: DomainName = ""
    ) -> list[dict[str, Any]]:
        """Every place of the document that an answer can point to."""
        chunks = readable(request, domain, Act.API_CITATIONS, document_id).chunks(document_id)
        places = dict.fromkeys(
            (address(chunk.url), " › ".join(chunk.heading_path)) for chunk in chunks
        )
        return [{"url": url, "heading": heading} for url, heading in places]

    @routes.get(
        "/api/entities",
        summary="Count what a domain names",
        response_model=None,
        responses={200: ENTITIES_COUNTED},
    )
    def entities(request: Request, domain: DomainName = "") -> dict[str, dict[str, int]]:
        """Kind → entity → passages that name it, the most frequent first."""
        return _entities(readable(request, domain, Act.API_ENTITIES))

    return routes


def _entities(inside: Snapshot) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document in inside.documents:
        for chunk in inside.chunks(document):
            for entity in set(chunk.entities):
                counts[entity.kind][entity.value] += 1
    return {kind: dict(named.most_common(200)) for kind, named in sorted(counts.items())}
