"""Agent 3: hybrid search for every variant of the question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from agents.context.duplicates import editions_for
from agents.plan import Plan
from index.ranking.fusion import Ranking, fuse
from index.search import Hit, SearchQuery, Snapshot

CANDIDATES = 60
"""Chunks considered for one question, before the context is cut."""
_ROUNDS = 3
"""Searches that exclude editions; the third finds hardly any more."""


def retrieve(
    plan: Plan, snapshot: Snapshot, documents: Sequence[str] = (), *, limit: int = CANDIDATES
) -> list[Hit]:
    """Best first for the whole question, and at less weight for its other wordings and parts,
    in these documents; without any, in all.

    Where editions for others (`Key Rotation: Brazil`) displace the document in question, the
    search runs again without them."""
    hits = _search(plan, snapshot, documents, limit)
    if documents:
        return hits
    editions = editions_for(plan, snapshot.documents)
    excluded: set[str] = set()
    for _ in range(_ROUNDS):
        more = editions.for_others(hit.chunk for hit in hits) - excluded
        if not any(hit.chunk.document_id in more for hit in hits):
            break
        excluded |= more
        others = [document for document in snapshot.documents if document not in excluded]
        nearer = _search(plan, snapshot, others, limit, escape=0)
        ids = {hit.chunk.id for hit in nearer}
        hits = [*nearer, *(hit for hit in hits if hit.chunk.id not in ids)][:limit]
    return hits


def _search(
    plan: Plan, snapshot: Snapshot, documents: Sequence[str], limit: int, *, escape: int = 3
) -> list[Hit]:
    wordings = (plan.question, *plan.paraphrases, plan.hypothetical_answer, *plan.parts)
    return snapshot.search(
        SearchQuery(
            variants=tuple(text for text in wordings if text),
            keywords=tuple(plan.keywords),
            strategy=plan.strategy,
            limit=limit,
            documents=frozenset(documents) or None,
            escape=escape,
        )
    )


def merge_hits(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Fuses searches by reciprocal rank; a chunk keeps the hit of its best rank."""
    by_chunk = [
        Ranking(name=str(number), rows=[hit.chunk.id for hit in hits])
        for number, hits in enumerate(rankings)
    ]
    best: dict[str, Hit] = {}
    for of_one_rank in zip_longest(*rankings):
        for hit in filter(None, of_one_rank):
            best.setdefault(hit.chunk.id, hit)
    return [best[one.row] for one in fuse(by_chunk)]
