"""Is this enough to answer? And what to say when it is not."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Citation
from agents.extractive.extractive_answer import citation
from agents.extractive.relevance import Scored, aspects_of
from agents.plan import Plan
from config.domain import Domain
from enrichment.chunk import Chunk
from enrichment.language.words import codes, naming_words
from index.search import Hit, Snapshot

ENOUGH = 0.5
"""Below this confidence, the documents are said not to know."""
WEIGHTS = {
    "similarity": 7.1,
    "coverage": 6.1,
    "words named": 13.6,
    "code found": 1.8,
    "searches agree": 2.6,
    "far ahead": -1.2,
    "unheard-of names": -1.9,
    "wrong kind of fact": -6.5,
}
BIAS = -10.1
_MANY_WORDS = 15
_MANY_NAMES = 2
_BEST = 5
"""Statements in which what the question asks for is looked for."""
_FAR = 5.0
"""Log-odds."""


@dataclass(frozen=True, kw_only=True)
class KindOfFact:
    """A question that asks for something of a certain shape is not answered without it."""

    asked: re.Pattern[str]
    given: re.Pattern[str]


KINDS_OF_FACT = (
    KindOfFact(
        asked=re.compile(
            r"\b(?:costs?|priced?|prices|pricing|budget|charged?|cheap\w*|expensive|fees?|salary"
            r"|bonus|how much (?:is|are|does|do|would|will)|per seat|(?:what|which) fine)\b",
            re.I,
        ),
        given=re.compile(r"[$€£¥]\s?\d|\d\s?[$€£¥]|\b(?:eur|usd|gbp|sgd|dollars?|euros?)\b", re.I),
    ),
    KindOfFact(
        asked=re.compile(r"\b(?:tele)?phone (?:no\b|nr\b|number)|\bname (?:\+|and|&) phone", re.I),
        given=re.compile(r"\+?\d[\d\s().-]{6,}\d"),
    ),
    KindOfFact(
        asked=re.compile(
            r"\b(?:what(?:'?s)?|which|the) (?:\w+ ){0,3}(?:host ?name|url|ip address)\b", re.I
        ),
        given=re.compile(
            r"https?://|\b[\w-]+\.(?:com|org|gov|net|io|internal|local)\b|\d\.\d", re.I
        ),
    ),
    KindOfFact(
        asked=re.compile(r"\b(?:which|what) (?:\w+ ){0,2}(?:version|release|major)\b", re.I),
        given=re.compile(r"\bv?\d+(?:\.\d+)+\b|\b(?:version|release) \d", re.I),
    ),
    KindOfFact(
        asked=re.compile(
            r"\bwhat(?:'?s| is) the (?:\w+ ){0,3}password (?:for|in|on|of|to)\b", re.I
        ),
        given=re.compile(r"\bpassword(?: is|:) ", re.I),
    ),
)


def confidence_parts(plan: Plan, snapshot: Snapshot, scored: Sequence[Scored]) -> dict[str, float]:
    """What speaks for and against an answer being in the documents."""
    if not scored:
        return {}
    best, said = scored[0], " ".join(unit.unit.text for unit in scored[:_BEST])
    next_best = scored[min(_BEST, len(scored) - 1)]
    named = len(aspects_of(plan, snapshot)[0].weights)
    unheard_of = sum(snapshot.is_unheard_of(word) for word in naming_words(plan.question).values())
    return {
        "similarity": max(0.0, best.similarity),
        "coverage": best.coverage,
        # A long message is never as similar to one sentence as a short one is.
        "words named": min(named, _MANY_WORDS) / _MANY_WORDS,
        "code found": float(any(code.lower() in said.lower() for code in codes(plan.question))),
        "searches agree": best.agreement,
        "far ahead": min(1.0, (best.strength - next_best.strength) / _FAR),
        "unheard-of names": min(unheard_of, _MANY_NAMES) / _MANY_NAMES,
        "wrong kind of fact": float(
            any(k.asked.search(plan.question) and not k.given.search(said) for k in KINDS_OF_FACT)
        ),
    }


def confidence(parts: Mapping[str, float]) -> float:
    """Probability that the answer is in the documents, 0–1; 0 without any evidence.

    Fitted by `benchmarks/fit_confidence.py` on answerable and unanswerable questions."""
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
