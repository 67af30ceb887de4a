"""An answer as JSON: the body of `POST /api/agentic_qna`, and the longer one of `oncall ask`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.answer import Answer, Citation, Passage
from enrichment.language.words import search_terms
from index.page_links import address
from index.pipelines import highlight, shorten


def to_response(answer: Answer) -> dict[str, Any]:
    """{agent_path_taken, answer, cache_similarity, cached, original_path, confidence_score,
    sources, captions, degraded, notices}.

    `sources`: the answer's citations, or the nearest documents of a refusal. `captions`: an excerpt
    of each source."""
    places = answer.citations or answer.nearest
    return {
        "agent_path_taken": answer.path,
        "answer": answer.text,
        "cache_similarity": answer.cache_similarity,
        "cached": answer.path == "cached",
        "original_path": answer.original_path,
        "confidence_score": round(answer.confidence, 3),
        "sources": [
            {
                "content": citation.quote,
                "page_number": citation.page,
                "source": citation.title,
                "type": "document",
                "url": citation.url,
            }
            for citation in places
        ],
        "captions": _captions(places, answer.standalone_question),
        "degraded": list(answer.degraded),
        "notices": list(answer.notices),
    }


def _captions(places: Sequence[Citation], question: str) -> list[dict[str, Any]]:
    """As in `/api/retrieve`; `number` is the answer's `[n]`."""
    terms = frozenset(search_terms(question))
    texts = [shorten(" ".join(citation.quote.split())) for citation in places]
    return [
        {
            "number": citation.number,
            "text": text,
            "highlights": highlight(text, terms),
            "source": citation.document,
            "url": citation.url,
        }
        for citation, text in zip(places, texts, strict=True)
    ]


def to_full_response(answer: Answer) -> dict[str, Any]:
    """`to_response` and everything else that a script or an administrator needs."""
    return {
        **to_response(answer),
        "path": answer.path,
        "citations": [_citation(citation) for citation in answer.citations],
        "passages": [_passage(passage) for passage in answer.passages],
        "options": list(answer.options),
        "nearest": [_citation(citation) for citation in answer.nearest],
        "confidence_parts": dict(answer.confidence_parts),
        "timings_ms": {name: round(ms, 1) for name, ms in answer.timings_ms.items()},
        "calls": answer.usage.calls,
        "tokens": answer.usage.input_tokens + answer.usage.output_tokens,
        "generation": answer.generation,
        "query_kind": answer.query_kind,
        "strategy": answer.strategy,
        "searches": answer.searches,
        "drafts": answer.drafts,
        "standalone_question": answer.standalone_question,
        "chunks": [
            {
                "id": chunk.id,
                "document": chunk.document_id,
                "heading": " › ".join(chunk.heading_path),
                "url": address(chunk.url),
                "text": chunk.text,
            }
            for chunk in answer.context
        ],
    }


def _passage(passage: Passage) -> dict[str, Any]:
    place = _citation(passage.citation)
    fields = {name: place[name] for name in ("title", "heading", "url", "modified_at")}
    return {**fields, "text": passage.text}


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "document": citation.document,
        "title": citation.title,
        "heading": citation.heading,
        "url": citation.url,
        "quote": citation.quote,
        "modified_at": citation.modified_at.isoformat() if citation.modified_at else None,
        "page": citation.page,
        "from_picture": citation.from_picture,
    }
