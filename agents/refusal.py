"""Is this enough to answer? And what to say when it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from agents.answer import Citation
from agents.extractive_answer import citation
from agents.plan import Plan
from agents.relevance import Scored, aspects_of
from agents.words import stems
from config.domain import Domain
from enrichment.chunk import Chunk
from index.search import Hit, Snapshot

ENOUGH = 0.35
"""Below this confidence, the documents are said not to know."""
_WEIGHTS = {"match": 3.0, "coverage": 3.0, "similarity": 3.0, "rare words": 1.0, "agreement": 0.5}
_BIAS = -4.0


def confidence_parts(
    plan: Plan, snapshot: Snapshot, hits: Sequence[Hit], scored: Sequence[Scored]
) -> dict[str, float]:
    """What speaks for an answer being in the documents, each 0–1."""
    if not scored:
        return {}
    whole = aspects_of(plan, snapshot)[0]
    best = scored[:5]
    found: frozenset[str] = frozenset()
    for unit in best:
        chunk = unit.chunk
        found |= stems(unit.unit.index_text) | stems(
            " ".join((chunk.document_title, *chunk.heading_path))
        )
    rarest = sorted(whole.weights, key=lambda word: -whole.weights[word])[:3]
    ranks = [hit.ranks for hit in hits[:5]]
    agreement = sum(len(rank) for rank in ranks) / (3 * len(ranks)) if ranks else 0.0
    return {
        "match": scored[0].score,
        "coverage": max(unit.coverage for unit in best),
        "similarity": max(0.0, max(unit.similarity for unit in best)),
        "rare words": sum(word in found for word in rarest) / len(rarest) if rarest else 0.0,
        "agreement": min(1.0, agreement),
    }


def confidence(parts: Mapping[str, float]) -> float:
    """Probability that the answer is in the documents, 0–1; 0 without any evidence."""
    if not parts:
        return 0.0
    total = _BIAS + sum(weight * parts.get(name, 0.0) for name, weight in _WEIGHTS.items())
    return 1 / (1 + math.exp(-total))


def refusal(
    domain: Domain, snapshot: Snapshot, hits: Sequence[Hit]
) -> tuple[str, tuple[Citation, ...]]:
    """What was searched, and where a human would look next."""
    nearest = nearest_documents(snapshot, hits)
    searched = len(snapshot.documents)
    documents = "1 document" if searched == 1 else f"{searched} documents"
    text = f"I searched the {documents} of {domain.title} and found no answer to this."
    if nearest:
        named = "; ".join(
            f"*{one.title}*" + (f" › {one.heading}" if one.heading != one.title else "")
            for one in nearest
        )
        text += f"\nThe nearest: {named}."
    return text, nearest


def nearest_documents(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The best passage of each of the three best documents."""
    best: dict[str, Chunk] = {}
    for hit in hits:
        best.setdefault(hit.chunk.document_id, hit.chunk)
    return tuple(
        citation(chunk, number, chunk.units[0].text if chunk.units else "", snapshot.documents)
        for number, chunk in enumerate(list(best.values())[:3], start=1)
    )
