"""Scores how well each sentence and row answers, and whether the best ones are enough.

Linear models: `benchmarks/left_out.py` fits the relevance weights and measures them on unseen
documents, `benchmarks/refusing.py` fits the refusal weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agents.answer import Citation
from agents.confidence import Calibration
from agents.extractive.language import UNSEEN_WORD, Glossary, asks_about_the_past, same_words
from agents.extractive.value_types import WAY, fits, kinds_of, requested_kinds
from agents.plan import Plan
from enrichment.chunk import (
    STEP,
    Chunk,
    DocumentCard,
    Unit,
    is_out_of_force,
    standing,
    unit_prefixes,
)
from enrichment.language.words import naming_words, stems, tokens
from enrichment.safety.injection import redacted
from index.keywords.bm25 import words_of_path
from index.page_links import address
from index.search import Hit, Snapshot

_UNRANKED = 100
_EARLIER_TURN = 0.5
"""Weight of a word that only the earlier turn of a follow-up has."""


@dataclass(frozen=True, kw_only=True)
class Aspect:
    """The question, or one of the questions in it."""

    text: str
    weights: Mapping[str, float]
    """Stem → rarity."""
    same: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)
    """Stem → stems of each equivalent phrase."""

    def named_in(self, words: Set[str]) -> set[str]:
        """The aspect's words that these words hold, directly or by an equivalent."""
        present = set(self.weights.keys() & words)
        present |= {word for word, ways in self.same.items() if any(way <= words for way in ways)}
        return present

    def coverage(self, words: Set[str]) -> float:
        """Share of the aspect's rarity that these words hold, 0–1."""
        weights = self.weights
        if not any(weights.values()):  # a single chunk holds all words that any chunk holds
            weights = dict.fromkeys(weights, 1.0)
        return sum(weights[word] for word in self.named_in(words)) / (sum(weights.values()) or 1.0)


@dataclass(frozen=True, kw_only=True)
class ScoredUnit:
    """One sentence, item or row with its scores."""

    chunk: Chunk
    index: int
    """Index of the unit in `chunk.units`."""
    strength: float
    """Log-odds that it holds a part of the answer to the whole question."""
    similarity: float
    """Cosine with the whole question."""
    coverage: float
    """Share of the question's rarity that it holds, headings included, 0–1."""
    aspects: tuple[float, ...]
    """Strength for each aspect: the whole question, then its parts."""
    agreement: float = 0.0
    """Agreement of the three searches on its chunk, 0–1; 1 when all rank it first."""

    @property
    def unit(self) -> Unit:
        return self.chunk.units[self.index]


def aspects_of(plan: Plan, snapshot: Snapshot, glossary: Glossary) -> list[Aspect]:
    """The whole question, then its parts. Words of the earlier turn weigh less than new ones."""
    earlier = naming_words(plan.previous).keys()
    now = naming_words(plan.question.removeprefix(plan.previous[:-1])) if plan.previous else {}
    whole = {
        word: snapshot.rarity(surface)
        * (_EARLIER_TURN if word in earlier and word not in now else 1)
        for word, surface in naming_words(plan.question).items()
    }
    parts = [
        Aspect(
            text=part,
            weights={w: snapshot.rarity(s) for w, s in naming_words(part).items()},
            same=same_words(glossary, part),
        )
        for part in plan.parts
    ]
    same = same_words(glossary, plan.question)
    return [Aspect(text=plan.question, weights=whole, same=same), *parts]


WEIGHTS_BY_FEATURE = {
    "similarity": 7.2,  # cosine with the question
    "coverage": 8.6,  # share of the question's rarity in it, its title and its headings
    "value": 1.6,  # it holds the kind of value that is asked for, or a figure where none is named
    "search rank": 1.9,  # 1 / √rank of its chunk
    "agreement": 2.9,  # how far the searches by chunk, by unit and by keyword agree on its chunk
    "row": 0.8,  # of a table: it holds more facts than a sentence of the same likeness
    "length": 1.6,  # a heading-like fragment resembles any question and answers none
    "out of force": -3.7,  # replaced or withdrawn, and the past is not asked for
}
FEATURES = tuple(WEIGHTS_BY_FEATURE)
RELEVANCE_WEIGHTS: NDArray[np.float64] = np.array(list(WEIGHTS_BY_FEATURE.values()))
RELEVANCE_BIAS = -12.8
_SIMILARITY, _COVERAGE, _AGREEMENT = map(FEATURES.index, ("similarity", "coverage", "agreement"))


def score_units(
    plan: Plan, snapshot: Snapshot, hits: Sequence[Hit], glossary: Glossary
) -> list[ScoredUnit]:
    """Every unit of the hits, best first for the whole question.

    A part of a question finds its own best statement, but ranks nothing: by itself, "who may
    do it" matches anything."""
    tables = [
        features(aspect, plan, snapshot, hits) for aspect in aspects_of(plan, snapshot, glossary)
    ]
    strengths = [table @ RELEVANCE_WEIGHTS + RELEVANCE_BIAS for table in tables]
    places = [(hit.chunk, index) for hit in hits for index in range(len(hit.chunk.units))]
    scored = [
        ScoredUnit(
            chunk=chunk,
            index=index,
            strength=float(strengths[0][row]),
            similarity=float(tables[0][row, _SIMILARITY]),
            coverage=float(tables[0][row, _COVERAGE]),
            agreement=float(tables[0][row, _AGREEMENT]),
            aspects=tuple(float(strength[row]) for strength in strengths),
        )
        for row, (chunk, index) in enumerate(places)
    ]
    return sorted(scored, key=lambda unit: -unit.strength)


