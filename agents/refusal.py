"""Is this enough to answer? And what to say when it is not."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from agents.answer import Citation
from agents.extractive_answer import citation
from agents.plan import Plan
from agents.relevance import Scored, aspects_of
from agents.words import codes
from config.domain import Domain
from enrichment.chunk import Chunk
from index.search import Hit, Snapshot

_MANY_WORDS = 15
ENOUGH = 0.5
"""Below this confidence, the documents are said not to know."""
WEIGHTS = {
    "similarity": 8.73,
    "coverage": 2.6,
    "words named": 7.99,
    "price not given": -3.74,
    "code found": 1.5,
}
BIAS = -6.9

_ASKS_PRICE = re.compile(
    r"\b(?:costs?|priced?|prices|pricing|budget|cheap\w*|expensive|fees?|fine|salary|bonus"
    r"|how much (?:is|are|does|do|would|will)|per seat)\b",
    re.IGNORECASE,
)
_PRICE = re.compile(
    r"[$€£¥]\s?\d|\d\s?[$€£¥]|\b(?:eur|usd|gbp|sgd|dollars?|euros?)\b", re.IGNORECASE
)


def confidence_parts(plan: Plan, snapshot: Snapshot, scored: Sequence[Scored]) -> dict[str, float]:
    """What speaks for and against an answer being in the documents."""
    if not scored:
        return {}
    best, said = scored[0], " ".join(unit.unit.text for unit in scored[:5])
    named = len(aspects_of(plan, snapshot)[0].weights)
    asks_price = bool(_ASKS_PRICE.search(plan.question))
    return {
        "similarity": max(0.0, best.similarity),
        "coverage": best.coverage,
        # A long message is never as similar to one sentence as a short one is.
        "words named": min(named, _MANY_WORDS) / _MANY_WORDS,
        "code found": float(any(code.lower() in said.lower() for code in codes(plan.question))),
        "price not given": float(asks_price and not _PRICE.search(said)),
    }


def confidence(parts: Mapping[str, float]) -> float:
    """Probability that the answer is in the documents, 0–1; 0 without any evidence.

    Fitted by `benchmarks/fit_relevance.py` on answerable and unanswerable questions."""
    if not parts:
        return 0.0
    total = BIAS + sum(weight * parts.get(name, 0.0) for name, weight in WEIGHTS.items())
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
