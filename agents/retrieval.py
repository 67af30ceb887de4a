"""Agent 3: hybrid search for every variant of the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from agents.context.duplicates import editions_for
from agents.plan import Plan, SourceChoice
from index.ranking.fusion import Ranking, fuse
from index.search import Hit, SearchQuery, Snapshot

CANDIDATES = 60
"""Chunks considered for one question, before the context is cut."""
_ROUNDS = 3
"""Searches without further editions; the third finds hardly any more."""


@dataclass(frozen=True, kw_only=True)
class RetrievalRequest:
    """What retrieval sees."""

    plan: Plan
    sources: SourceChoice
    snapshot: Snapshot


def retrieve(narrowed: RetrievalRequest, *, limit: int = CANDIDATES) -> list[Hit]:
    """Best first: the rankings of the whole question and of its parts, fused.

    Where editions for others (`Key Rotation: Brazil`) take the places of what was asked about,
    it is searched again without them."""
    found = _retrieved(narrowed, limit)
    if narrowed.sources.documents:
        return found
    documents = narrowed.snapshot.documents
    editions = editions_for(narrowed.plan, documents)
    beside: set[str] = set()
    for _ in range(_ROUNDS):
        more = editions.beside_the_question(hit.chunk for hit in found) - beside
        if not any(hit.chunk.document_id in more for hit in found):
            break
        beside |= more
        others = tuple(document for document in documents if document not in beside)
        apart = replace(narrowed, sources=SourceChoice(documents=others))
        nearer = _retrieved(apart, limit, escape=0)
        known = {hit.chunk.id for hit in nearer}
        found = [*nearer, *(hit for hit in found if hit.chunk.id not in known)][:limit]
    return found


def _retrieved(narrowed: RetrievalRequest, limit: int, *, escape: int = 3) -> list[Hit]:
    plan = narrowed.plan
    wholes = (plan.question, *plan.paraphrases, plan.hypothetical_answer)

    def search(variants: tuple[str, ...], most: int) -> list[Hit]:
        return narrowed.snapshot.search(
            SearchQuery(
                variants=variants,
                keywords=tuple(plan.keywords),
                strategy=plan.strategy,
                limit=most,
                documents=frozenset(narrowed.sources.documents) or None,
                escape=escape,
            )
        )

    found = [search(tuple(text for text in wholes if text), limit)]
    found += [search((part,), limit // 2) for part in plan.parts]
    return merged(found)[:limit]


def merged(found: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Several searches by reciprocal rank; a chunk's hit is of the search that ranked it best."""
    by_chunk = [
        Ranking(name=str(number), rows=[hit.chunk.id for hit in hits])
        for number, hits in enumerate(found)
    ]
    best: dict[str, Hit] = {}
    for of_one_rank in zip_longest(*found):
        for hit in filter(None, of_one_rank):
            best.setdefault(hit.chunk.id, hit)
    return [best[one.row] for one in fuse(by_chunk)]