def features(
    aspect: Aspect, plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]
) -> NDArray[np.float64]:
    """(units, FEATURES): one row for each unit of each hit, in order."""
    similarities = snapshot.unit_similarities(aspect.text, [hit.chunk.id for hit in hits])
    past = asks_about_the_past(plan.question)
    kinds = [one.kind for one in requested_kinds(aspect.text)]
    rows: list[list[float]] = []
    for rank, hit in enumerate(hits, start=1):
        chunk = hit.chunk
        card = snapshot.documents.get(chunk.document_id)
        path = words_of_path(card.path) if card else ""
        around = stems(" ".join((path, chunk.document_title, chunk.tab, *chunk.heading_path)))
        over = not past and is_out_of_force(card)
        searches = [1 / math.sqrt(rank), _agreement(hit)]
        cosines = similarities.get(chunk.id) or [0.0] * len(chunk.units)
        prefixes = unit_prefixes(chunk) if WAY in kinds else [""] * len(chunk.units)
        for unit, cosine, prefix in zip(chunk.units, cosines, prefixes, strict=True):
            coverage = aspect.coverage(stems(unit.index_text) | stems(unit.text) | around)
            length = math.log(1 + len(tokens(unit.text))) / 4
            value = STEP.match(prefix) is not None or _holds_value(unit.text, kinds)
            rows.append([cosine, coverage, value, *searches, unit.kind == "row", length, over])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


def _holds_value(text: str, kinds: Sequence[str]) -> bool:
    """Whether a statement holds a value of these kinds; without any, a figure. A way is told in
    steps, not in any sentence."""
    if not kinds:
        return any(map(str.isdigit, text))
    held = kinds_of(text)
    return any(fits(kind, held) for kind in kinds if kind != WAY)


def _agreement(hit: Hit) -> float:
    """1 when all three searches rank the chunk first, near 0 when they rank it low."""
    ranks = [hit.ranks.get(name, _UNRANKED) for name in ("chunks", "units", "keywords")]
    return sum(1 / math.sqrt(rank) for rank in ranks) / len(ranks)


def citation(
    chunk: Chunk, number: int, quote: str, documents: Mapping[str, DocumentCard]
) -> Citation:
    card = documents.get(chunk.document_id)
    over = f" ({standing(card)})" if card and is_out_of_force(card) else ""
    return Citation(
        number=number,
        document=chunk.document_id,
        title=chunk.document_title + over,
        heading=chunk.heading or chunk.document_title,
        url=address(chunk.url),
        quote=redacted(quote),
        modified_at=card.modified_at if card else None,
        page=chunk.page,
        chunk_id=chunk.id,
        from_picture=chunk.from_picture,
    )


REFUSAL_WEIGHTS = {"similarity": 6.4, "coverage": 5.5, "searches agree": 3.2, "words missing": 0.6}
REFUSAL_BIAS = -8.0
ENOUGH = 0.10
"""Probability of evidence below which nothing is answered, as for one in twenty of the answerable
questions. Fitted by `benchmarks/refusing.py`."""
_MANY_NAMES, _MANY_WORDS = 2, 5


def confidence_parts(
    plan: Plan, snapshot: Snapshot, scored: Sequence[ScoredUnit]
) -> dict[str, float]:
    """Evidence for and against an answer in the documents, each 0–1."""
    if not scored:
        return {}
    best, surface_words = scored[0], naming_words(plan.question)
    rarity = sum(snapshot.rarity(word) for word in surface_words.values())
    unheard_of = sum(snapshot.is_unheard_of(word) for word in surface_words.values())
    missing = (1 - best.coverage) * rarity / (snapshot.rarity(UNSEEN_WORD) or 1.0)
    parts = {
        "similarity": max(0.0, *(one.similarity for one in scored)),
        "coverage": best.coverage,
        "searches agree": best.agreement,
        # By the best statement, counted in words of no document: a long question misses more.
        "words missing": min(1.0, missing / _MANY_WORDS),
        # Names in neither the documents nor common language.
        "unheard-of names": min(unheard_of, _MANY_NAMES) / _MANY_NAMES,
        "sufficiency": sufficiency(scored),
    }
    return {**parts, "evidence": evidence_probability(parts)}


def evidence_probability(parts: Mapping[str, float]) -> float:
    """Probability that the best quotations cite a document that holds the answer, 0–1; 0 without
    evidence.

    It decides whether to answer. The confidence that the answer is complete is lower: see
    `agents/confidence.py`. Fitted by `benchmarks/refusing.py` on questions with and without an
    answer."""
    return Calibration(REFUSAL_BIAS, REFUSAL_WEIGHTS).probability(parts) if parts else 0.0


def is_too_little(parts: Mapping[str, float]) -> bool:
    """Whether the evidence is too weak to answer."""
    return parts.get("evidence", 0.0) < ENOUGH


def sufficiency(scored: Sequence[ScoredUnit]) -> float:
    """Probability of the best statement for the worst-answered part of the question, 0–1."""
    strongest = [max(of_one) for of_one in zip(*(one.aspects for one in scored), strict=True)]
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, min(strongest)))))


def nearest_documents(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The best passage of each of the three best documents."""
    best: dict[str, Chunk] = {}
    for hit in hits:
        best.setdefault(hit.chunk.document_id, hit.chunk)
    return tuple(
        citation(chunk, number, chunk.units[0].text if chunk.units else "", snapshot.documents)
        for number, chunk in enumerate(list(best.values())[:3], start=1)
    )
