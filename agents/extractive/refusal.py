"""Is this enough to answer? And what to say when it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from agents.answer import Citation
from agents.extractive.citing import citation
from agents.extractive.relevance import Scored
from agents.plan import Plan
from config.domain import Domain
from enrichment.chunk import Chunk
from enrichment.language.words import naming_words
from index.search import Hit, Snapshot

WEIGHTS = {
    "similarity": 6.7,
    "coverage": 5.6,
    "searches agree": 1.4,
    "words unseen": -0.5,
}
BIAS = -5.9
ENOUGH = 0.10
"""Probability of evidence below which the documents are said not to know: of the questions that
they answer, one in twenty is below it. Fitted by `benchmarks/refusing.py`."""
_MANY_NAMES = 2
_UNSEEN = "qx" * 6
"""No document's word: as rare as a word can be."""


def confidence_parts(plan: Plan, snapshot: Snapshot, scored: Sequence[Scored]) -> dict[str, float]:
    """What speaks for and against an answer being in the documents, each 0–1."""
    if not scored:
        return {}
    best, named = scored[0], naming_words(plan.question)
    rarities = [snapshot.rarity(word) for word in named.values()]
    unseen = snapshot.rarity(_UNSEEN)
    unheard_of = sum(snapshot.is_unheard_of(word) for word in named.values())
    parts = {
        "similarity": max(0.0, best.similarity),
        "coverage": best.coverage,
        "searches agree": best.agreement,
        # What no document says a word of.
        "words unseen": sum(one for one in rarities if one >= unseen) / (sum(rarities) or 1.0),
        # Names that neither the documents nor common language know.
        "unheard-of names": min(unheard_of, _MANY_NAMES) / _MANY_NAMES,
        "sufficiency": sufficiency(scored),
    }
    return {**parts, "evidence": evidence_probability(parts)}


def evidence_probability(parts: Mapping[str, float]) -> float:
    """Probability that the best quotations cite a document that holds the answer, 0–1; 0 without
    any evidence.

    It decides whether to answer. That the answer says all of it is less probable: see
    `agents/confidence/calibrated.py`. Fitted by `benchmarks/refusing.py` on questions with and
    without an answer."""
    if not parts:
        return 0.0
    total = BIAS + sum(weight * parts.get(name, 0.0) for name, weight in WEIGHTS.items())
    return 1 / (1 + math.exp(-total))


def is_too_little(parts: Mapping[str, float]) -> bool:
    """Whether the documents are said not to know."""
    return parts.get("evidence", 0.0) < ENOUGH


def sufficiency(scored: Sequence[Scored]) -> float:
    """How well the part of the question that is answered worst is answered, 0–1: its best
    statement's probability."""
    strongest = [max(of_one) for of_one in zip(*(one.aspects for one in scored), strict=True)]
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, min(strongest)))))


def refusal(domain: Domain, snapshot: Snapshot) -> str:
    """What was searched in vain, in one sentence."""
    searched = len(snapshot.documents)
    documents = "1 document" if searched == 1 else f"{searched} documents"
    return f"I searched the {documents} of {domain.title} and found nothing that answers this."


def nearest_documents(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The best passage of each of the three best documents."""
    best: dict[str, Chunk] = {}
    for hit in hits:
        best.setdefault(hit.chunk.document_id, hit.chunk)
    return tuple(
        citation(chunk, number, chunk.units[0].text if chunk.units else "", snapshot.documents)
        for number, chunk in enumerate(list(best.values())[:3], start=1)
    )
