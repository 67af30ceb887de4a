"""Retrieval without an answer: `oncall retrieve` and `/api/retrieve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from config.errors import UsageError
from enrichment.chunk import DocumentCard
from index.captions import caption
from index.facets import facets
from index.ranking.rerank import Reranked, Reranker
from index.search import Hit, SearchQuery, Snapshot, Strategy
from index.surroundings import adjacent, row_group

Pipeline = Literal["standard", "rerank", "advanced", "facets"]
JUDGED_FOR_EACH_WANTED = 3
"""Hits that a second look goes through."""
FACET_HITS = 100
ANSWERS = 3
MAX_TOP_K = 200


@dataclass(frozen=True, kw_only=True)
class Searches:
    """What is searched for."""

    queries: tuple[str, ...]
    """The question first, then its parts and other wordings."""
    keywords: tuple[str, ...] = ()
    hypothetical_answer: str = ""


Planner = Callable[[str], Searches]
"""What to search for, to answer a question. Raises nothing: at worst, the question alone."""


def retrieve(
    snapshot: Snapshot,
    question: str,
    *,
    pipeline: str = "standard",
    top_k: int = 8,
    search_type: str = "hybrid",
    plan: Planner | None = None,
    reranker: Reranker | None = None,
) -> dict[str, Any]:
    """The response of `/api/retrieve`. Raises UsageError for an unknown pipeline or search type.

    standard: one search. rerank: judged again by `reranker`. advanced: all that `plan` searches
    for, judged again, with what stands around each passage. facets: one search, with counts of
    what the passages name. Without `plan` or `reranker` their part is left out."""
    chosen = _one_of(pipeline, "pipeline", get_args(Pipeline))
    strategy: Strategy = _one_of(search_type, "search type", get_args(Strategy))
    if not 1 <= top_k <= MAX_TOP_K:
        raise UsageError(f"top_k is {top_k}", remedy=f"give a number from 1 to {MAX_TOP_K}")
    advanced = chosen == "advanced"
    searches = plan(question) if advanced and plan else Searches(queries=(question,))
    judged_hits = JUDGED_FOR_EACH_WANTED * top_k
    wanted = {"rerank": judged_hits, "advanced": judged_hits, "facets": FACET_HITS}
    hits = snapshot.search(_query(searches, strategy, max(top_k, wanted.get(chosen, top_k))))
    judged = Reranked(hits=tuple(hits))
    if chosen in {"rerank", "advanced"} and reranker is not None:
        judged = reranker(question, hits)
    shown = judged.hits[:top_k]
    documents = [_document(snapshot, hit, question, around=advanced) for hit in shown]
    for document, score in zip(documents, judged.scores, strict=False):
        document["rerank_score"] = round(score, 4)
    return {
        "success": True,
        "documents": documents,
        "count": len(documents),
        "queries_used": [*searches.queries, *filter(None, [searches.hypothetical_answer])],
        "reranked": bool(judged.by),
        "hyde_used": bool(searches.hypothetical_answer),
        "pipeline": chosen,
        "search_type": strategy,
        "semantic_answers": _answers(shown, question),
        "facets": facets(hits, snapshot.documents) if chosen == "facets" else {},
        "generation": snapshot.generation,
    }


def _one_of(value: str, what: str, known: Sequence[str]) -> Any:
    if value not in known:
        raise UsageError(f"no {what} {value!r}", remedy=f"use one of {', '.join(known)}")
    return value


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
    return {
        "id": chunk.id,
        "content": chunk.text,
        "source": chunk.document_id,
        "title": chunk.document_title,
        "type": chunk.kind,
        "url": chunk.url,
        "page_number": chunk.page,
        "tab": chunk.tab,
        "headings": list(chunk.heading_path),
        "document_type": chunk.document_type or (card.document_type if card else ""),
        "document_summary": card.summary if card else "",
        "modified_at": card.modified_at.isoformat() if card and card.modified_at else None,
        "keywords": list(chunk.keywords),
        "entities": [asdict(entity) for entity in chunk.entities],
        "caption": asdict(caption(hit, question)),
        "score": round(hit.score, 6),
        "similarity": round(hit.similarity, 4),
        "ranks": dict(hit.ranks),
        **({"around": _around(snapshot, hit)} if around else {}),
    }


def _around(snapshot: Snapshot, hit: Hit) -> list[dict[str, Any]]:
    """The rest of a table, or what stands beside it in the section."""
    chunk = hit.chunk
    found = row_group(snapshot, chunk) if chunk.table else adjacent(snapshot, chunk)
    return [
        {"id": other.id, "content": other.text, "position": other.position}
        for other in found
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
            "url": hit.chunk.url,
            "score": round(hit.similarity, 4),
        }
        for hit in best[:ANSWERS]
    ]
