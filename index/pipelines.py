"""Retrieval without an answer: `oncall retrieve` and `/api/retrieve`.

A passage shows its best sentence or row with the question's words in bold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from config.errors import UsageError
from config.models import Usage
from config.parsing.fields import Strategy
from enrichment.chunk import DocumentCard, standing
from enrichment.language.words import TOKEN, search_terms
from index.facets import MAX_COUNTED, Facets, count_facets, is_found
from index.page_links import address
from index.ranking.rerank import Reranked, Reranker
from index.search import Hit, SearchQuery, Snapshot
from index.snapshot import adjacent, row_group

MAX_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class Caption:
    text: str
    highlights: str
    """The same text with matched words between `**`."""


def caption(hit: Hit, question: str) -> Caption:
    """The unit that matched best, or the beginning of the passage."""
    units = hit.chunk.units
    text = (
        units[hit.unit].text if hit.unit is not None and hit.unit < len(units) else hit.chunk.text
    )
    excerpt = shorten(" ".join(text.split()))
    return Caption(text=excerpt, highlights=highlight(excerpt, frozenset(search_terms(question))))


def highlight(text: str, terms: Collection[str]) -> str:
    """Words of `text` that share a search term, each between `**`."""

    def mark(match: re.Match[str]) -> str:
        word = match.group()
        return f"**{word}**" if any(term in terms for term in search_terms(word)) else word

    return TOKEN.sub(mark, text.replace("**", ""))


def shorten(text: str, limit: int = MAX_CHARACTERS) -> str:
    if len(text) <= limit:
        return text
    return text[:limit].rsplit(" ", 1)[0] + "…"


Pipeline = Literal["standard", "rerank", "advanced", "facets"]
SearchType = Literal["hybrid", "vector", "semantic", "keyword"]
"""`vector` is another name of `semantic`."""
JUDGED_FOR_EACH_WANTED = 3
"""Number of hits reranked for each one returned."""
ANSWERS = 3
MAX_TOP_K = 200
_STRATEGIES: Mapping[str, Strategy] = {
    "hybrid": "hybrid", "vector": "semantic", "semantic": "semantic", "keyword": "keyword",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Switches:
    """Optional steps of a retrieval."""

    query_expansion: bool = False
    """Also search for the question's parts and other wordings."""
    hyde: bool = False
    """Also search for a hypothetical answer (Gao et al., ACL 2023)."""
    rerank: bool = False
    """Rerank the best hits."""


SWITCHES: Mapping[Pipeline, Switches] = {
    "standard": Switches(),
    "rerank": Switches(rerank=True),
    "advanced": Switches(query_expansion=True, hyde=True, rerank=True),
    "facets": Switches(),
}
"""The defaults of each pipeline; a request may override them."""


def switches_of(
    pipeline: Pipeline, query_expansion: bool | None, hyde: bool | None, rerank: bool | None
) -> Switches:
    """None leaves a switch to the pipeline."""
    requested = {"query_expansion": query_expansion, "hyde": hyde, "rerank": rerank}
    overrides = {name: value for name, value in requested.items() if value is not None}
    return replace(SWITCHES[pipeline], **overrides)


@dataclass(frozen=True, kw_only=True)
class Searches:
    """The texts of a search."""

    queries: tuple[str, ...]
    """The question first, then its parts and other wordings."""
    keywords: tuple[str, ...] = ()
    hypothetical_answer: str = ""
    """Empty when no model wrote one."""
    model_failed: bool = False
    """Whether the model failed and rules planned the search instead."""
    usage: Usage = Usage()


Planner = Callable[[str], Searches]
"""Question → its searches. Raises nothing; after a failure it returns the question alone."""


def retrieve(
    snapshot: Snapshot,
    question: str,
    *,
    pipeline: str = "standard",
    top_k: int = 8,
    search_type: str = "hybrid",
    query_expansion: bool | None = None,
    hyde: bool | None = None,
    enable_rerank: bool | None = None,
    plan: Planner | None = None,
    reranker: Reranker | None = None,
    spent: Callable[[Usage], None] = lambda usage: None,
) -> dict[str, Any]:
    """The response of `/api/retrieve`. Raises UsageError for an unknown pipeline or search type.

    `query_expansion`, `hyde`, `enable_rerank`: see `switches_of`. `spent` gets the models' usage.
    `advanced` also returns the text around each passage. `facets` counts values over all hits that
    match, and returns only such hits. `degraded` lists requested steps that could not be done."""
    pipeline_name: Pipeline = _one_of(pipeline, "pipeline", get_args(Pipeline))
    strategy = _STRATEGIES[_one_of(search_type, "search type", get_args(SearchType))]
    if not 1 <= top_k <= MAX_TOP_K:
        raise UsageError(f"top_k is {top_k}", remedy=f"give a number from 1 to {MAX_TOP_K}")
    switches = switches_of(pipeline_name, query_expansion, hyde, enable_rerank)
    searches = _searches(question, switches, plan)
    limit = JUDGED_FOR_EACH_WANTED * top_k if switches.rerank else top_k
    counts = pipeline_name == "facets"
    # One hit more than is counted shows whether the counts are complete.
    hits = snapshot.search(_query(searches, strategy, MAX_COUNTED + 1 if counts else limit))
    matches = [hit for hit in hits if is_found(hit)] if counts else hits
    reranked = Reranked(hits=tuple(matches))
    if switches.rerank and reranker is not None:
        reranked = reranker(question, matches[:limit])
    spent(searches.usage + reranked.usage)
    best = reranked.hits[:top_k]
    documents = [
        _document(snapshot, hit, question, around=pipeline_name == "advanced") for hit in best
    ]
    for document, score in zip(documents, reranked.scores, strict=False):
        document["rerank_score"] = document["reranker_score"] = round(score, 4)
    counted = count_facets(matches, snapshot.documents) if counts else Facets()
    return {
        "success": True,
        "documents": documents,
        "count": len(documents),
        "queries_used": [*searches.queries, *filter(None, [searches.hypothetical_answer])],
        "reranked": bool(reranked.by),
        "hyde_used": bool(searches.hypothetical_answer),
        "pipeline": pipeline_name,
        "search_type": search_type,
        "semantic_answers": _answers(best, question),
        "captions": [
            {"id": one["id"], "source": one["source"], "url": one["url"], **one["caption"]}
            for one in documents
        ],
        "facets": counted.facets,
        "facet_totals": counted.totals,
        "degraded": _degraded(switches, searches, reranked, hits, strategy),
        "generation": snapshot.generation,
    }


