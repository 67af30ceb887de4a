"""Is this enough to answer? And what to say when it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from agents.answer import Citation
from agents.extractive.extractive_answer import citation
from agents.extractive.relevance import Scored
from agents.plan import Plan
from config.domain import Domain
from enrichment.chunk import Chunk
from enrichment.language.words import naming_words
from index.search import Hit, Snapshot

WEIGHTS = {
    "similarity": 5.2,
    "coverage": 5.3,
    "words named": 9.8,
    "searches agree": 2.4,
    "unheard-of names": -0.3,
}
BIAS = -8.8
_MANY_WORDS = 15
_MANY_NAMES = 2


def confidence_parts(plan: Plan, snapshot: Snapshot, scored: Sequence[Scored]) -> dict[str, float]:
    """What speaks for and against an answer being in the documents, each 0–1."""
    if not scored:
        return {}
    best, named = scored[0], naming_words(plan.question)
    unheard_of = sum(snapshot.is_unheard_of(word) for word in named.values())
    return {
        "similarity": max(0.0, best.similarity),
        "coverage": best.coverage,
        # A long message is never as similar to one sentence as a short one is.
        "words named": min(len(named), _MANY_WORDS) / _MANY_WORDS,
        "searches agree": best.agreement,
        # Names that neither the documents nor common language know.
        "unheard-of names": min(unheard_of, _MANY_NAMES) / _MANY_NAMES,
    }


def confidence(parts: Mapping[str, float]) -> float:
    """Probability that the answer cites a document that holds it, 0–1; 0 without any evidence.

    That is less than saying all of it: `docs/answers-without-a-model.md` has both. Fitted by
    `benchmarks/left_out.py` on questions with and without an answer."""
    if not parts:
        return 0.0
    total = BIAS + sum(weight * parts.get(name, 0.0) for name, weight in WEIGHTS.items())
    return 1 / (1 + math.exp(-total))


def refusal(domain: Domain, snapshot: Snapshot) -> str:
    """What was searched in vain, in one sentence."""
    searched = len(snapshot.documents)
    documents = "1 document" if searched == 1 else f"{searched} documents"
    return f"I searched the {documents} of {domain.title} and found no answer to this."


def nearest_documents(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The best passage of each of the three best documents."""
    best: dict[str, Chunk] = {}
    for hit in hits:
        best.setdefault(hit.chunk.document_id, hit.chunk)
    return tuple(
        citation(chunk, number, chunk.units[0].text if chunk.units else "", snapshot.documents)
        for number, chunk in enumerate(list(best.values())[:3], start=1)
    )