def _one_of(value: str, what: str, allowed: Sequence[str]) -> Any:
    if value not in allowed:
        raise UsageError(f"no {what} {value!r}", remedy=f"use one of {', '.join(allowed)}")
    return value


def _searches(question: str, switches: Switches, plan: Planner | None) -> Searches:
    """The parts of the plan that are switched on."""
    alone = Searches(queries=(question,))
    if plan is None or not (switches.query_expansion or switches.hyde):
        return alone
    planned = plan(question)
    expanded = planned if switches.query_expansion else alone
    return Searches(
        queries=expanded.queries,
        keywords=expanded.keywords,
        hypothetical_answer=planned.hypothetical_answer if switches.hyde else "",
        model_failed=planned.model_failed,
        usage=planned.usage,
    )


def _degraded(
    switches: Switches,
    searches: Searches,
    reranked: Reranked,
    hits: Sequence[Hit],
    strategy: Strategy,
) -> list[str]:
    """Requested steps that were not done, or done without their model."""
    not_judged = bool(hits) and (not reranked.by or bool(reranked.failed))
    by_vector = any(hit.unit is not None or hit.similarity for hit in hits)
    missed = {
        "query_expansion": switches.query_expansion and searches.model_failed,
        "hyde": switches.hyde and not searches.hypothetical_answer,
        "rerank": switches.rerank and not_judged,
        # During an outage of the embedding model, only keywords are searched.
        "vectors": strategy != "keyword" and bool(hits) and not by_vector,
    }
    return [name for name, is_missed in missed.items() if is_missed]


def _query(searches: Searches, strategy: Strategy, limit: int) -> SearchQuery:
    variants = (*searches.queries, searches.hypothetical_answer)
    return SearchQuery(
        variants=tuple(filter(None, variants)),
        keywords=searches.keywords,
        strategy=strategy,
        limit=limit,
    )


def _document(snapshot: Snapshot, hit: Hit, question: str, *, around: bool) -> dict[str, Any]:
    chunk = hit.chunk
    card: DocumentCard | None = snapshot.documents.get(chunk.document_id)
    kind = chunk.document_type or (card.document_type if card else "")
    modified_at = card.modified_at.isoformat() if card and card.modified_at else None
    excerpt = asdict(caption(hit, question))
    return {
        "id": chunk.id,
        "content": chunk.text,
        "source": chunk.document_id,
        "title": chunk.document_title,
        "type": chunk.kind,
        "url": address(chunk.url),
        "page_number": chunk.page,
        "tab": chunk.tab,
        "headings": list(chunk.heading_path),
        "document_type": kind,
        "doc_type": kind,
        "summary": chunk.summary,
        "document_summary": card.summary if card else "",
        "modified_at": modified_at,
        "keywords": list(chunk.keywords),
        "entities": [asdict(entity) for entity in chunk.entities],
        "caption": excerpt,
        "captions": [excerpt],
        "metadata": {
            "source": chunk.document_id,
            "title": chunk.document_title,
            "url": address(chunk.url),
            "page_number": chunk.page,
            "tab": chunk.tab,
            "headings": list(chunk.heading_path),
            "position": chunk.position,
            "document_type": kind,
            "modified_at": modified_at,
            "standing": standing(card, snapshot.documents) if card else "",
            "from_picture": chunk.from_picture,
        },
        "score": round(hit.score, 6),
        "similarity": round(hit.similarity, 4),
        "ranks": dict(hit.ranks),
        "reranker_score": None,
        **({"around": _around(snapshot, hit)} if around else {}),
    }


def _around(snapshot: Snapshot, hit: Hit) -> list[dict[str, Any]]:
    """The other rows of the hit's table, or its neighbors in the section."""
    chunk = hit.chunk
    around = row_group(snapshot, chunk) if chunk.table else adjacent(snapshot, chunk)
    return [
        {"id": other.id, "content": other.text, "position": other.position}
        for other in around
        if other.id != chunk.id
    ]


def _answers(hits: Sequence[Hit], question: str) -> list[dict[str, Any]]:
    """The sentences and rows nearest to the question, best first, one for each passage."""
    best = sorted((hit for hit in hits if hit.unit is not None), key=lambda hit: -hit.similarity)
    return [
        {
            **asdict(caption(hit, question)),
            "id": hit.chunk.id,
            "source": hit.chunk.document_id,
            "url": address(hit.chunk.url),
            "score": round(hit.similarity, 4),
        }
        for hit in best[:ANSWERS]
    ]
